import Foundation
import LocalData
import Synchronization

/// One thing that a program does to its stores while the machine fails, and what must be true afterwards.
///
/// What is stored is told as lines of text. Whatever fails, each line is in the end what it was before or what it is afterwards.
struct Operation: Sendable {
    /// The folder of a run, and the program that works in it.
    final class Stage: Sendable {
        let root: URL
        private let current: Mutex<StorageRouter>

        init(root: URL, router: StorageRouter) {
            self.root = root
            current = Mutex(router)
        }

        var router: StorageRouter { current.withLock(\.self) }

        /// Shuts the router down; what follows uses another one.
        func close() async throws {
            let old = current.withLock { router in
                defer { router = StorageRouter(configuration: Operation.configuration(root)) }
                return router
            }
            try await old.shutdown()
        }
    }

    /// What an operation throws that finds nothing to do, and so is told nothing.
    struct NothingToDo: Error {}

    typealias Work = @Sendable (Stage) async throws -> Void

    let name: String
    /// Whether all lines change at once, and a call that says `notApplied` has changed none.
    var isAtomic = true
    /// Whether reading may be refused until the program has done it again: a restore that was killed is gone on with first.
    var mayRefuse = false
    /// Whether values are in the keyring: no copy of a folder brings back how it was.
    var usesKeyring = false
    /// How the stores are before.
    var prepare: Work = { _ in }
    /// What the program does; doing it twice is doing it once.
    let act: Work
    /// What is stored.
    let read: @Sendable (Stage) async throws -> [String]
    /// What a sweep visits afterwards.
    var keys: [AnyStorageKey] = []
    /// The places that values have left, which are empty in the end.
    var older: [StorageKey<String>] = []

    /// The operations, by their names.
    static let all = values + moves + records + upkeep + keyring

    /// The configuration of every run: files under one folder, one database under a key of its own.
    static func configuration(_ root: URL) -> StorageConfiguration {
        var configuration = StorageConfiguration(root: root, applicationID: "org.example.faults")
        configuration.userDefaultsName = "standard"
        // Some failing calls last until the deadline: a short one leaves time for more of them.
        configuration.deadlines.files = .seconds(4)
        configuration.databaseKeySources = ["other": .keyFile("other-key")]
        if Keys.hasKeyring { configuration.databaseKeySources["ringed"] = .keychain(service: Keys.service) }
        return configuration
    }
}

/// The keys that the operations use.
enum Keys {
    static let list = StorageDomain.userDefaults(suite: "list")
    static let database = StorageDomain.encryptedSQLite(database: "database")
    /// A database whose key is in the keyring.
    static let ringed = StorageDomain.encryptedSQLite(database: "ringed")
    /// Each run has a service of its own in the keyring, which all share.
    static let service = ProcessInfo.processInfo.environment["FAULT_SERVICE"] ?? "faults"
    static let hasKeyring = ProcessInfo.processInfo.environment["FAULT_SERVICE"] != nil
    static let keyring = StorageDomain.keychain(service: service)
    static let other = StorageDomain.encryptedSQLite(database: "other")

    static func text(_ name: String, _ domain: StorageDomain, _ security: SecurityPolicy = .automatic) -> StorageKey<String> {
        StorageKey(name: name, domain: domain, security: security, owner: "Faults", description: "A value")
    }

    /// The values of keys, a line each.
    static func read(_ keys: [StorageKey<String>]) -> @Sendable (Operation.Stage) async throws -> [String] {
        { stage in
            var lines: [String] = []
            for key in keys { lines.append("\(key.name)=\(try await stage.router.value(for: key) ?? "nil")") }
            return lines
        }
    }
}

/// The keys of an operation, as a program registers them.
struct FaultCatalog: StorageKeyCatalog {
    let allKeys: [AnyStorageKey]
    var schema: CatalogSchema?
}
