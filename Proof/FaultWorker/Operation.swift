import Foundation
import LocalData
import Synchronization

/// Work on stores that a fault interrupts, and what must be true afterwards.
///
/// For a comparison, the stored values are read as lines of text, for example one line for each key. After any fault,
/// each line must equal the line from before the operation or the one from after it.
struct Operation: Sendable {
    /// The folder of a run, and the router, the object through which the run uses its stores.
    final class Stage: Sendable {
        let root: URL
        private let current: Mutex<StorageRouter>

        init(root: URL, router: StorageRouter) {
            self.root = root
            current = Mutex(router)
        }

        var router: StorageRouter { current.withLock(\.self) }

        /// Shuts the router down. Later work uses a new one.
        func close() async throws {
            let old = current.withLock { router in
                defer { router = StorageRouter(configuration: Operation.configuration(root)) }
                return router
            }
            try await old.shutdown()
        }
    }

    /// The error of an operation that finds nothing to do, so that it acknowledges nothing.
    struct NothingToDo: Error {}

    typealias Work = @Sendable (Stage) async throws -> Void

    let name: String
    /// Whether all lines change at once. Then a call that reports `notApplied` must have changed none of them.
    var isAtomic = true
    /// Whether reads may throw an error until the operation was done again. For example, a restore that was killed must
    /// be completed before values can be read.
    var mayRefuse = false
    /// Whether values are in the keyring. If so, copying a folder does not restore the state before the operation.
    var usesKeyring = false
    /// Fills the stores before the operation.
    var prepare: Work = { _ in }
    /// The operation. It must be idempotent.
    let act: Work
    /// Reads the stored values, as lines of text.
    let read: @Sendable (Stage) async throws -> [String]
    /// The keys that are swept after the fault. A sweep migrates and converts values, and purges expired ones.
    var keys: [AnyStorageKey] = []
    /// The legacy locations of values that move. They must be empty at the end.
    var older: [StorageKey<String>] = []

    /// All operations.
    static let all = values + moves + records + upkeep + ownFiles + keyring

    /// The configuration of every run. All files are below one folder, and the database `other` has a separate key.
    static func configuration(_ root: URL) -> StorageConfiguration {
        var configuration = StorageConfiguration(root: root, applicationID: "org.example.faults")
        configuration.userDefaultsName = "standard"
        // Some failing calls last until the deadline. A short deadline leaves time for more calls.
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
    /// The service name of this run's items in the keyring. It distinguishes them, because all runs share one keyring.
    static let service = ProcessInfo.processInfo.environment["FAULT_SERVICE"] ?? "faults"
    static let hasKeyring = ProcessInfo.processInfo.environment["FAULT_SERVICE"] != nil
    static let keyring = StorageDomain.keychain(service: service)
    static let other = StorageDomain.encryptedSQLite(database: "other")

    static func text(_ name: String, _ domain: StorageDomain, _ security: SecurityPolicy = .automatic) -> StorageKey<String> {
        StorageKey(name: name, domain: domain, security: security, owner: "Faults", description: "A value")
    }

    /// Returns a function that reads the values of keys, with one line for each key.
    static func read(_ keys: [StorageKey<String>]) -> @Sendable (Operation.Stage) async throws -> [String] {
        { stage in
            var lines: [String] = []
            for key in keys { lines.append("\(key.name)=\(try await stage.router.value(for: key) ?? "nil")") }
            return lines
        }
    }
}

/// A catalog of an operation's keys. A program registers a catalog so that its keys can be migrated.
struct FaultCatalog: StorageKeyCatalog {
    let allKeys: [AnyStorageKey]
    var schema: CatalogSchema?
}
