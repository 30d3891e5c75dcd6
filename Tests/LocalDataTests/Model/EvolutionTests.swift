import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Chains of schema versions, in every kind of store. A chain converts a value from any version to the current one. The
/// tests also move values between stores, try faulty chains, and restore values of older versions from their backups.
///
/// A sweep moves and converts all values of a catalog, the list of a program's keys.
@Suite(.inTurn) struct EvolutionTests {
    struct NoteV1: Codable, Equatable {
        var id: String
        var name: String
    }

    struct NoteV2: Codable, Equatable {
        var id: String
        var title: String
    }

    struct Note: Codable, Equatable, Identifiable {
        var id: String
        var title: String
        var words: Int
    }

    static func note(_ old: NoteV2) -> Note { Note(id: old.id, title: old.title, words: old.title.split(separator: " ").count) }

    static let chain = Evolution.from(version: 1).to { $0.rename("name", to: "title") }.decoding(NoteV2.self).to(Self.note)

    private func key<Value>(_ domain: StorageDomain, _ type: Value.Type, name: String = "note") -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, owner: "Tests", description: "A note")
    }

    private func notes(_ domain: StorageDomain) -> StorageCollection<Note> {
        StorageCollection("notes", domain: domain, owner: "Tests", description: "Notes")
    }

    // MARK: Versions

    @Test(arguments: Place.allCases)
    func `a value of any schema version is converted, even if the program no longer has its type`(place: Place) async throws {
        let stored: [(version: Int, document: StoredDocument)] = [
            (1, StoredDocument(["id": "a", "name": "two words"])), (2, StoredDocument(["id": "a", "title": "two words"])),
            (3, StoredDocument(["id": "a", "title": "two words", "words": 2])),
        ]
        for (version, document) in stored {
            try await place.withLaunches { launch, domain in
                try await launch().set(document, for: key(domain, StoredDocument.self).version(version))
                let evolving = key(domain, Note.self).evolving(Self.chain)
                #expect(try await launch().get(evolving) == Note(id: "a", title: "two words", words: 2))
                // The converted value was written back: a key of version 3 without the chain reads it.
                #expect(try await launch().get(key(domain, Note.self).version(3)).words == 2)
                try await launch().update(evolving) { $0?.title = "new" }
                #expect(try await launch().get(evolving).title == "new")
            }
        }
    }

    @Test(arguments: Place.allCases)
    func `a record with a later version, or with a version from which no step leads, is refused and stays unchanged`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            for version in [4, 0, 7] {
                let document = StoredDocument(["id": "a", "name": "N"])
                let key = key(domain, Note.self, name: "v\(version)").evolving(Self.chain)
                let writer = self.key(domain, StoredDocument.self, name: "v\(version)").version(version)
                let router = launch()
                try await router.set(document, for: writer)
                await #expect { try await router.get(key) } throws: { StorageError.incompatibleSchema ~= $0 }
                await #expect { try await router.update(key) { $0 = nil } } throws: { StorageError.incompatibleSchema ~= $0 }
                let report = try await router.registerCatalog(TestCatalog([.key(key)], id: "\(version)"), migrateImmediately: true)
                #expect(report.rows.map(\.errorCode) == [.incompatibleSchema])
                #expect(try await launch().get(writer) == document)
                // A key without the chain expects version 1 and refuses the record, too.
                await #expect { try await router.get(self.key(domain, Note.self, name: "v\(version)")) } throws: {
                    StorageError.incompatibleSchema ~= $0
                }
            }
        }
    }

    @Test(arguments: Place.allCases) func `a conversion step that fails, or whose result does not decode, leaves the record unchanged`(
        place: Place
    ) async throws {
        struct Refusal: Error {}
        let chains: [TypedEvolution<Note>] = [
            Evolution.from(version: 1).to { _ in throw Refusal() }.decoding(Note.self),
            Evolution.from(version: 1).to { $0.remove("id") }.decoding(Note.self),
            Evolution.from(version: 1).to { try $0.convert("name", to: .integer) }.decoding(Note.self),
            Evolution.from(NoteV2.self).to(Self.note),
        ]
        for chain in chains {
            try await place.withLaunches { launch, domain in
                let old = key(domain, NoteV1.self)
                try await launch().set(NoteV1(id: "a", name: "N"), for: old)
                let router = launch()
                await #expect { try await router.get(key(domain, Note.self).evolving(chain)) } throws: {
                    StorageError.migrationFailed ~= $0 && !"\($0)".contains("\"N\"")
                }
                #expect(try await launch().get(old) == NoteV1(id: "a", name: "N"))
                // A new value can still be set.
                try await router.set(Note(id: "b", title: "T", words: 1), for: key(domain, Note.self).evolving(chain))
                #expect(try await launch().get(key(domain, Note.self).evolving(chain)).id == "b")
            }
        }
    }

    @Test func `a faulty chain of versions is refused before anything is read or written, and the error names the version`() async throws {
        func step(_ from: Int, _ to: Int) -> EvolutionStep { EvolutionStep(from: from, to: to) { _, _ in } }
        let faults: [(steps: [EvolutionStep], end: Int, says: String)] = [
            ([step(1, 2), step(1, 3), step(2, 3)], 3, "two steps leave version 1"), ([step(1, 2), step(2, 1)], 2, "from version 2"),
            ([step(1, 2), step(3, 4)], 4, "no step begins at version 2"), ([step(1, 2)], 3, "no step begins at version 2"),
            ([step(2, 2)], 2, "a circle"), ([step(0, 2), step(1, 2)], 2, "before version 1"),
            ([step(1, 3), step(2, 3)], 2, "beyond version 2"),
        ]
        let machine = TestMachine()
        for (index, fault) in faults.enumerated() {
            let domain = StorageDomain.userDefaults(suite: "s\(index)")
            let router = machine.launch()
            try await router.set(NoteV1(id: "a", name: "N"), for: key(domain, NoteV1.self))
            let faulty = key(domain, Note.self).evolving(Evolution.steps(fault.steps, to: fault.end))
            func isRefused(_ error: any Error) -> Bool {
                StorageError.invalidEvolution ~= error && "\(error)".contains("note") && "\(error)".contains(fault.says)
            }
            await #expect { try await router.get(faulty) } throws: { isRefused($0) }
            await #expect { try await router.set(Note(id: "", title: "", words: 0), for: faulty) } throws: { isRefused($0) }
            await #expect { try await router.registerCatalog(TestCatalog([.key(faulty)])) } throws: { isRefused($0) }
            #expect(try await router.get(key(domain, NoteV1.self)).name == "N")
        }
    }

    @Test(arguments: Place.allCases)
    func `a shortcut replaces the steps between two versions, and values of other versions follow the chain`(place: Place) async throws {
        let taken = Shared(0)
        let chain = Evolution.from(version: 1).to { _ in taken.count() }.to { _ in taken.count() }.to { _ in taken.count() }
            .shortcut(from: 1, to: 4) { _ in taken.count(by: 100) }.decoding(NoteV1.self)
        try await place.withLaunches { launch, domain in
            let before = taken.number
            for version in [1, 2] {
                let name = "from \(version)"
                try await launch().set(NoteV1(id: "a", name: "N"), for: key(domain, NoteV1.self, name: name).version(version))
                _ = try await launch().get(key(domain, NoteV1.self, name: name).evolving(chain))
            }
            #expect(taken.number - before == 102)
            // If two paths have the same length, the shortcut is used.
            let detour = Evolution.from(version: 1).to { _ in taken.count() }.shortcut(from: 1, to: 2) { _ in taken.count(by: 1_000) }
            try await launch().set(NoteV1(id: "a", name: "N"), for: key(domain, NoteV1.self, name: "detour"))
            _ = try await launch().get(key(domain, NoteV1.self, name: "detour").evolving(detour))
            #expect(taken.number - before == 1_102)
        }
    }

    @Test func `the identity that a conversion step gets for a record is the same in every run and on every machine`() async throws {
        func identity(_ machine: TestMachine, _ name: String) async throws -> String? {
            let domain = StorageDomain.userDefaults(suite: "s")
            try await machine.launch().set(StoredDocument(), for: key(domain, StoredDocument.self, name: name))
            let evolving = key(domain, StoredDocument.self, name: name).evolving(
                Evolution.from(version: 1).to { document, context in document["identity"] = .string(context.identity.uuidString) })
            return try await machine.launch().get(evolving)["identity"]?.string
        }
        let first = try await identity(TestMachine(), "a")
        #expect(first.flatMap(UUID.init(uuidString:)) != nil)
        #expect(try await identity(TestMachine(), "a") == first)
        #expect(try await identity(TestMachine(), "b") != first)
    }

    // MARK: Backups

    @Test(arguments: Place.allCases)
    func `a conversion can keep the old value as a backup, and one call restores that value`(place: Place) async throws {
        for security in [SecurityPolicy.automatic, .encrypted] {
            try await place.withLaunches { launch, domain in
                func key<Value>(_ type: Value.Type) -> StorageKey<Value> {
                    StorageKey(name: "note", domain: domain, security: security, owner: "Tests", description: "A note")
                }
                try await launch().set(NoteV1(id: "a", name: "two words"), for: key(NoteV1.self))
                let evolving = key(Note.self).evolving(Self.chain.keepingBackup())
                #expect(try await launch().get(evolving).words == 2)
                #expect(try await launch().restoreBackup(for: evolving) == 1)
                #expect(try await launch().get(key(NoteV1.self)) == NoteV1(id: "a", name: "two words"))
                // The restore kept the value that it replaced as a backup of version 3.
                #expect(try await launch().restoreBackup(for: evolving, version: 3) == 3)
                #expect(try await launch().get(key(Note.self).version(3)).words == 2)
                #expect(try await launch().restoreBackup(for: self.key(domain, Note.self, name: "other").evolving(Self.chain)) == nil)
            }
        }
    }

    @Test func `a locked store does not report that there is no backup`() async throws {
        let domain = StorageDomain.encryptedSQLite(database: "notes")
        let evolving = key(domain, Note.self).evolving(Self.chain.keepingBackup())
        let storage = TestMachine().launch()
        try await storage.lock(domain)
        await #expect { try await storage.restoreBackup(for: evolving) } throws: { StorageError.locked ~= $0 }
    }

    @Test(arguments: Place.allCases)
    func `removing a value deletes the backup of its older version, and backups can be purged`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let evolving = key(domain, Note.self).evolving(Self.chain.keepingBackup())
            try await launch().set(NoteV1(id: "a", name: "N"), for: key(domain, NoteV1.self))
            let router = launch()
            _ = try await router.get(evolving)
            try await router.remove(evolving)
            #expect(try await launch().restoreBackup(for: evolving) == nil)

            try await router.set(NoteV1(id: "a", name: "N"), for: key(domain, NoteV1.self))
            _ = try await router.get(evolving)
            try await router.purgeBackups(for: evolving)
            #expect(try await launch().restoreBackup(for: evolving) == nil)
            #expect(try await router.get(evolving).title == "N")

            let old = StorageCollection<NoteV1>(
                "notes", domain: domain, owner: "Tests", description: "Notes", typeTag: "Note", id: { $0.id })
            try await router.set((0..<40).map { NoteV1(id: "n\($0)", name: "N") }, in: old)
            let notes = notes(domain).evolving(Self.chain.keepingBackup())
            await router.sweep(TestCatalog([.collection(notes)]))
            #expect(try await launch().restoreBackup(for: notes.key("n7")) == 1)
            // One call restores the other 39 records, and a second call restores none.
            #expect(try await launch().restoreBackups(in: notes) == 39)
            #expect(try await launch().restoreBackups(in: notes) == 0)
            #expect(try await launch().get("n9", in: notes).title == "N")
            let shelf = StorageCollection<NoteV1>(
                "notes", domain: domain, owner: "Tests", description: "Notes", typeTag: "Note", id: { $0.id })
            #expect(try await launch().value(for: shelf.key("n8")) == NoteV1(id: "n8", name: "N"))
            await router.sweep(TestCatalog([.collection(notes)]))
            try await router.purgeBackups(in: notes)
            #expect(try await launch().restoreBackup(for: notes.key("n8")) == nil)
        }
    }

    @Test(arguments: Place.allCases)
    func `a removal purges the backups of versions that the program no longer declares`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let evolving = key(domain, Note.self).evolving(Self.chain.keepingBackup())
            let later = [
                key(domain, Note.self).version(3),
                key(domain, Note.self).evolving(Evolution.from(version: 2).decoding(NoteV2.self).to(Self.note)),
            ]
            for key in later {
                try await launch().set(NoteV1(id: "a", name: "N"), for: self.key(domain, NoteV1.self))
                _ = try await launch().get(evolving)
                try await launch().remove(key)
                #expect(try await launch().restoreBackup(for: evolving) == nil)
            }
            let notes = notes(domain).evolving(Self.chain.keepingBackup())
            try await launch().set(NoteV1(id: "n", name: "N"), for: Self.older(domain).key("n"))
            #expect(try await launch().get("n", in: notes).words == 1)
            try await launch().purgeBackups(in: self.notes(domain).version(3))
            #expect(try await launch().restoreBackups(in: notes) == 0)
        }
    }

    private static func older(_ domain: StorageDomain) -> StorageCollection<NoteV1> {
        StorageCollection("notes", domain: domain, owner: "Tests", description: "Notes", typeTag: "Note", id: { $0.id })
    }

    @Test(arguments: [StorageDomain.userDefaults(suite: "a"), .encryptedSQLite(database: "a"), .keychain(service: "a")])
    func `a sweep purges the backup of a removed value that a killed process left, and no call restores it`(
        _ domain: StorageDomain
    ) async throws {
        let machine = TestMachine()
        let evolving = key(domain, Note.self).evolving(Self.chain.keepingBackup())
        let notes = notes(domain).evolving(Self.chain.keepingBackup())
        try await machine.launch().set(NoteV1(id: "a", name: "N"), for: key(domain, NoteV1.self))
        try await machine.launch().set(NoteV1(id: "n", name: "N"), for: Self.older(domain).key("n"))
        let router = machine.launch()
        _ = try await (router.get(evolving), router.get("n", in: notes))
        let store = try #require(machine.backends(of: domain).last)
        let addresses = [
            StorageAddress("note", in: StorageNamespace("backup:1:")),
            StorageAddress("n", in: StorageNamespace("backup:1:collection:notes")),
        ]
        let backups = try await store.read(addresses, .fresh).map { try #require($0.record) }
        try await router.remove(evolving)
        try await router.remove("n", in: notes)
        func leave() async throws {
            for (address, backup) in zip(addresses, backups) {
                #expect(try await store.apply(.put(backup.payload, backup.metadata, at: address)).isApplied)
            }
        }
        try await leave()
        #expect(try await machine.launch().restoreBackups(in: notes) == 0)
        #expect(try await machine.launch().value("n", in: notes) == nil)
        let report = await machine.launch().sweep(TestCatalog([.key(evolving), .collection(notes)]))
        #expect(report.rows.allSatisfy { $0.residue.isEmpty }, "\(report)")
        #expect(try await store.read(addresses, .fresh).allSatisfy { $0 == .absent })
    }

    // MARK: Schema and store at once

    @Test(arguments: Place.allCases) func `a list at version 1 in a property list becomes a collection at version 3`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let list = testKey("notes", .userDefaults(suite: "legacy"), of: [NoteV1].self)
            let old = (0..<40).map { NoteV1(id: "n\($0)", name: "Note \($0)") }
            try await launch().set(old, for: list)
            let notes = notes(domain).version(3).moved(from: list) { list in
                list.map { Self.note(NoteV2(id: $0.id, title: $0.name)) }
            }
            let router = launch()
            #expect(try await router.get("n7", in: notes) == Note(id: "n7", title: "Note 7", words: 2))
            #expect(try await router.count(in: notes) == 40)
            #expect(try await router.value(for: list) == nil)
            #expect(try await router.storedValue("n8", in: notes)?.schemaVersion == 3)
            // A removed record stays removed when the same list reappears. A different list is a conflict, which the
            // sweep resolves.
            try await router.remove("n7", in: notes)
            try await launch().set(old, for: list)
            let next = launch()
            #expect(try await next.value("n7", in: notes) == nil)
            #expect(try await next.count(in: notes) == 39)
            try await launch().set(old + [NoteV1(id: "late", name: "Late")], for: list)
            #expect(try await next.value("late", in: notes) == nil)
            let report = try await next.registerCatalog(TestCatalog([.collection(notes)]), migrateImmediately: true)
            try report.requireComplete()
            #expect(report.rows.map(\.state) == [.resolved])
            #expect(try await next.value(for: list) == nil)
            #expect(try await next.audit().quarantine.count == 1)
            #expect(try await next.count(in: notes) == 39)
        }
    }

    @Test(.slow("goes through real files many times"), arguments: Place.allCases)
    func `a collection moves to another store and schema, one record per read and the rest in a sweep`(
        place: Place
    ) async throws {
        try await place.withLaunches { launch, domain in
            let old = StorageCollection<NoteV1>(
                "old notes", domain: place.olderDomain, owner: "Tests", description: "Notes", id: { $0.id })
            try await launch().set((0..<600).map { NoteV1(id: "n\($0)", name: "Note \($0)") }, in: old, syncStatus: .synced)
            let notes = notes(domain).version(3).moved(from: old) { Self.note(NoteV2(id: $0.id, title: $0.name)) }
            let router = launch()
            #expect(try await router.get("n5", in: notes).words == 2)
            #expect(try await router.value(for: old.key("n5")) == nil)
            #expect(try await router.value(for: old.key("n6")) != nil)
            try await router.remove("n6", in: notes)
            try await router.set(Note(id: "n7", title: "Mine", words: 1), in: notes)
            let report = try await router.registerCatalog(TestCatalog([.collection(notes)]), migrateImmediately: true)
            try report.requireComplete()
            let reader = launch()
            #expect(try await reader.count(in: notes) == 599)
            #expect(try await reader.count(in: old) == 0)
            #expect(try await reader.value("n6", in: notes) == nil)
            #expect(try await reader.get("n7", in: notes).title == "Mine")
            #expect(try await reader.storedValue("n9", in: notes)?.syncStatus == .synced)
            let again = await reader.sweep(TestCatalog([.collection(notes)]))
            #expect(again.rows.map(\.state) == [.unchanged])
        }
    }

    @Test func `a legacy collection is kept until both collections that copy it have all records`() async throws {
        let machine = TestMachine()
        let old = StorageCollection<NoteV1>("old", domain: .userDefaults(suite: "a"), owner: "Tests", description: "Notes", id: { $0.id })
        let router = machine.launch()
        try await router.set((0..<20).map { NoteV1(id: "n\($0)", name: "N") }, in: old)
        func copy(_ suite: String) -> StorageCollection<NoteV1> {
            StorageCollection<NoteV1>("new", domain: .userDefaults(suite: suite), owner: "Tests", description: "Notes", id: { $0.id })
                .moved(from: old)
        }
        try await router.registerCatalog(TestCatalog([.collection(copy("b"))], id: "b"))
        try await router.registerCatalog(TestCatalog([.collection(copy("c"))], id: "c"))
        #expect(try await router.count(in: copy("b")) == 20)
        #expect(try await router.count(in: old) == 20)
        await router.sweep()
        await router.sweep()
        #expect(try await router.count(in: copy("b")) == 20)
        #expect(try await router.count(in: copy("c")) == 20)
        #expect(try await router.count(in: old) == 0)
    }

    @Test func `a collection does not move to a store with weaker protection`() async throws {
        let machine = TestMachine()
        let old = StorageCollection<NoteV1>("old", domain: .keychain(service: "s"), owner: "Tests", description: "Notes", id: { $0.id })
        let router = machine.launch()
        try await router.set(NoteV1(id: "a", name: "N"), in: old)
        let new = StorageCollection<NoteV1>("new", domain: .userDefaults(suite: "a"), owner: "Tests", description: "Notes", id: { $0.id })
            .moved(from: old)
        await #expect { try await router.count(in: new) } throws: { StorageError.weakerProtection ~= $0 }
        await #expect { try await router.value(for: new.key("a")) } throws: { StorageError.weakerProtection ~= $0 }
        #expect(try await router.count(in: old) == 1)
    }

    @Test func `a record that JSON cannot represent can be stored in a collection with the plist serializer`() async throws {
        struct Reading: Codable, Equatable, Identifiable {
            var id: String
            var degrees: Double
        }
        let readings = StorageCollection<Reading>(
            "readings", domain: .userDefaults(suite: "a"), serializer: .plist, owner: "Tests", description: "Readings")
        let router = TestMachine().launch()
        // JSON cannot represent infinity, and a property list can.
        try await router.set(Reading(id: "a", degrees: .infinity), in: readings)
        #expect(try await router.get("a", in: readings).degrees == .infinity)
    }

    @Test func `renaming a property to a path that cannot hold it leaves the document unchanged`() {
        let begin: DocumentValue = ["name": "text", "list": ["a", "b"], "inner": ["x": 1]]
        for (old, new) in [
            ("name", "list.x"), ("inner", "name.inner"), ("list[0]", "name.x"), ("list[0]", "list[7]"), ("name", "list[3]"),
            ("none", "name"),
        ] {
            var document = StoredDocument(begin)
            document.rename(DocumentPath(old), to: DocumentPath(new))
            #expect(document.root == begin, "\(old) to \(new)")
        }
        var document = StoredDocument(begin)
        document.rename("name", to: "name.first")
        document.rename("inner.x", to: "list[2].x")
        document.rename("list[0]", to: "first")
        #expect(document.root == ["name": ["first": "text"], "list": ["b", ["x": 1]], "inner": [:], "first": "a"])
    }

    @Test func `in a content-addressed collection, records with equal content are stored once`() async throws {
        let machine = TestMachine()
        let notes = StorageCollection<NoteV2>.contentAddressed(
            "notes", domain: .encryptedSQLite(database: "d"), owner: "Tests", description: "Notes")
        let router = machine.launch()
        let note = NoteV2(id: "x", title: "T")
        try await router.set([note, note, NoteV2(id: "x", title: "U")], in: notes)
        try await router.set(note, in: notes)
        #expect(try await router.count(in: notes) == 2)
        #expect(try await router.value(for: notes.key(try notes.id(of: note))) == note)
    }
}
