import BackendContract
import LocalData

/// A slot on the simulated disk.
struct Spot: Hashable, Sendable {
    let medium: String
    let address: StorageAddress

    init(_ domain: StorageDomain, _ name: String) {
        medium = "\(domain.kind.name) \(domain.scope ?? "")"
        address = StorageAddress(name)
    }

    /// Creates the slot of a collection's record.
    init(_ domain: StorageDomain, _ id: String, of collection: String) {
        medium = "\(domain.kind.name) \(domain.scope ?? "")"
        address = StorageAddress(id, in: StorageNamespace("collection:\(collection)"))
    }
}

/// A legacy location of a value.
struct OlderPlace: Sendable {
    let spot: Spot
    /// The calls of an older version of the program; nil if no older version uses the location.
    let calls: KeyCalls?
    /// Makes the value that a program without LocalData writes to this location. It is nil if no such program uses the
    /// location.
    let foreign: (@Sendable (String) -> NativeValue)?
}

/// A key and its legacy locations.
struct Moving: Sendable {
    let calls: KeyCalls
    let spot: Spot
    let older: [OlderPlace]
    let rules: ValueModel.Rules
    /// Whether an older version of the program moves values from one legacy location to another. If both have a value,
    /// such a move keeps only one of them at the new location. So a change that was made in one legacy location may
    /// reach the key late or never.
    var isChain = false

    /// The name of a slot in origins. An origin is the metadata of a record about the older copies that it replaced.
    static func placeName(_ spot: Spot) -> String {
        let parts = spot.medium.split(separator: " ", maxSplits: 1).map(String.init)
        return Place(kind: parts[0], scope: parts.count > 1 ? parts[1] : "", spot.address).text
    }
}

/// The keys of one kind of migration, with the locations between which their values move.
struct Shape: Sendable {
    let moving: [Moving]

    private static let list = StorageDomain.userDefaults(suite: "a")
    private static let otherList = StorageDomain.userDefaults(suite: "c")
    private static let database = StorageDomain.encryptedSQLite(database: "b")
    private static let ring = StorageDomain.keychain(service: "k")
    static let keyRing = StorageDomain.keychain(service: "own keys")
    static let keySource = KeySourceReference.keychain(service: "own keys")

    /// The older shape of the values of `Note`.
    private struct OldNote: Codable, Sendable { let text: String }
    private struct Note: Codable, Sendable { let title: String }

