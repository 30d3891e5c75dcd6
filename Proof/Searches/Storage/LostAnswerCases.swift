import LocalData
import LocalDataTesting
import LocalDataVocabulary
import Testing

/// One kind of call that writes through a router, and the slots that it may change.
/// A router is the object through which a program uses its stores. A slot is a named place for one record in a store.
struct LostAnswerCase: Sendable, CustomTestStringConvertible, CustomStringConvertible {
    /// A case with a chosen destination, which is the domain (the kind of store) that the call writes to.
    struct Scene: Sendable {
        let destination: StorageDomain
        let watched: [ObservedSlot]
        /// The work of other processes before the case.
        let prepare: @Sendable (LostAnswerMachine) async throws -> Void
        /// The work of the observed process.
        let act: @Sendable (StorageRouter) async throws -> Void
    }

    let description: String
    let scene: @Sendable (StorageDomain) -> Scene
    /// Whether the case needs a store that commits several changes at once.
    /// In other stores it changes no observed slot.
    var needsAtomicCommits = false
    /// A copy of this case, only for stores that commit several changes at once.
    var withAtomicCommits: LostAnswerCase { LostAnswerCase(description: description, scene: scene, needsAtomicCommits: true) }
    var testDescription: String { description }

    static let all = values + migrations + conflicts + shapes + records + references + plans + windows + upkeep

    /// A case of single values: `new` in the destination, and `old` and `second` in a legacy store.
    static func value(
        _ description: String, older: Bool = false, second: Bool = false,
        prepare: @escaping @Sendable (LostAnswerMachine, Keys) async throws -> Void = { _, _ in },
        act: @escaping @Sendable (StorageRouter, Keys) async throws -> Void
    ) -> LostAnswerCase {
        LostAnswerCase(description: description) { domain in
            let keys = Keys(domain: domain)
            var watched = [ObservedSlot(keys.bare, mark: "mark")]
            if older { watched.append(ObservedSlot(keys.old, mark: "mark")) }
            if second { watched.append(ObservedSlot(keys.second, mark: "mark")) }
            return Scene(
                destination: domain, watched: watched, prepare: { try await prepare($0, keys) }, act: { try await act($0, keys) })
        }
    }

    /// The keys of single values.
    struct Keys: Sendable {
        let domain: StorageDomain
        let old = StorageKey<String>(name: "old", domain: LostAnswerMachine.older, owner: "Tests", description: "An older place")
        let second = StorageKey<String>(name: "second", domain: LostAnswerMachine.older, owner: "Tests", description: "Another older place")
        var bare: StorageKey<String> { StorageKey(name: "new", domain: domain, owner: "Tests", description: "A value") }
        var key: StorageKey<String> { bare.moved(from: old) }
    }

    // MARK: Values

    private static let values = [
        value("set") { try await $0.set("new", for: $1.bare) },
        value("update") { machine, keys in
            try await machine.launch().router.set("old", for: keys.bare)
        } act: { router, keys in
            try await router.update(keys.bare) { $0 = ($0 ?? "") + "+" }
        },
        value("update to nothing") { machine, keys in
            try await machine.launch().router.set("old", for: keys.bare)
        } act: { router, keys in
            try await router.update(keys.bare) { $0 = nil }
        },
        value("remove") { machine, keys in
            try await machine.launch().router.set("old", for: keys.bare)
        } act: {
            try await $0.remove($1.bare)
        },
        value("remove an expired value by a sweep") { machine, keys in
            try await machine.launch().router.set("old", for: keys.bare, lifetime: .seconds(60))
            await machine.expire([.key(keys.bare)])
        } act: { router, keys in
            await router.sweep(TestCatalog([.key(keys.bare)]))
        },
        value("remove an expired value of a key with a migration by a sweep") { machine, keys in
            try await machine.launch().router.set("old", for: keys.key, lifetime: .seconds(60))
            await machine.expire([.key(keys.key)])
        } act: { router, keys in
            await router.sweep(TestCatalog([.key(keys.key)]))
        },
        LostAnswerCase(description: "batch") { domain in
            let (first, second) = (collection("first", domain), collection("second", domain))
            return Scene(
                destination: domain, watched: [record("a", of: first), record("b", of: second)],
                prepare: { try await $0.launch().router.set(LostNote("b"), in: second) },
                act: { router in
                    try await router.batch { batch in
                        try batch.set(LostNote("a"), in: first)
                        // A keyring cannot commit several changes at once.
                        if domain.kind != .keychain { batch.remove("b", in: second) }
                    }
                })
        },
    ]

    // MARK: Migrations

