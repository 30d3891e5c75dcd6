import LocalData
import LocalDataVocabulary

/// Operations on the records of collections.
extension Operation {
    static let records = [setRecord, updateRecord, removeRecord, retag, chain, reference, referenceOverStores, plan]

    /// A record that may refer to another record, its author.
    private struct Note: Codable, Identifiable, Sendable {
        var id: String
        var text: String
        var author: StorageReference<Author>?
    }

    private struct Author: StoredEntity {
        var id: String
        var name: String
        static var collection: StorageCollection<Author> { Operation.collection("authors", Keys.database) }
    }

    private static func collection<Record: Identifiable>(
        _ name: String, _ domain: StorageDomain, _ typeTag: String = "Note"
    ) -> StorageCollection<Record> where Record.ID: Sendable {
        StorageCollection(name, domain: domain, owner: "Faults", description: "Records", typeTag: typeTag)
    }

    private static let notes: StorageCollection<Note> = collection("notes", Keys.database)

    private static let fill: Work = { stage in
        try await stage.router.set((0..<5).map { Note(id: "\($0)", text: "old") }, in: notes)
    }

    private static func read(_ collection: StorageCollection<Note>) -> @Sendable (Stage) async throws -> [String] {
        { stage in
            var lines: [String] = []
            for try await note in stage.router.records(in: collection) { lines.append("\(note.id)=\(note.text)") }
            return (lines + ["count=\(lines.count)"]).sorted()
        }
    }

    private static let setRecord = Operation(
        name: "collection: set", prepare: fill,
        act: { stage in try await stage.router.set([Note(id: "4", text: "new"), Note(id: "5", text: "new")], in: notes) }, read: read(notes)
    )

    private static let updateRecord = Operation(
        name: "collection: update", prepare: fill, act: { stage in try await stage.router.update("3", in: notes) { $0?.text = "new" } },
        read: read(notes))

    private static let removeRecord = Operation(
        name: "collection: remove", prepare: fill, act: { try await $0.router.remove("3", in: notes) }, read: read(notes))

    /// Changes the type tag of all records. A type tag is the name under which a record's type is stored.
    private static let retag = Operation(
        name: "collection: migrateAll", prepare: fill,
        act: {
            _ = try await $0.router.migrateAll(from: "Note", to: collection("notes", Keys.database, "Memo") as StorageCollection<Note>)
        },
        read: { stage in
            // All records must be readable, with the old tag or with the new one. A collection does not list records of the other tag.
            var lines: [String] = []
            for tag in ["Note", "Memo"] {
                let records: StorageCollection<Note> = collection("notes", Keys.database, tag)
                lines += try await read(records)(stage).filter { !$0.hasPrefix("count=") }.map { "\(tag) \($0)" }
            }
            return lines
        })

    private static let chain: Operation = {
        let stored = StorageCollection<StoredDocument>(
            "notes", domain: Keys.database, owner: "Faults", description: "Records", typeTag: "Note", id: { $0["id"]?.string ?? "" })
        let evolving = notes.evolving(
            Evolution.from(version: 1).to { $0.rename("body", to: "text") }.decoding(Note.self).keepingBackup())
        return Operation(
            name: "collection: chain",
            prepare: { stage in
                try await stage.router.set(
                    (0..<5).map { StoredDocument(["id": .string("\($0)"), "body": .string("text \($0)")]) }, in: stored)
            },
            act: { stage in
                try await stage.router.registerCatalog(FaultCatalog(allKeys: [.collection(evolving)]), migrateImmediately: true)
                    .requireComplete()
            }, read: read(evolving), keys: [.collection(evolving)])
    }()

    private static func reading(_ collection: StorageCollection<Note>) -> @Sendable (Stage) async throws -> [String] {
        { stage in
            var lines = try await read(collection)(stage)
            guard let note = try await stage.router.value("new", in: collection) else { return lines + ["author=nil"] }
            lines.append("author=\(try await stage.router.resolve(note.author)?.name ?? "missing")")
            return lines
        }
    }

    private static func referring(_ name: String, _ collection: StorageCollection<Note>, isAtomic: Bool) -> Operation {
        let note = Note(id: "new", text: "new", author: StorageReference(Author(id: "a", name: "Anna")))
        return Operation(name: name, isAtomic: isAtomic, act: { try await $0.router.set(note, in: collection) }, read: reading(collection))
    }

    private static let reference = referring("references", notes, isAtomic: true)
    private static let referenceOverStores = referring(
        "references over two stores", collection("notes", Keys.other), isAtomic: true)

    /// A migration plan that renames a collection, and then an attribute of its records.
    private static let plan: Operation = {
        let stored = StorageCollection<StoredDocument>(
            "memos", domain: Keys.database, owner: "Faults", description: "Records", typeTag: "Note", id: { $0["id"]?.string ?? "" })
        let memos: StorageCollection<Note> = StorageCollection(
            "notes", domain: Keys.database, owner: "Faults", description: "Records", typeTag: "Note"
        ).version(2)
        let steps = MigrationChain {
            ModelMigration("V1") {
                AddEntity("memos", in: Keys.database) {
                    AddAttribute("id", attributeType: .string)
                    AddAttribute("body", attributeType: .string)
                }
            }
            ModelMigration("V2") { RenameEntity("memos", to: "notes", in: Keys.database) }
            ModelMigration("V3") { UpdateEntity("notes") { UpdateAttribute("body", to: "text") } }
        }
        let schema = CatalogSchema(
            "V3",
            entities: [EntityDescription("notes", [AttributeDescription("id", .string), AttributeDescription("text", .string)])])
        let catalog = FaultCatalog(allKeys: [.collection(memos)], schema: schema)
        return Operation(
            name: "plan", isAtomic: false,
            prepare: { stage in
                try await stage.router.set(
                    (0..<4).map { StoredDocument(["id": .string("\($0)"), "body": .string("text \($0)")]) }, in: stored)
            }, act: { try await $0.router.registerCatalog(catalog, migrationPolicy: .incremental(steps)).sweep.requireComplete() },
            read: { stage in
                // If the plan was interrupted, the next run of the program completes it before it reads.
                try await stage.router.registerCatalog(catalog, migrationPolicy: .incremental(steps)).sweep.requireComplete()
                return try await read(memos)(stage)
            })
    }()
}
