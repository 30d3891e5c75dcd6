import BackendContract
import Foundation
import LocalData
import LocalDataTesting

/// A call of a program during which a store fails, and what must be true afterwards.
struct FaultScenario: Sendable, CustomStringConvertible {
    /// The outcome that the program got for its change.
    enum Answer: Hashable, Sendable {
        case applied, notApplied, unknown
    }

    let description: String
    /// Every store that `act` uses. Each fault is tried at each operation on each of these stores.
    let stores: [StorageDomain]
    /// The keys for a sweep, the call that brings keys into their final state.
    let keys: [AnyStorageKey]
    /// Brings the machine into the state before the action.
    let prepare: @Sendable (TestMachine) async throws -> Void
    /// The call of the program.
    let act: @Sendable (StorageRouter) async throws -> Void
    /// Reads the value as a text.
    let read: @Sendable (StorageRouter) async throws -> String?
    /// The values that are allowed at the end, for each answer.
    let outcomes: @Sendable (Answer) -> Set<String?>
    /// Further values that are allowed before the sweep, because only the sweep resolves a conflict.
    var alsoBeforeSweep: Set<String?> = []
    /// Values that are displaced without a user's review. At the end, after any fault, they must be in quarantine, the
    /// store for such values.
    var quarantined: Set<String> = []
    /// Values of which the quarantine may hold a copy.
    var mayBeQuarantined: Set<String> = []
    /// The legacy locations, which must be empty at the end.
    let older: [StorageKey<String>]
}

extension FaultScenario {
    /// A change that replaces the value "old" by another value.
    private static func change(
        _ description: String, _ key: StorageKey<String> = Places.key, stores: [StorageDomain] = [Places.legacy, Places.modern],
        older: [StorageKey<String>] = [Places.source], to new: String?, _ act: @escaping @Sendable (StorageRouter) async throws -> Void
    ) -> FaultScenario {
        FaultScenario(
            description: description, stores: stores, keys: [.key(key)],
            prepare: { $0.seedUserDefaults(["old": .string("old")], suite: "a") }, act: act, read: Places.read(key),
            outcomes: { answer in
                switch answer {
                case .applied: [new]
                case .notApplied: ["old"]
                case .unknown: [new, "old"]
                }
            },
            // If the legacy location could not be read during the change, its value later conflicts with the new one.
            // The legacy value may then move into quarantine.
            mayBeQuarantined: new == "old" ? [] : ["old"], older: older)
    }

    /// A conflict. "mine" was moved to the destination, and later an old program wrote "theirs" to the legacy
    /// location.
    private static func conflict(
        _ description: String, _ policy: ConflictPolicy<String>, result: String?, quarantined: Set<String>, mayBe: Set<String> = [],
        isRemoved: Bool = false
    ) -> FaultScenario {
        let key = Places.key.resolvingConflicts(policy)
        let standing: String? = isRemoved ? nil : "mine"
        return FaultScenario(
            description: description, stores: [Places.legacy, Places.modern], keys: [.key(key)],
            prepare: { machine in
                machine.seedUserDefaults(["old": .string("mine")], suite: "a")
                let router = machine.launch()
                _ = try await router.get(key)
                if isRemoved { try await router.remove(key) }
                machine.seedUserDefaults(["old": .string("theirs")], suite: "a")
            }, act: { try await $0.forceMigration(for: key) }, read: Places.read(key), outcomes: { _ in [result] },
            alsoBeforeSweep: [standing], quarantined: quarantined, mayBeQuarantined: mayBe, older: [Places.source])
    }

    private static func moves(
        _ description: String, _ key: StorageKey<String>, stores: [StorageDomain] = [Places.legacy, Places.modern],
        older: [StorageKey<String>] = [Places.source], _ act: (@Sendable (StorageRouter) async throws -> Void)? = nil
    ) -> FaultScenario {
        change(description, key, stores: stores, older: older, to: "old", act ?? { _ = try await $0.get(key) })
    }

    static let all: [FaultScenario] = [
        moves("lazy get", Places.key),
        moves("sweep", Places.key) { router in
            let report = try await router.registerCatalog(TestCatalog([.key(Places.key)]), migrateImmediately: true)
            try report.requireComplete()
        },
        change("set over pending", to: "new") { try await $0.set("new", for: Places.key) },
        change("update over pending", to: "old+") { router in
            try await router.update(Places.key) { $0 = ($0 ?? "") + "+" }
        },
        change("remove over pending", to: nil) { try await $0.remove(Places.key) },
        change("update to nothing", to: nil) { router in
            try await router.update(Places.key) { $0 = nil }
        },
        change("batch set", to: "new") { router in
            try await router.batch { $0.set("new", for: Places.key) }
        },
        change("batch remove", to: nil) { router in
            try await router.batch { $0.remove(Places.key) }
        },
        chain("chain of three: get", to: "old") { _ = try await $0.get(Places.third) },
        chain("chain of three: set", to: "new") { try await $0.set("new", for: Places.third) },
        chain("chain of three: remove", to: nil) { try await $0.remove(Places.third) },
        chain("chain of three: remove after the move", to: nil, isMoved: true) { try await $0.remove(Places.third) },
        conflict("destination wins", .destinationWins, result: "mine", quarantined: ["theirs"]),
        conflict("source wins", .sourceWins, result: "theirs", quarantined: ["mine"]),
        conflict(
            "merge", .merge { mine, theirs in "\(mine ?? "-")+\(theirs)" }, result: "mine+theirs", quarantined: ["mine", "theirs"]),
        conflict("merge to nothing", .merge { _, _ in nil }, result: nil, quarantined: ["mine", "theirs"]),
        conflict("an old program wrote after the removal", .destinationWins, result: nil, quarantined: ["theirs"], isRemoved: true),
        inPlace, aggregate, torn, policyChange, intoDatabase, outOfDatabase,
    ]

