import LocalData
import Synchronization

/// A record for tests of collections.
struct Note: Codable, Identifiable, Equatable, Sendable {
    var id: String
    var text: String

    /// Notes with the ids `n0`, `n1` and so on.
    static func many(_ count: Int) -> [Note] { (0..<count).map { Note(id: "n\($0)", text: "text \($0)") } }

    static func collection(_ domain: StorageDomain) -> StorageCollection<Note> { collection("notes", domain) }

    static func collection(_ name: String, _ domain: StorageDomain) -> StorageCollection<Note> {
        StorageCollection(name, domain: domain, owner: "Tests", description: "Notes", typeTag: "Note")
    }
}

/// A record with the type tag of `Note` that does not decode as a `Note`.
struct NoNote: Codable, Sendable {
    var broken: Int

    static func collection(_ domain: StorageDomain, id: String) -> StorageCollection<NoNote> { collection("notes", domain, id: id) }

    static func collection(_ name: String, _ domain: StorageDomain, id: String) -> StorageCollection<NoNote> {
        StorageCollection(name, domain: domain, owner: "Tests", description: "Notes", typeTag: "Note") { _ in id }
    }
}

extension StorageRouter {
    /// Reads all records of a collection, and its damaged records with the reason of each.
    nonisolated func everything<Record>(
        in collection: StorageCollection<Record>
    ) async throws -> (records: [Record], damaged: [DamagedRecord], reasons: [StorageError]) {
        let damage = Mutex<[(record: DamagedRecord, reason: StorageError)]>([])
        var found: [Record] = []
        let report = DamagePolicy.report { record, reason in damage.withLock { $0.append((record, reason)) } }
        for try await record in records(in: collection, onDamage: report) { found.append(record) }
        return damage.withLock { (found, $0.map(\.record), $0.map(\.reason)) }
    }

    /// Lists the names in a domain, and its damaged values.
    nonisolated func namesAndDamage(in domain: StorageDomain) async throws -> (names: [String], damaged: [DamagedRecord]) {
        let damaged = Mutex<[DamagedRecord]>([])
        let names = try await names(of: domain, onDamage: .report { record, _ in damaged.withLock { $0.append(record) } })
        return (names, damaged.withLock(\.self))
    }

    /// Registers a collection and sweeps it, which migrates its records. Returns its row in the report.
    nonisolated func row<Record>(of collection: StorageCollection<Record>) async throws -> MigrationReport.Row? {
        try await registerCatalog(TestCatalog(.collection(collection)))
        return await sweep().rows.first { $0.key == collection.name }
    }
}
