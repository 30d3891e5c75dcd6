import Foundation
import GRDB
import LocalData
import LocalDataTesting

/// A store of sessions that come, are removed or expire, and are purged by sweeps: what it costs must not depend on how many there have been.
struct Sessions {
    let root: URL
    let count: Int

    private struct Session: Codable, Identifiable {
        var id: String
        var user: Int
    }

    private struct Catalog: StorageKeyCatalog {
        let allKeys: [AnyStorageKey]
    }

    /// How many sessions come between two sweeps.
    private static let round = 1_000

    func run() async throws {
        print("Sessions in encrypted SQLite, with an older place: 1,000 come, 250 are removed, the others expire and are purged")
        let clock = TestClock()
        var configuration = configuration(root)
        configuration.keySource = .keyFile("bench.key")
        configuration.use(clock)
        let router = StorageRouter(configuration: configuration)
        func sessions(_ name: String, _ domain: StorageDomain) -> StorageCollection<Session> {
            StorageCollection(name, domain: domain, owner: "Bench", description: "Sessions")
        }
        let database = StorageDomain.encryptedSQLite(database: "sessions")
        let live = sessions("sessions", database).moved(from: sessions("old", .userDefaults(suite: "older"))).expiring(after: .seconds(60))
        try await router.registerCatalog(Catalog(allKeys: [.collection(live)]))
        let file = root.appendingPathComponent("sessions.sqlite")
        let part = max(Self.round, count / 10)
        for first in stride(from: 0, to: count, by: part) {
            let time = try await seconds {
                for start in stride(from: first, to: min(first + part, count), by: Self.round) {
                    let come = (start..<start + Self.round).map { Session(id: "s\($0)", user: $0 % 100) }
                    try await router.set(come, in: live)
                    try await router.batch { batch in for session in come.prefix(Self.round / 4) { batch.remove(session.id, in: live) } }
                    clock.advance(by: .seconds(61))
                    await router.sweep()
                    clock.pass(.seconds(86_401))
                    await router.sweep()
                }
            }
            let rows = try await DatabaseQueue(path: try path(file)).read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM records") ?? -1
            }
            row("session \(first + 1) and after", "\(Int(Double(part) / time)) sessions/s", "\(rows) rows are left")
        }
        try await router.shutdown()
    }

    /// The database, wherever below the root it is.
    private func path(_ file: URL) throws -> String {
        let all = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        guard let found = all.first(where: { $0.hasSuffix(file.lastPathComponent) }) else { throw CocoaError(.fileNoSuchFile) }
        return root.appendingPathComponent(found).path
    }
}