    private static func key<Value: Codable & Sendable>(
        _ name: String, _ domain: StorageDomain, _ security: SecurityPolicy = .none,
        migration: (@Sendable (StorageKey<Value>) -> AnyStorageMigration)? = nil
    ) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, security: security, owner: "Simulation", description: "A value", migration: migration)
    }

    private static func place(_ key: StorageKey<String>, _ domain: StorageDomain, isForeign: Bool = true) -> OlderPlace {
        var foreign: (@Sendable (String) -> NativeValue)?
        if isForeign { foreign = { .string($0) } }
        return OlderPlace(spot: Spot(domain, key.name), calls: KeyCalls(key), foreign: foreign)
    }

    /// Creates the keys of a kind.
    /// - Parameters:
    ///   - number: Distinguishes several shapes of one kind.
    ///   - isWary: Whether a power loss may undo an acknowledged change in the keyring. The change is safe after an
    ///     orderly restart of the machine.
    ///   - hasFullDisk: Whether a store is out of space at some time.
    init(_ kind: ValueKind, _ policy: Policy, number: Int, isWary: Bool, hasFullDisk: Bool) {
        var rules = ValueModel.Rules(policy: policy)
        rules.isMerged = kind == .merging
        rules.isChain = kind == .chain
        rules.answersUnmoved = hasFullDisk
        rules.isInPlace = kind == .inPlace
        rules.isWary = isWary && ([.conditional, .several, .keyring].contains(kind) || kind == .inPlace && number == 0)
        moving =
            switch kind {
            case .transforming: [Self.transforming(rules, number)]
            case .inPlace: [Self.inPlace(rules, number)]
            case .conditional, .custom, .byHand: [Self.declared(kind, rules, number)]
            default: Self.moved(kind, rules, number)
            }
    }

    private static func old(_ number: Int) -> StorageKey<String> { key("old\(number)", list) }

    /// Keys that declare their legacy locations with `moved(from:)` or `merged(from:)`.
    private static func moved(_ kind: ValueKind, _ rules: ValueModel.Rules, _ number: Int) -> [Moving] {
        let old = old(number)
        let oldPlace = place(old, list)
        let inDatabase: StorageKey<String> = key("new\(number)", database)
        let inRing: StorageKey<String> = key("new\(number)", ring)
        switch kind {
        case .chain:
            let middle: StorageKey<String> = key("middle\(number)", otherList)
            let between = middle.moved(from: old)
            let places = [place(between, otherList), OlderPlace(spot: oldPlace.spot, calls: nil, foreign: oldPlace.foreign)]
            return [text(inDatabase.moved(from: between), places, rules, isChain: true)]
        case .merging:
            let first: StorageKey<String> = key("first\(number)", list)
            let last: StorageKey<String> = key("last\(number)", otherList)
            let merged = inDatabase.merged(from: first, last) { (first: String?, last: String?) -> String? in
                guard let first, let last else { return nil }
                return ValueModel.merged([first, last])
            }
            return [text(merged, [place(first, list), place(last, otherList)], rules)]
        case .shared:
            let names = ["one\(number)", "two\(number)"]
            return names.map { name in
                let key: StorageKey<String> = key(name, database)
                return text(key.moved(from: old), [oldPlace], rules)
            }
        case .several:
            let better: StorageKey<String> = key("better\(number)", database)
            // An earlier version moves values from the second location to the first, even while this version reads the
            // locations.
            let places = [place(better.moved(from: old), database, isForeign: false), oldPlace]
            return [text(inRing.moved(from: better).moved(from: old), places, rules, isChain: true)]
        case .weaker:
            let secret: StorageKey<String> = key("old\(number)", database)
            let plain: StorageKey<String> = key("new\(number)", list)
            return [text(plain.moved(from: secret), [place(secret, database, isForeign: false)], rules)]
        case .lowered, .loweredForeign:
            let isForeign = kind == .loweredForeign
            let domain = isForeign ? ring : database
            let secret: StorageKey<String> = key("old\(number)", domain)
            let plain: StorageKey<String> = key("new\(number)", list)
            let moved = plain.moved(from: secret, options: MigrationOptions(allowsWeakerProtection: true))
            return [text(moved, [place(secret, domain, isForeign: isForeign)], rules)]
        case .keyring: return [text(inRing.moved(from: old), [oldPlace], rules)]
        case .sealed:
            let sealed: StorageKey<String> = key("new\(number)", otherList, .encrypted(Self.keySource))
            return [text(sealed.moved(from: old), [oldPlace], rules)]
        default: return [text(inDatabase.moved(from: old), [oldPlace], rules)]
        }
    }

    /// Keys that declare a migration of a custom type.
    private static func declared(_ kind: ValueKind, _ rules: ValueModel.Rules, _ number: Int) -> Moving {
        let old = old(number)
        let name = "new\(number)"
        switch kind {
        case .conditional:
            let key: StorageKey<String> = key(name, ring) { key in
                let base = SimpleLegacyMigration(destinationKey: key, sourceKey: old)
                return AnyStorageMigration(ConditionalMigration(base) { _, context in context.applicationVersion == "2" })
            }
            return text(key, [place(old, list)], rules)
        case .custom:
            let key: StorageKey<String> = key(name, database) { AnyStorageMigration(Carrying(destinationKey: $0, source: old)) }
            return text(key, [place(old, list)], rules)
        default:
            let key: StorageKey<String> = key(name, database) { AnyStorageMigration(ByHand(destinationKey: $0, source: old)) }
            return text(key, [OlderPlace(spot: Spot(list, old.name), calls: nil, foreign: nil)], rules)
        }
    }

    private static func transforming(_ rules: ValueModel.Rules, _ number: Int) -> Moving {
        let count: StorageKey<Int> = key("old\(number)", list)
        let calls = KeyCalls(count, text: { Marks.text(of: $0) }, make: { Marks.number(in: $0) })
        let place = OlderPlace(spot: Spot(list, count.name), calls: calls, foreign: { .integer(Int64(Marks.number(in: $0))) })
        let key: StorageKey<Note> = key("new\(number)", database)
        return declare(key.moved(from: count) { Note(title: Marks.text(of: $0)) }, [place], rules, { $0.title }, { Note(title: $0) })
    }

    private static func inPlace(_ rules: ValueModel.Rules, _ number: Int) -> Moving {
        let domain = number == 0 ? ring : list
        let before: StorageKey<OldNote> = key("note\(number)", domain)
        let calls = KeyCalls(before, text: { $0.text }, make: { OldNote(text: $0) })
        let place = OlderPlace(spot: Spot(domain, before.name), calls: calls, foreign: nil)
        let key: StorageKey<Note> = key("note\(number)", domain)
        let moved = key.moved(from: before, options: MigrationOptions(keepsReplacedBytes: true)) { Note(title: $0.text) }
        return declare(moved, [place], rules, { $0.title }, { Note(title: $0) })
    }

    private static func text(_ key: StorageKey<String>, _ older: [OlderPlace], _ rules: ValueModel.Rules, isChain: Bool = false) -> Moving {
        var moving = declare(key, older, rules, { $0 }, { $0 })
        moving.isChain = isChain
        return moving
    }

    private static func declare<Value: Codable & Sendable>(
        _ key: StorageKey<Value>, _ older: [OlderPlace], _ rules: ValueModel.Rules, _ text: @escaping @Sendable (Value) -> String,
        _ make: @escaping @Sendable (String) -> Value
    ) -> Moving {
        var key = key
        switch rules.policy {
        case .destinationWins: break
        case .sourceWins: key = key.resolvingConflicts(.sourceWins)
        case .merge: key = key.resolvingConflicts(.merge { mine, other in make(ValueModel.resolved(mine.map(text), text(other))) })
        }
        return Moving(calls: KeyCalls(key, text: text, make: make), spot: Spot(key.domain, key.name), older: older, rules: rules)
    }

}

/// A custom migration that moves the value with `MigrationContext.move`, which the library supplies.
private struct Carrying: StorageMigration {
    let destinationKey: StorageKey<String>
    let source: StorageKey<String>
    var sources: [AnyStorageKey] { [.key(source)] }

    func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool { try await router.exists(source) }

    func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        try await context.move(from: source, to: destinationKey) { $0 }
    }
}

/// A custom migration that reads, sets and removes. It is correct only while no other process runs.
private struct ByHand: StorageMigration {
    let destinationKey: StorageKey<String>
    let source: StorageKey<String>
    var sources: [AnyStorageKey] { [.key(source)] }

    func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool {
        if try await router.exists(destinationKey) { return false }
        return try await router.exists(source)
    }

    func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
        if let value = try await router.value(for: source) {
            try await router.set(value, for: destinationKey)
            try await router.remove(source)
        }
        return MigrationResult(success: true)
    }
}