    private static let document = textKey("document", .encryptedSQLite(database: "d"))

    /// The value is changed before it has moved from a property list into a database.
    private static let intoDatabase = change(
        "into a database: update", document.moved(from: Places.source), stores: [Places.legacy, document.domain], to: "old+"
    ) { try await $0.update(document.moved(from: Places.source)) { $0 = ($0 ?? "") + "+" } }

    /// The value moves from a database into the keyring.
    private static let outOfDatabase = FaultScenario(
        description: "out of a database: get", stores: [document.domain, Places.modern], keys: [.key(Places.bare.moved(from: document))],
        prepare: { try await $0.launch().set("old", for: document) }, act: { _ = try await $0.get(Places.bare.moved(from: document)) },
        read: Places.read(Places.bare.moved(from: document)), outcomes: { _ in ["old"] }, older: [document])

    private static func chain(
        _ description: String, to new: String?, isMoved: Bool = false, _ act: @escaping @Sendable (StorageRouter) async throws -> Void
    ) -> FaultScenario {
        var scenario = change(
            description, Places.third, stores: [Places.legacy, Places.middle, Places.modern], older: [Places.source, Places.second],
            to: new, act)
        if isMoved {
            scenario = FaultScenario(
                description: description, stores: scenario.stores, keys: scenario.keys,
                prepare: { machine in
                    machine.seedUserDefaults(["old": .string("old")], suite: "a")
                    // An old program writes the same value again.
                    _ = try await machine.launch().get(Places.third)
                    machine.seedUserDefaults(["old": .string("old")], suite: "a")
                }, act: act, read: scenario.read, outcomes: scenario.outcomes, mayBeQuarantined: scenario.mayBeQuarantined,
                older: scenario.older)
        }
        return scenario
    }

    /// A value gets another type in the same slot. Nothing is deleted or quarantined.
    private static let inPlace: FaultScenario = {
        let before = testKey("size", Places.modern, of: Int.self)
        let after = testKey("size", Places.modern, of: [String: Int].self)
            .moved(from: before) { ["width": $0] }
        return FaultScenario(
            description: "conversion in place", stores: [Places.modern], keys: [.key(after)],
            prepare: { try await $0.launch().set(5, for: before) }, act: { _ = try await $0.get(after) },
            read: { try await $0.value(for: after).map { "\($0)" } }, outcomes: { _ in ["[\"width\": 5]"] }, older: [])
    }()

    private static let aggregate: FaultScenario = {
        let key = Places.bare.merged(from: Places.source, Places.second) { first, last in
            guard let first, let last else { return nil }
            return "\(first) \(last)"
        }
        return FaultScenario(
            description: "aggregate", stores: [Places.legacy, Places.middle, Places.modern], keys: [.key(key)],
            prepare: { machine in
                machine.seedUserDefaults(["old": .string("John")], suite: "a")
                machine.seedUserDefaults(["second": .string("Snow")], suite: "c")
            }, act: { _ = try await $0.get(key) }, read: Places.read(key), outcomes: { _ in ["John Snow"] },
            older: [Places.source, Places.second])
    }()

    private static let torn = FaultScenario(
        description: "torn", stores: [Places.legacy, Places.modern], keys: [.key(Places.key)],
        prepare: { machine in
            machine.seedUserDefaults(["old": .string("old")], suite: "a")
            machine.corrupt(Places.modern, name: "new", bytes: Array("torn bytes".utf8))
        }, act: { _ = try await $0.get(Places.key) }, read: Places.read(Places.key), outcomes: { _ in ["old"] },
        quarantined: ["torn bytes"],
        older: [Places.source])

    /// A plaintext value is sealed in its slot.
    private static let policyChange: FaultScenario = {
        let plain = textKey("old", Places.legacy, .none)
        let sealed = textKey("old", Places.legacy, .encrypted)
            .moved(from: plain)
        return FaultScenario(
            description: "sealing in place", stores: [Places.legacy, .keychain(service: nil)], keys: [.key(sealed)],
            prepare: { $0.seedUserDefaults(["old": .string("old")], suite: "a") }, act: { _ = try await $0.get(sealed) },
            read: Places.read(sealed), outcomes: { _ in ["old"] }, older: [])
    }()
}
