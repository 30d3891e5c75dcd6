import LocalData
import Synchronization

/// A record of the tests of collections.
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

/// A record that no program reads as a note, though it claims to be one.
struct NoNote: Codable, Sendable {
    var broken: Int

    static func collection(_ domain: StorageDomain, id: String) -> StorageCollection<NoNote> { collection("notes", domain, id: id) }

    static func collection(_ name: String, _ domain: StorageDomain, id: String) -> StorageCollection<NoNote> {
        StorageCollection(name, domain: domain, owner: "Tests", description: "Notes", typeTag: "Note") { _ in id }
    }
}

extension StorageRouter {
    /// The records of a collection, and what is damaged among them.
    nonisolated func everything<Record>(
        in collection: StorageCollection<Record>
    ) async throws -> (records: [Record], damaged: [DamagedRecord], reasons: [StorageError]) {
        let damage = Mutex<[(record: DamagedRecord, reason: StorageError)]>([])
        var found: [Record] = []
        let report = DamagePolicy.report { record, reason in damage.withLock { $0.append((record, reason)) } }
        for try await record in records(in: collection, onDamage: report) { found.append(record) }
        return damage.withLock { (found, $0.map(\.record), $0.map(\.reason)) }
    }

    /// The names in a domain, and the damaged values beside them.
    nonisolated func namesAndDamage(in domain: StorageDomain) async throws -> (names: [String], damaged: [DamagedRecord]) {
        let damaged = Mutex<[DamagedRecord]>([])
        let names = try await names(of: domain, onDamage: .report { record, _ in damaged.withLock { $0.append(record) } })
        return (names, damaged.withLock(\.self))
    }

    /// What a sweep makes of one collection.
    nonisolated func row<Record>(of collection: StorageCollection<Record>) async throws -> MigrationReport.Row? {
        try await registerCatalog(TestCatalog(.collection(collection)))
        return await sweep().rows.first { $0.key == collection.name }
    }
}
