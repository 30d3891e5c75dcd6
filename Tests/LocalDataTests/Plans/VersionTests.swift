import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import LocalDataVocabulary
import TestSupport
import Testing

/// Two versions of a program that use one store: version 1 still runs after version 2 has migrated the store. A sweep
/// converts all values of a catalog.
@Suite(.inTurn) struct VersionTests {
    // MARK: The two programs

    struct OldNote: Codable, Equatable, Identifiable {
        var id: String
        var name: String
    }

    struct Note: Codable, Equatable, Identifiable {
        var id: String
        var title: String
    }

    private static func collection<Record>(_ domain: StorageDomain, _ type: Record.Type) -> StorageCollection<Record>
    where Record: Codable & Sendable & Identifiable, Record.ID == String {
        StorageCollection("notes", domain: domain, owner: "Tests", description: "Notes", typeTag: "Note")
    }

    private static func key<Value>(_ domain: StorageDomain, _ name: String) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, owner: "Tests", description: "A note")
    }

    static func oldNotes(_ domain: StorageDomain) -> StorageCollection<OldNote> { collection(domain, OldNote.self) }
    static func notes(_ domain: StorageDomain) -> StorageCollection<Note> { collection(domain, Note.self).version(2) }
    static func oldKey(_ domain: StorageDomain) -> StorageKey<OldNote> { key(domain, "single") }
    static func newKey(_ domain: StorageDomain) -> StorageKey<Note> { key(domain, "single").version(2) }

    /// The kinds of policy that define how version 1 becomes version 2.
    enum Way: CaseIterable, Sendable {
        case chain, adHoc, inferred

        var policy: MigrationPolicy {
            @SchemaPlan.EntityChanges func changes() -> [SchemaPlan.EntityChange] {
                UpdateEntity("notes") { UpdateAttribute("name", to: "title") }
                UpdateEntity("single") { UpdateAttribute("name", to: "title") }
            }
            switch self {
            case .chain:
                return .incremental(
                    MigrationChain {
                        ModelMigration("V1") {
                            AddEntity("notes") {
                                AddAttribute("id", attributeType: .string)
                                AddAttribute("name", attributeType: .string)
                            }
                            AddEntity("single") {
                                AddAttribute("id", attributeType: .string)
                                AddAttribute("name", attributeType: .string)
                            }
                        }
                        ModelMigration("V2", changes)
                    })
            case .adHoc: return .adHoc(migrations: [AdHocMigration("V1", changes)])
            case .inferred: return .lightweight
            }
        }

        func catalog(_ domain: StorageDomain) -> TestCatalog {
            let title = AttributeDescription("title", .string, originalName: self == .inferred ? "name" : nil)
            let entities = ["notes", "single"].map { EntityDescription($0, texts("id") + [title]) }
            return TestCatalog(
                [.collection(VersionTests.notes(domain)), .key(VersionTests.newKey(domain))], CatalogSchema("V2", entities: entities),
                id: "plans")
        }
    }

    // MARK: What the older program writes is found

    @Test(arguments: Place.allCases, Way.allCases)
    func `a value that an older program sets after the migration is converted by each read, and a sweep stores the converted value`(
        place: Place, way: Way
    ) async throws {
        try await place.withLaunches { launch, domain in
            let (old, new, notes) = (launch(), launch(), Self.notes(domain))
            try await old.set(OldNote(id: "1", name: "before"), in: Self.oldNotes(domain))
            try await new.registerCatalog(way.catalog(domain), migrationPolicy: way.policy).sweep.requireComplete()
            try await old.set([OldNote(id: "2", name: "two"), OldNote(id: "3", name: "three")], in: Self.oldNotes(domain))
            try await old.set(OldNote(id: "s", name: "single"), for: Self.oldKey(domain))

            #expect(try await new.count(in: notes) == 3)
            var found: [String: String] = [:]
            for try await note in new.records(in: notes) { found[note.id] = note.title }
            #expect(found == ["1": "before", "2": "two", "3": "three"])
            #expect(try await Self.versions(new, notes) == ["1": 2, "2": 1, "3": 1])
            #expect(try await new.storedValue(for: Self.newKey(domain))?.value == Note(id: "s", title: "single"))

            #expect(try await new.get("2", in: notes) == Note(id: "2", title: "two"))
            try await new.update("2", in: notes) { $0?.title += "!" }
            let report = await new.sweep(way.catalog(domain))
            #expect(report.isComplete)
            #expect(report.rows.map(\.state) == [.converted, .converted])
            #expect(report.rows.first?.records == 1)
            try await Self.expectAllNew(launch(), domain, ["1": "before", "2": "two!", "3": "three"])
        }
    }

    @Test(arguments: Place.allCases, Way.allCases)
    func `the next launch of the newer program converts the values that an older program has set, although the plan is complete`(
        place: Place, way: Way
    ) async throws {
        try await place.withLaunches { launch, domain in
            let old = launch()
            try await launch().registerCatalog(way.catalog(domain), migrationPolicy: way.policy).sweep.requireComplete()
            try await old.set([OldNote(id: "1", name: "one"), OldNote(id: "2", name: "two")], in: Self.oldNotes(domain))
            try await old.set(OldNote(id: "s", name: "single"), for: Self.oldKey(domain))
            let report = try await launch().registerCatalog(way.catalog(domain), migrationPolicy: way.policy)
            #expect(report.sweep.isComplete)
            #expect(report.plan.steps == [])
            #expect(report.sweep.rows.map(\.state) == [.converted, .converted])
            try await Self.expectAllNew(launch(), domain, ["1": "one", "2": "two"])
            let again = try await launch().registerCatalog(way.catalog(domain), migrationPolicy: way.policy)
            #expect(again.sweep.rows.map(\.state) == [.unchanged, .unchanged])
        }
    }

    /// Expects that every value has version 2. The router has no steps from version 1, so it cannot read an older
    /// value.
    private static func expectAllNew(_ router: StorageRouter, _ domain: StorageDomain, _ titles: [String: String]) async throws {
        var found: [String: String] = [:]
        for try await note in router.records(in: notes(domain)) { found[note.id] = note.title }
        #expect(found == titles)
        #expect(try await versions(router, notes(domain)) == titles.mapValues { _ in 2 })
        #expect(try await router.get(newKey(domain)) == Note(id: "s", title: "single"))
        #expect(try await router.storedValue(for: newKey(domain))?.schemaVersion == 2)
    }

    private static func versions(_ router: StorageRouter, _ notes: StorageCollection<Note>) async throws -> [String: Int] {
        var found: [String: Int] = [:]
        for try await note in router.storedRecords(in: notes) { found[note.id] = note.schemaVersion }
        return found
    }

    // MARK: What the newer program wrote is not replaced

    typealias Write = @Sendable (StorageRouter) async throws -> Void

    /// Every call with which the older program can overwrite a value of the newer program.
    private static func writes(_ domain: StorageDomain) -> [(name: String, isOfKey: Bool, write: Write)] {
        let (note, other) = (OldNote(id: "1", name: "old"), OldNote(id: "2", name: "other"))
        let (key, notes) = (oldKey(domain), oldNotes(domain))
        let moved = key.moved(from: self.key(domain, "older place"))
        return [
            ("set of a key", true, { try await $0.set(note, for: key) }),
            ("set of a key with a lifetime", true, { try await $0.set(note, for: key, lifetime: .seconds(60)) }),
            ("set of a key with a migration", true, { try await $0.set(note, for: moved) }),
            ("update of a key", true, { try await $0.update(key) { $0 = note } }),
            ("batch of a key", true, { try await $0.batch { $0.set(note, for: key) } }),
            ("set of a record", false, { try await $0.set(note, in: notes) }),
            ("set of several records", false, { try await $0.set([other, note], in: notes) }),
            ("update of a record", false, { try await $0.update("1", in: notes) { $0 = note } }),
            (
                "batch of a record and a key", true,
                {
                    try await $0.batch {
                        try $0.set(other, in: notes); $0.set(note, for: key)
                    }
                }
            ),
        ]
    }

    /// Stores the values of the newer program.
    private static func writeNew(_ router: StorageRouter, _ domain: StorageDomain, lifetime: Duration? = nil) async throws {
        let note = Note(id: "1", title: "new")
        try await router.set(note, in: notes(domain), lifetime: lifetime)
        if let lifetime {
            try await router.set(note, for: newKey(domain), lifetime: lifetime)
        } else {
            try await router.set(note, for: newKey(domain))
        }
    }

    private static func expectRefusal(_ name: String, _ body: () async throws -> Void) async {
        do {
            try await body()
            Issue.record("\(name): nothing was thrown")
        } catch let error as StorageError {
            #expect(error.code == StorageError.incompatibleSchema && error.outcome == .notApplied, "\(name): \(error)")
        } catch {
            Issue.record("\(name): \(error)")
        }
    }

    @Test(arguments: Place.allCases)
    func `an older program cannot overwrite a value of a later version, and the bytes stay unchanged`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            try await Self.writeNew(launch(), domain)
            let before = try await launch().slots(domain, "notes")
            for (name, _, write) in Self.writes(domain) {
                await Self.expectRefusal(name) { try await write(launch()) }
                #expect(try await launch().slots(domain, "notes") == before, "\(name)")
            }
        }
    }

    @Test(arguments: [StorageDomain.userDefaults(suite: "main"), .encryptedSQLite(database: "main")])
    func `a value of a later version that arrives between the read and the write of an older program is kept`(
        domain: StorageDomain
    ) async throws {
        for (name, _, write) in Self.writes(domain) {
            let machine = TestMachine()
            let old = machine.launch()
            _ = try await old.value(for: textKey("any", domain))
            let gate = FaultGate()
            try #require(machine.backends(of: domain).first).inject(.hold(gate), of: .apply)
            let writing = Task { try await write(old) }
            await gate.untilArrivals()
            try await Self.writeNew(machine.launch(), domain)
            let before = try await machine.launch().slots(domain, "notes")
            gate.open()
            await Self.expectRefusal(name) { try await writing.value }
            #expect(try await machine.launch().slots(domain, "notes") == before, "\(name)")
        }
    }

    @Test(arguments: Place.allCases) func `an older program can replace a value of a later version that has expired or was removed`(
        place: Place
    ) async throws {
        let clock = TestClock()
        try await place.withLaunches(clock: clock) { launch, domain in
            let new = launch()
            let moved = Self.newKey(domain).moved(from: Self.key(domain, "older place"))
            for (name, isOfKey, write) in Self.writes(domain) {
                try await Self.writeNew(new, domain, lifetime: .seconds(10))
                clock.advance(by: .seconds(11))
                do { try await write(launch()) } catch { Issue.record("\(name) over what has expired: \(error)") }
                try await Self.expectOld(isOfKey, "\(name) over what has expired", launch(), domain)
                try await new.set(Note(id: "1", title: "new"), for: moved)
                try await new.remove(moved)
                try await new.remove("1", in: Self.notes(domain))
                do { try await write(launch()) } catch { Issue.record("\(name) over what was removed: \(error)") }
                try await Self.expectOld(isOfKey, "\(name) over what was removed", launch(), domain)
            }
        }
    }

    /// Expects that the older program has written one value: if `isOfKey` is true, that of the key, and otherwise the
    /// record of the collection.
    private static func expectOld(_ isOfKey: Bool, _ name: String, _ router: StorageRouter, _ domain: StorageDomain) async throws {
        #expect(try await router.value(for: oldKey(domain))?.name == (isOfKey ? "old" : nil), "\(name)")
        #expect(try await router.value("1", in: oldNotes(domain))?.name == (isOfKey ? nil : "old"), "\(name)")
    }

    @Test(arguments: Place.allCases)
    func `an older program can replace a later version with an explicit option, and can remove it without one`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let (key, notes, note) = (Self.oldKey(domain), Self.oldNotes(domain), OldNote(id: "1", name: "old"))
            let replacing: [Write] = [
                {
                    try await $0.set(note, for: key, replacingLaterVersions: true)
                    try await $0.set(note, in: notes, replacingLaterVersions: true)
                },
                {
                    try await $0.set(note, for: key.moved(from: Self.key(domain, "older place")), replacingLaterVersions: true)
                    try await $0.set([note], in: notes, replacingLaterVersions: true)
                },
                {
                    try await $0.batch {
                        $0.set(note, for: key, replacingLaterVersions: true)
                        try $0.set(note, in: notes, replacingLaterVersions: true)
                    }
                },
            ]
            for write in replacing {
                try await Self.writeNew(launch(), domain)
                try await write(launch())
                #expect(try await launch().get(key) == note)
                #expect(try await launch().get("1", in: notes) == note)
            }
            let removing: [Write] = [
                {
                    try await $0.remove(key)
                    try await $0.remove("1", in: notes)
                },
                {
                    try await $0.batch {
                        $0.remove(key)
                        $0.remove("1", in: notes)
                    }
                },
            ]
            for remove in removing {
                try await Self.writeNew(launch(), domain)
                try await remove(launch())
                #expect(try await launch().value(for: Self.newKey(domain)) == nil)
                #expect(try await launch().value("1", in: Self.notes(domain)) == nil)
            }
        }
    }
}
