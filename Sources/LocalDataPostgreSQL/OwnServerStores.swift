#if PostgreSQL
    import BackendContract
    import BackendRuntime
    import LocalData
    import PostgreSQLBackend
    import Sealing

    /// Creates the library's internal stores of an application on a server: the ledger, the quarantine, the records of
    /// presence, and the names of imported values. They are sealed with data keys that the configuration's key source
    /// protects.
    ///
    /// The stores do not use the router's records of keys, because the ledger contains them.
    struct OwnServerStores {
        private let server: PostgreSQLServer
        private let configuration: StorageConfiguration
        private let keys: SealingKeys
        private let source: any KeySource

        /// Creates no store yet. All stores of this object fetch the key of their source once.
        init(on server: PostgreSQLServer, configuration: StorageConfiguration) throws {
            (self.server, self.configuration) = (server, configuration)
            keys = SealingKeys(pins: .none, randomBytes: configuration.runtime.randomBytes)
            source = try configuration.restoreWiring.keySource(.configured)
        }

        /// Creates all internal stores. The caller closes them.
        static func all(on server: PostgreSQLServer, configuration: StorageConfiguration) throws(BackendError) -> [PostgreSQLStore] {
            do {
                let stores = try Self(on: server, configuration: configuration)
                return Wiring.ownStoreNames.map(stores.store)
            } catch { throw BackendError(.unavailable, (error as? StorageError)?.message ?? "The configuration has no key source.") }
        }

        /// Creates the internal store with this name.
        func store(_ name: String) -> PostgreSQLStore {
            let (server, source, runtime) = (server, source, configuration.runtime)
            let context = configuration.storeContext("postgreSQL-own", name)
            return PostgreSQLStore(
                conninfo: server.connection, schema: server.schema, context: context, keys: keys, source: source,
                otherSealedIDs: { () async throws(BackendError) in
                    let found = try await PostgreSQLSchema.recipients(
                        ofSource: source.pin, conninfo: server.connection, schema: server.schema, deadline: server.deadline,
                        runtime: runtime)
                    // Other applications in the same schema may have a key source of the same name.
                    return Set(found.filter { $0.context.application == context.application }.map(\.id))
                }, notes: configuration.headerNotes, connections: 2, keepsNativeValues: true, deadline: server.deadline, runtime: runtime)
        }
    }
#endif
