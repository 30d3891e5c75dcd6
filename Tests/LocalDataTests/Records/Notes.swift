import LocalData

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
        var found: (records: [Record], damaged: [DamagedRecord], reasons: [StorageError]) = ([], [], [])
        for try await entry in records(in: collection) {
            switch entry {
            case .value(let record): found.records.append(record)
            case .damaged(let record, let reason):
                found.damaged.append(record)
                found.reasons.append(reason)
            }
        }
        return found
    }

    /// What a sweep makes of one collection.
    nonisolated func row<Record>(of collection: StorageCollection<Record>) async throws -> MigrationReport.Row? {
        try await registerCatalog(TestCatalog(.collection(collection)))
        return await sweep().rows.first { $0.key == collection.name }
    }
}
