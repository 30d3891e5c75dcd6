import Foundation
import LocalData

/// Commands on many records of one collection in an encrypted database.
struct RecordWork {
    let router: StorageRouter

    /// A note in the latest version of the program.
    struct Note: Codable, Identifiable {
        var id: String
        var title: String
        var number: Int
        var steps: [Int]
        var identity: UUID
    }

    /// A note with the same content, as a type with another name.
    struct Memo: Codable, Identifiable {
        var id: String
        var title: String
        var number: Int
        var steps: [Int]

        // No migration code runs if only the name of the type changes. Decoding therefore reports the progress.
        init(from decoder: any Decoder) throws {
            Progress.shared.say("")
            let container = try decoder.container(keyedBy: CodingKeys.self)
            id = try container.decode(String.self, forKey: .id)
            title = try container.decode(String.self, forKey: .title)
            number = try container.decode(Int.self, forKey: .number)
            steps = try container.decode([Int].self, forKey: .steps)
        }
    }

    private static let domain = StorageDomain.encryptedSQLite(database: "records")

    private static func collection<Record: Identifiable>(_ typeTag: String) -> StorageCollection<Record> where Record.ID: Sendable {
        StorageCollection("notes", domain: domain, owner: "Worker", description: "Notes", typeTag: typeTag)
    }

    private static let stored = StorageCollection<StoredDocument>(
        "notes", domain: domain, owner: "Worker", description: "Notes", typeTag: "Note", id: { $0["id"]?.string ?? "" })

    /// Three migration steps. Each one reports progress, and adds its number to the record.
    private static let evolving: StorageCollection<Note> = collection("Note").evolving(
        Evolution.from(version: 1)
            .to { document in
                Progress.shared.say("1")
                document.rename("name", to: "title")
                document["steps"] = [1]
            }
            .to { document, context in
                Progress.shared.say("2")
                document["steps"] = .array((document["steps"]?.array ?? []) + [2])
                document["identity"] = .string(context.identity.uuidString)
            }
            .decoding(Note.self)
            .to { note -> Note in
                Progress.shared.say("3")
                var note = note
                note.steps.append(3)
                return note
            }
            .keepingBackup())

    private struct Catalog: StorageKeyCatalog {
        let allKeys: [AnyStorageKey]
    }

    func answer(_ command: String, _ count: Int) async throws -> String? {
        switch command {
        case "records-seed":
            try await router.set(
                (0..<count).map {
                    StoredDocument(["id": .string("n\($0)"), "name": .string("Note \($0)"), "number": .integer(Int64($0))])
                },
                in: Self.stored, syncStatus: .notSynced)
            return "done"
        case "records-evolve":
            let report = try await router.registerCatalog(Catalog(allKeys: [.collection(Self.evolving)]), migrateImmediately: true)
            try report.requireComplete()
            return "converted \(report.rows[0].records ?? 0)"
        case "records-retag":
            let result = try await router.migrateAll(from: "Note", to: Self.memos)
            return "retagged \(result.records ?? 0)"
        case "records-check": return try await check(count)
        case "records-check-retagged": return try await checkRetagged(count)
        default: return nil
        }
    }

    private static let memos: StorageCollection<Memo> = collection("Memo").version(4)

    private func check(_ count: Int) async throws -> String {
        var seen: Set<String> = []
        var identities: Set<UUID> = []
        for try await record in router.storedRecords(in: Self.evolving) {
            guard record.schemaVersion == 4, record.value.steps == [1, 2, 3], record.value.title == "Note \(record.value.number)",
                record.id == "n\(record.value.number)", record.syncStatus == .notSynced, seen.insert(record.id).inserted
            else { return "wrong \(record)" }
            identities.insert(record.value.identity)
        }
        // The migration has kept the bytes of version 1 as a backup. This call restores them.
        let backup = try await router.restoreBackup(for: Self.evolving.key("n0"))
        let restored = try await router.storedValue(for: Self.stored.key("n0"))
        guard backup == 1, restored?.value.names == ["id", "name", "number"] else { return "no backup" }
        return seen.count == count && identities.count == count ? "all" : "\(seen.count) records, \(identities.count) identities"
    }

    private func checkRetagged(_ count: Int) async throws -> String {
        var seen: Set<String> = []
        for try await record in router.storedRecords(in: Self.memos) {
            guard record.value.title == "Note \(record.value.number)", record.typeTag == "Memo", seen.insert(record.id).inserted else {
                return "wrong \(record)"
            }
        }
        let rest = try await router.migration(from: "Note", to: Self.memos).pending
        return seen.count == count && rest == 0 ? "all" : "\(seen.count) records, \(rest) of the old type"
    }
}
