import Foundation
import GRDB
import LocalData
import LocalDataTesting

/// Measures a collection of login sessions, which are records with an id and a user. Each session is added, and is then
/// removed or expires. Later, a sweep deletes its data for good (purges it). The cost of a session must not depend on
/// the number of earlier sessions.
struct Sessions {
    let root: URL
    let results: Results
    let count: Int

    private struct Session: Codable, Identifiable {
        var id: String
        var user: Int
    }

    private struct Catalog: StorageKeyCatalog {
        let allKeys: [AnyStorageKey]
    }

    /// The number of sessions that each round adds before it runs its sweeps.
    private static let round = 1_000

    func run() async throws {
        results.begin("Sessions in encrypted SQLite, with a legacy location: 1,000 come, 250 are removed, the others expire and are purged")
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
            let rows = try await DatabaseQueue(path: try find("sessions.sqlite", below: root)).read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM records") ?? -1
            }
            results.rate("session \(first + 1) and after", part, in: time)
            results.number("rows that are left", Double(rows), "rows")
        }
        try await router.shutdown()
    }
}