    static func pending(_ machine: LostAnswerMachine, _ keys: Keys) async throws {
        try await machine.launch().router.set("old", for: keys.old)
        try await machine.launch().router.set("second", for: keys.second)
    }

    private static let migrations = [
        value("get moves", older: true, prepare: pending) { _ = try await $0.get($1.key) },
        value("sweep moves", older: true, prepare: pending) { router, keys in
            await router.sweep(TestCatalog([.key(keys.key)]))
        },
        value("forceMigration", older: true, prepare: pending) { try await $0.forceMigration(for: $1.key) },
        value("set over an older place", older: true, prepare: pending) { try await $0.set("new", for: $1.key) },
        value("update over an older place", older: true, prepare: pending) { router, keys in
            try await router.update(keys.key) { $0 = ($0 ?? "") + "+" }
        },
        value("remove with an older place", older: true, prepare: pending) { try await $0.remove($1.key) },
        value("get from several sources", older: true, second: true, prepare: pending) { router, keys in
            _ = try await router.get(keys.bare.merged(from: keys.old, keys.second) { [$0, $1].compactMap(\.self).joined(separator: " ") })
        },
        value("get through a chain of places", older: true, second: true) { machine, keys in
            try await machine.launch().router.set("old", for: keys.old)
        } act: { router, keys in
            _ = try await router.get(keys.bare.moved(from: keys.second.moved(from: keys.old)))
        },
    ]

    /// A conflict: the value was moved, and then an older program wrote another one to the legacy location.
    private static func conflict(_ description: String, _ policy: ConflictPolicy<String>) -> LostAnswerCase {
        value("a conflict that a sweep resolves: \(description)", older: true) { machine, keys in
            try await machine.launch().router.set("mine", for: keys.old)
            _ = try await machine.launch().router.get(keys.key)
            try await machine.launch().router.set("theirs", for: keys.old)
        } act: { router, keys in
            await router.sweep(TestCatalog([.key(keys.key.resolvingConflicts(policy))]))
        }
    }

    private static let conflicts = [
        conflict("the destination wins", .destinationWins), conflict("the source wins", .sourceWins),
        conflict("both are merged", .merge { "\($0 ?? "")+\($1)" }), conflict("both are removed", .merge { _, _ in nil }),
    ]

    // MARK: Shapes

    private static let chain = Evolution.from(version: 1).to { $0.rename("name", to: "text") }.decoding(LostNote.self)

    /// A case of one value that was stored with an older schema.
    private static func shape(
        _ description: String, _ chain: TypedEvolution<LostNote> = chain, isRead: Bool = false,
        act: @escaping @Sendable (StorageRouter, StorageKey<LostNote>) async throws -> Void
    ) -> LostAnswerCase {
        LostAnswerCase(description: description) { domain in
            let plain = StorageKey<StoredDocument>(name: "note", domain: domain, owner: "Tests", description: "A note")
            let key = StorageKey<LostNote>(name: "note", domain: domain, owner: "Tests", description: "A note").evolving(chain)
            return Scene(
                destination: domain, watched: [ObservedSlot(key, mark: LostNote("mark"))],
                prepare: { machine in
                    try await machine.launch().router.set(StoredDocument(["id": "a", "name": "old"]), for: plain)
                    if isRead { _ = try await machine.launch().router.get(key) }
                }, act: { try await act($0, key) })
        }
    }

    private static let shapes = [
        shape("get converts") { _ = try await $0.get($1) },
        shape("get converts and keeps a backup", chain.keepingBackup()) { _ = try await $0.get($1) },
        shape("update converts", chain.keepingBackup()) { router, key in try await router.update(key) { $0?.text += "+" } },
        shape("restoreBackup", chain.keepingBackup(), isRead: true) { try await $0.restoreBackup(for: $1) },
        shape("remove with a backup", chain.keepingBackup(), isRead: true) { try await $0.remove($1) },
        LostAnswerCase(description: "get converts without versions") { domain in
            let old = StorageKey<Int>(name: "size", domain: domain, owner: "Tests", description: "A size")
            let key = StorageKey<[String: Int]>(name: "size", domain: domain, owner: "Tests", description: "A size")
                .moved(from: old) { ["width": $0] }
            return Scene(
                destination: domain, watched: [ObservedSlot(key, mark: ["width": 0])],
                prepare: { try await $0.launch().router.set(5, for: old) }, act: { _ = try await $0.get(key) })
        },
    ]

    // MARK: Records

    static func collection(_ name: String, _ domain: StorageDomain) -> StorageCollection<LostNote> {
        StorageCollection(name, domain: domain, owner: "Tests", description: "Notes", typeTag: "Note")
    }

