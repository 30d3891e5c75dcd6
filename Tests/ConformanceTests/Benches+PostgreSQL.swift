import BackendConformance
import BackendContract

#if PostgreSQL && os(Linux)
    import BackendRuntime
    import Sealing
    import Synchronization
    import TestSupport

    @testable import PostgreSQLBackend

    /// The benches of the PostgreSQL backend, with a real server.
    /// A bench makes the stores on which rules for backends are checked.
    let postgreSQLBenches: [LawBench] = [.postgreSQL("sealed", isSealed: true), .postgreSQL("plain", isSealed: false)]

    extension LawBench {
        /// Each store is another database of one server, with a key file.
        /// A reopened store has new connections and fetches its key again, as in a new process.
        static func postgreSQL(_ name: String, isSealed: Bool) -> LawBench {
            LawBench(
                name: "\(name) PostgreSQL", capabilities: ServerDatabases.store("capabilities", "", isSealed: isSealed).capabilities,
                makeStore: { try await ServerDatabases.newStore(isSealed: isSealed) },
                reopen: { try await ServerDatabases.reopen($0, isSealed: isSealed) },
                corrupt: { store, address in try await ServerDatabases.corrupt(store, address) })
        }
    }

    /// The databases that the benches made.
    private enum ServerDatabases {
        private static let names = Mutex<[BackendIdentity: String]>([:])

        static func newStore(isSealed: Bool) async throws -> PostgreSQLStore {
            let name = "law-\(UInt64.random(in: .min ... .max))"
            let store = store(name, try await PrivatePostgreSQL.shared().conninfo, isSealed: isSealed)
            names.withLock { $0[store.identity] = name }
            return store
        }

        static func reopen(_ store: any StorageBackend, isSealed: Bool) async throws -> PostgreSQLStore {
            guard let name = names.withLock({ $0[store.identity] }) else { throw WrongStore() }
            return self.store(name, try await PrivatePostgreSQL.shared().conninfo, isSealed: isSealed)
        }

        static func store(_ name: String, _ conninfo: String, isSealed: Bool) -> PostgreSQLStore {
            let file = keyFolder.file(name)
            let source = isSealed ? KeyFileSource(path: file, deadline: .seconds(480), runtime: .live) : nil
            return PostgreSQLStore(
                conninfo: conninfo, schema: "laws", context: StoreContext(application: "test", kind: "postgreSQL", scope: name),
                keys: SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes), source: source, connections: 4,
                deadline: .seconds(480), runtime: .live)
        }

        private static let keyFolder: TemporaryDirectory = {
            guard let folder = try? TemporaryDirectory() else { fatalError("There is no temporary folder.") }
            return folder
        }()

        /// Changes a byte of the only record with a value. A law damages one slot of a store.
        static func corrupt(_ store: any StorageBackend, _ address: StorageAddress) async throws {
            guard let store = store as? PostgreSQLStore else { throw WrongStore() }
            guard let session = try await store.opened(store.nextDeadline) else { throw WrongStore() }
            let place = session.form.place(address)
            try await PrivatePostgreSQL.shared().sql(
                """
                UPDATE laws.records SET record = set_byte(record, length(record) / 2, get_byte(record, length(record) / 2) # 16)
                WHERE encode(context, 'hex') = '\(hexadecimalText(of: store.contextKey))' AND encode(namespace, 'hex') = '\(hexadecimalText(of: place.namespace))'
                AND encode(slot, 'hex') = '\(hexadecimalText(of: place.slot))'
                """)
        }
    }
#else
    /// A build without PostgreSQL has no bench for it.
    let postgreSQLBenches: [LawBench] = []
#endif
