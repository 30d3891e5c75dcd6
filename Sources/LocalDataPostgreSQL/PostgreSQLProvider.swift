import BackendContract
import BackendRuntime
import LocalData
import PostgreSQLBackend
import Sealing

/// The domain `.postgreSQL`: one set of rows for each name, on the server of the configuration.
struct PostgreSQLProvider: BackendProvider {
    let server: PostgreSQLServer
    let kind = StorageDomain.Kind.postgreSQL
    let claims = BackendCapabilities(
        durability: .durable, atomicBatch: true, crossProcess: true, protection: .keychain, usefulConcurrency: 256)

    func validate(_ scope: String) throws(BackendError) {
        try StorageAddress(scope).validate()
    }

    func protection(of scope: String, _ parts: StoreParts) throws -> ProtectionLevel? {
        if server.plainDatabases.contains(scope) { return .plain }
        return try parts.keySource(parts.configuration.databaseKeySources[scope] ?? .configured).protection
    }

    func make(_ scope: String, _ parts: StoreParts) throws -> any StorageBackend {
        #if PostgreSQL
            let configuration = parts.configuration
            let source: (any KeySource)? =
                server.plainDatabases.contains(scope)
                ? nil : try parts.keySource(configuration.databaseKeySources[scope] ?? .configured)
            let sealedIDs = parts.sealedIDs
            return PostgreSQLStore(
                conninfo: server.connection, schema: server.schema, context: configuration.storeContext(kind.name, scope),
                keys: parts.keys, source: source,
                otherSealedIDs: { () async throws(BackendError) in
                    guard let source else { return [] }
                    return try await sealedIDs(source)
                }, companions: { [server] () throws(BackendError) in try OwnServerStores.all(on: server, configuration: configuration) },
                notes: configuration.headerNotes, connections: server.connections, deadline: server.deadline, runtime: configuration.runtime
            )
        #else
            return MissingBackend(
                for: .postgreSQL(database: scope), claims,
                "This build has no PostgreSQL backend (trait PostgreSQL). Build with the trait, or plug a backend in with StorageConfiguration.useBackend(for: .postgreSQL)."
            )
        #endif
    }

    func keyedStores(
        of source: any KeySource, _ configuration: StorageConfiguration
    ) async throws(BackendError) -> [StorageDomain: Set<[UInt8]>] {
        #if PostgreSQL
            let application = configuration.storeContext("", "").application
            let found = try await PostgreSQLSchema.recipients(
                ofSource: source.pin, conninfo: server.connection, schema: server.schema, deadline: server.deadline,
                runtime: configuration.runtime)
            return found.reduce(into: [:]) { stores, recipient in
                guard recipient.context.application == application, recipient.context.kind == kind.name else { return }
                stores[.postgreSQL(database: recipient.context.scope), default: []].insert(recipient.id)
            }
        #else
            return [:]
        #endif
    }
}
