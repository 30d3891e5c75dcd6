import BackendConformance
import BackendContract

#if SQLite
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing
    import TestSupport

    /// The benches of the encrypted SQLite backend, with real databases.
    /// A bench makes the stores on which rules for backends are checked.
    let sqliteBenches: [LawBench] = [.sqlite]

    extension LawBench {
        /// Each database is in a separate folder with its key file.
        /// A reopened store shares nothing with the first one, as in a new process.
        static let sqlite = LawBench(
            name: "encrypted SQLite", capabilities: sqliteStore(at: "/unused.sqlite").capabilities,
            makeStore: { sqliteStore(at: TemporaryDirectory.unendingFile("store.sqlite").path) },
            reopen: { sqliteStore(at: $0.identity.store) },
            corrupt: { store, address in
                let path = store.identity.store
                let database = try SealedDatabase(path: path, keyFile: parentDirectory(of: path) + "/state/key")
                try database.tamper(address) { $0[$0.count / 2] ^= 0x10 }
            },
            findStrayTraces: { store in
                let file = URL(filePath: store.identity.store)
                let names = try FileManager.default.contentsOfDirectory(atPath: file.deletingLastPathComponent().path)
                return Set(names).isSubset(of: ["store.sqlite", "store.sqlite-wal", "store.sqlite-shm", "store.sqlite-lock", "state"])
                    ? nil : "files beside the database: \(names.sorted())"
            })
    }

    private func sqliteStore(at path: String) -> SQLiteStore {
        let folder = parentDirectory(of: path)
        let deadline = Duration.seconds(240)
        return SQLiteStore(
            path: path, lockPath: folder + "/state/lock", context: StoreContext(application: "test", kind: "sqlite", scope: "store"),
            keys: SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes),
            source: KeyFileSource(path: folder + "/state/key", deadline: deadline, runtime: .live), deadline: deadline, runtime: .live)
    }
#else
    /// A build without SQLite has no SQLite bench.
    let sqliteBenches: [LawBench] = []
#endif