    static func record(_ id: String, of collection: StorageCollection<LostNote>) -> ObservedSlot {
        ObservedSlot(collection.key(id), in: collection.name, mark: LostNote(id, "mark"))
    }

    /// A case of two records of the collection "notes" that come from another collection.
    private static func bulk(
        _ description: String, watchesOld: Bool = true,
        prepare: @escaping @Sendable (StorageRouter, _ old: StorageCollection<LostNote>) async throws -> Void = {
            try await $0.set([LostNote("a"), LostNote("b")], in: $1)
        },
        act:
            @escaping @Sendable (
                StorageRouter, _ old: StorageCollection<LostNote>, _ new: StorageCollection<LostNote>
            ) async throws -> Void
    ) -> LostAnswerCase {
        LostAnswerCase(description: description) { domain in
            let (old, new) = (collection("old", LostAnswerMachine.older), collection("notes", domain))
            let older = watchesOld ? [record("a", of: old), record("b", of: old)] : []
            return Scene(
                destination: domain, watched: [record("a", of: new), record("b", of: new)] + older,
                prepare: { try await prepare($0.launch().router, old) }, act: { try await act($0, old, new) })
        }
    }

    /// A case of two records that were stored with an older schema, or with the tag of an older type.
    private static func stored(
        _ description: String, typeTag: String = "Note", isRead: Bool = false,
        act: @escaping @Sendable (StorageRouter, StorageCollection<LostNote>) async throws -> Void
    ) -> LostAnswerCase {
        LostAnswerCase(description: description) { domain in
            let plain = StorageCollection<StoredDocument>(
                "notes", domain: domain, owner: "Tests", description: "Notes", typeTag: typeTag, id: { $0["id"]?.string ?? "" })
            let notes = collection("notes", domain).evolving(chain.keepingBackup())
            return Scene(
                destination: domain, watched: [record("a", of: notes), record("b", of: notes)],
                prepare: { machine in
                    let documents = ["a", "b"].map { StoredDocument(["id": .string($0), "name": "old"]) }
                    try await machine.launch().router.setEach(documents, in: plain)
                    if isRead { await machine.launch().router.sweep(TestCatalog([.collection(notes)])) }
                }, act: { try await act($0, notes) })
        }
    }

    private static let list = StorageKey<[LostNote]>(
        name: "list", domain: LostAnswerMachine.older, owner: "Tests", description: "A list")

    private static let records = [
        bulk("set a record", watchesOld: false) { try await $0.set(LostNote("a"), in: $2) },
        bulk("update a record", watchesOld: false) { router, _, notes in
            try await router.update("a", in: notes) { $0 = LostNote("a") }
        },
        bulk("get a record from an older collection") { _ = try await $0.get("a", in: $2.moved(from: $1)) },
        bulk("remove a record and its older copy") { try await $0.remove("a", in: $2.moved(from: $1)) },
        bulk("count brings an older collection's records over") { _ = try await $0.count(in: $2.moved(from: $1)) },
        bulk("sweep brings an older collection's records over") { router, old, notes in
            await router.sweep(TestCatalog([.collection(notes.moved(from: old))]))
        },
        bulk("migrateAll from another collection") { try await $0.migrateAll(from: $1, to: $2) },
        LostAnswerCase(description: "take a list apart") { domain in
            let notes = collection("notes", domain)
            return Scene(
                destination: domain, watched: [record("a", of: notes), record("b", of: notes), ObservedSlot(list, mark: [])],
                prepare: { try await $0.launch().router.set([LostNote("a"), LostNote("b")], for: list) },
                act: { _ = try await $0.count(in: notes.moved(from: list) { $0 }) })
        },
        stored("get converts a record") { _ = try await $0.get("a", in: $1) },
        stored("sweep converts records") { router, notes in await router.sweep(TestCatalog([.collection(notes)])) },
        stored("migrateAll from another type", typeTag: "Old") { try await $0.migrateAll(from: "Old", to: $1) },
        stored("restoreBackups", isRead: true) { try await $0.restoreBackups(in: $1) },
        stored("remove a record with a backup", isRead: true) { try await $0.remove("a", in: $1) },
    ]
}

extension StorageRouter {
    /// Stores records one by one, because not every store commits several at once.
    func setEach<Record>(_ records: [Record], in collection: StorageCollection<Record>) async throws {
        for record in records { try await set(record, in: collection) }
    }
}

/// The type of the records that the cases store.
struct LostNote: Codable, Sendable, Identifiable {
    var id: String
    var text: String
    init(_ id: String, _ text: String = "new") { (self.id, self.text) = (id, text) }
}
