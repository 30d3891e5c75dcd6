#if SQLite
    import BackendContract
    import BackendRuntime
    import SQLiteBackend
    import Sealing

    /// The files of one database, in the same layout as in the tests.
    struct DatabasePlace: Sendable {
        let folder: String

        var path: String { folder + "/data/store.sqlite" }
        var lockPath: String { folder + "/state/lock" }

        func store(deadline: Duration = .seconds(60)) -> SQLiteStore {
            SQLiteStore(
                path: path, lockPath: lockPath, context: StoreContext(application: "test", kind: "sqlite", scope: "store"),
                keys: SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes),
                source: KeyFileSource(path: folder + "/keys/key", deadline: deadline, runtime: .live), deadline: deadline, runtime: .live)
        }
    }

    extension StorageMutation {
        /// A mutation that stores a text.
        static func text(_ text: String, at name: String, if condition: Precondition = .none) -> StorageMutation {
            .put(.bytes(Array(text.utf8)), at: StorageAddress(name), if: condition)
        }
    }

    /// Applies mutations. Returns the first result that is not `applied`, the error of the call, or `applied`.
    func outcome(_ store: SQLiteStore, _ mutations: [StorageMutation]) async -> String {
        do throws(BackendError) {
            let results = try await store.apply(mutations)
            return results.first { !$0.isApplied }?.text ?? "applied"
        } catch {
            return "failed \(error.text)"
        }
    }
#endif
