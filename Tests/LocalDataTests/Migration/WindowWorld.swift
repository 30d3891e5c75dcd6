import BackendContract
import Foundation
import LocalData
import LocalDataTesting

/// A key with a release window:
/// version 2 of a program stores the value at its destination, and version 1 uses the legacy location.
///
/// Version 2 also writes a copy of the value, the mirror, to the legacy location.
struct WindowWorld: Sendable, CustomStringConvertible {
    /// The stores of the legacy location and the destination.
    enum Way: String, CaseIterable, Sendable {
        case listToList, listToDatabase, databaseToKeyring, keyringToKeyring, keyringToDatabase

        var old: StorageDomain {
            switch self {
            case .listToList, .listToDatabase: .userDefaults(suite: "old")
            case .databaseToKeyring: .encryptedSQLite(database: "old")
            case .keyringToKeyring, .keyringToDatabase: .keychain(service: "old")
            }
        }

        var new: StorageDomain {
            switch self {
            case .listToList: .userDefaults(suite: "new")
            case .listToDatabase, .keyringToDatabase: .encryptedSQLite(database: "new")
            case .databaseToKeyring, .keyringToKeyring: .keychain(service: "new")
            }
        }
    }

    let way: Way
    let machine: TestMachine
    let old: StorageKey<String>
    let key: StorageKey<String>

    init(
        _ way: Way, _ policy: ConflictPolicy<String> = .destinationWins, keeping window: ReleaseWindow = .untilReleased,
        _ clock: TestClock? = nil
    ) {
        self.way = way
        machine = TestMachine { if let clock { $0.use(clock) } }
        old = textKey("token", way.old)
        key = textKey("modern token", way.new)
            .moved(from: old, keeping: window, options: MigrationOptions(keepsWeakerCopy: true)).resolvingConflicts(policy)
    }

    var description: String { way.rawValue }

    /// Sweeps (migrates all keys) three times, which completes every migration. Returns the key's row in the last
    /// report.
    @discardableResult
    func settle(_ router: StorageRouter) async throws -> MigrationReport.Row {
        var row = try await router.row(of: key)
        for _ in 0..<2 { row = try await router.row(of: key) }
        return row
    }

    /// Returns the texts in quarantine, the store for displaced values, sorted.
    func quarantine(_ router: StorageRouter) async throws -> [String] { try await machine.quarantine(router) }
}

extension TestMachine {
    /// Returns the texts in quarantine, sorted.
    func quarantine(_ router: StorageRouter) async throws -> [String] {
        var texts: [String] = []
        for kept in try await router.audit().quarantine {
            let text = String(decoding: try await router.quarantine.data(of: kept), as: UTF8.self)
            texts.append(text.trimmingCharacters(in: ["\""]))
        }
        return texts.sorted()
    }
}
