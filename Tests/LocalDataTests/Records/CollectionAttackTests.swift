import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Calls that write, move or remove records of a collection must all have the same side effects.
///
/// For example, `batch` must move damaged bytes to the quarantine, the store for displaced data, as `set` does.
///
/// An evolution converts a value from an earlier schema version. With `keepingBackup()`, it keeps the earlier version
/// of the value as a backup.
@Suite(.inTurn) struct CollectionAttackTests {
    struct Note: Codable, Identifiable, Equatable {
        var id: String
        var text: String
    }

    struct Longer: Codable, Identifiable, Equatable {
        var id: String
        var text: String
        var words: Int
    }

    struct Child: StoredEntity, Equatable {
        var id: String
        var text: String
        static let shelf = TaskLocal<StorageCollection<Child>>(wrappedValue: children("children", .memory()))
        static var collection: StorageCollection<Child> { shelf.get() }
    }

    /// A record in a collection whose name has a slash.
    struct Cousin: StoredEntity, Equatable {
        var id: String
        var text: String
        static let collection = StorageCollection<Cousin>("a/b", domain: place, owner: "Tests", description: "Cousins")
    }

    struct Parent: Codable, Identifiable {
        var id: String
        var text = ""
        var children: [StorageReference<Child>] = []
        var cousins: [StorageReference<Cousin>] = []
    }

    /// A record that refers to a record in another store, which refers back to it.
    struct Man: StoredEntity {
        var id: String
        var text: String
        var wife: StorageReference<Woman>?
        static let collection = StorageCollection<Man>("men", domain: place, owner: "Tests", description: "Men")
    }

    struct Woman: StoredEntity {
        var id: String
        var text: String
        var husband: StorageReference<Man>?
        static let collection = StorageCollection<Woman>("women", domain: older, owner: "Tests", description: "Women")
    }

    struct OldParent: Codable, Identifiable {
        var id: String
        var child: Child
    }

    static let older = StorageDomain.userDefaults(suite: "older")
    static let place = StorageDomain.userDefaults(suite: "place")
    let clock = TestClock()
    let machine: TestMachine

    init() { machine = TestMachine { [clock] in $0.use(clock) } }

    static func children(_ name: String, _ domain: StorageDomain = place) -> StorageCollection<Child> {
        StorageCollection(name, domain: domain, owner: "Tests", description: "Children")
    }

    func notes(_ name: String = "notes", _ domain: StorageDomain = place, typeTag: String? = nil) -> StorageCollection<Note> {
        StorageCollection(name, domain: domain, owner: "Tests", description: "Notes", typeTag: typeTag)
    }

    func longer(_ name: String = "notes", typeTag: String = "Note") -> StorageCollection<Longer> {
        StorageCollection<Longer>(name, domain: Self.place, owner: "Tests", description: "Notes", typeTag: typeTag)
            .evolving(
                Evolution.from(version: 1).decoding(Note.self).to { Longer(id: $0.id, text: $0.text, words: 1) }.keepingBackup())
    }

    func key<Value>(_ name: String, _ type: Value.Type = Value.self, _ domain: StorageDomain = place) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, owner: "Tests", description: "A value")
    }

    // MARK: Registration

    @Test
    func `if registration is required, calls for a registered collection work, and calls for another collection are refused`() async throws
    {
        let machine = TestMachine { $0.requiresRegistration = true }
        let router = machine.launch()
        try await router.registerCatalog(TestCatalog(.collection(notes())))
        try await router.set(Note(id: "a", text: "one"), in: notes())
        #expect(try await router.get("a", in: notes()).text == "one")
        try await router.update("a", in: notes()) { $0?.text = "two" }
        try await router.batch { try $0.set(Note(id: "b", text: "two"), in: notes()) }
        #expect(try await router.count(in: notes()) == 2)
        try await router.remove("a", in: notes())
        let others = notes("others")
        func refused(_ body: () async throws -> Void) async {
            await #expect { try await body() } throws: { StorageError.unregisteredKey ~= $0 }
        }
        await refused { try await router.set(Note(id: "a", text: "one"), in: others) }
        await refused { _ = try await router.value("a", in: others) }
        await refused { _ = try await router.count(in: others) }
        await refused { for try await _ in router.records(in: others) {} }
        await refused { try await router.migrateAll(from: "Old", to: others) }
        await refused { try await router.migrateAll(from: notes(), to: others) }
        await refused { try await router.restoreBackups(in: others) }
        await refused { try await router.purgeBackups(in: others) }
        await refused { for try await _ in router.values(for: others.key("a")) { break } }
    }

    // MARK: Backups of converted values

    @Test func `removing a record by any call, or by expiry, also removes the earlier versions that conversions kept`() async throws {
        for way in ["remove", "update", "batch", "expiry"] {
            let machine = TestMachine { [clock] in $0.use(clock) }
            try await machine.launch().set(
                Note(id: "a", text: "secret"), in: notes(), lifetime: way == "expiry" ? .seconds(60) : nil)
            let router = machine.launch()
            try await router.registerCatalog(TestCatalog(.collection(longer())), migrateImmediately: true)
            #expect(try await router.get("a", in: longer()).words == 1)
            switch way {
            case "remove": try await router.remove("a", in: longer())
            case "update": try await router.update("a", in: longer()) { $0 = nil }
            case "batch": try await router.batch { $0.remove("a", in: longer()) }
            default:
                clock.advance(by: .seconds(61))
                await router.sweep()
                clock.pass(.seconds(86_400))
                await router.sweep()
            }
            #expect(try await router.restoreBackup(for: longer().key("a"), version: 1) == nil, "\(way)")
            #expect(try await machine.launch().restoreBackups(in: longer()) == 0, "\(way)")
            #expect(try await router.value("a", in: longer()) == nil, "\(way)")
        }
    }

    @Test func `a program that no longer keeps earlier versions of converted values can still delete those that it kept`() async throws {
        let old = key("note", Note.self)
        let chain = Evolution.from(version: 1).decoding(Note.self).to { Longer(id: $0.id, text: $0.text, words: 1) }
        let keeping = key("note", Longer.self).evolving(chain.keepingBackup())
        for removes in [false, true] {
            try await machine.launch().set(Note(id: "a", text: "secret"), for: old)
            _ = try await machine.launch().get(keeping)
            let now = key("note", Longer.self).evolving(chain)
            if removes { try await machine.launch().remove(now) } else { try await machine.launch().purgeBackups(for: now) }
            #expect(try await machine.launch().restoreBackup(for: now) == nil)
            try await machine.launch().remove(now)
        }
    }

    @Test func `restoring earlier versions of one record type leaves records of another type in the collection unchanged`() async throws {
        try await machine.launch().set(Note(id: "a", text: "one"), in: notes(typeTag: "A"))
        try await machine.launch().set(Note(id: "b", text: "two"), in: notes(typeTag: "B"))
        let router = machine.launch()
        try await router.registerCatalog(TestCatalog(.collection(longer(typeTag: "A"))), migrateImmediately: true)
        #expect(try await router.get("b", in: longer(typeTag: "B")).words == 1)
        try await router.update("b", in: longer(typeTag: "B")) { $0?.words = 7 }
        #expect(try await router.restoreBackups(in: longer(typeTag: "A")) == 1)
        #expect(try await router.get("b", in: longer(typeTag: "B")).words == 7)
        try await router.purgeBackups(in: longer(typeTag: "A"))
        #expect(try await router.restoreBackup(for: longer(typeTag: "B").key("b"), version: 1) == 1)
    }

    // MARK: Damage and unknown outcomes

    @Test func `every call that replaces or removes damaged bytes quarantines them`() async throws {
        try await Child.shelf.withValue(Self.children("children")) {
            let router = machine.launch()
            for way in ["set", "batch", "reference", "removal"] {
                let key = key(way, Parent.self)
                machine.corrupt(Self.place, name: way, bytes: Array(way.utf8))
                let child = StorageReference(Child(id: "c", text: "child"))
                switch way {
                case "set": try await router.set(Parent(id: "p"), for: key)
                case "batch": try await router.batch { $0.set(Parent(id: "p"), for: key) }
                case "reference": try await router.set(Parent(id: "p", children: [child]), for: key)
                default: try await router.batch { $0.remove(key) }
                }
                #expect(try await router.value(for: key)?.id == (way == "removal" ? nil : "p"), "\(way)")
            }
            #expect(try await Set(router.audit().quarantine.map(\.key)) == ["set", "batch", "reference", "removal"])
        }
    }

    @Test(.timeLimit(.minutes(5))) func `observers of a record receive a change even if the answer of its commit was lost`() async throws {
        let router = machine.launch()
        try await router.set(Note(id: "a", text: "one"), in: notes())
        var values = router.values(for: notes().key("a")).makeAsyncIterator()
        #expect(try await values.next()??.text == "one")
        for backend in machine.backends(of: Self.place) { backend.inject(.loseAnswer, of: .apply) }
        await #expect(throws: StorageError.self) { try await router.set(Note(id: "a", text: "two"), in: notes()) }
        try await router.set(Note(id: "a", text: "three"), in: notes())
        // If the answer of a commit is lost, the router does not know whether the record changed, and sends no value to
        // the observer. It makes the observer re-read the record. Otherwise "three" could remain its last value.
        for backend in machine.backends(of: Self.place) { backend.inject(.loseAnswer, of: .apply) }
        await #expect(throws: StorageError.self) { try await router.set(Note(id: "a", text: "four"), in: notes()) }
        var seen: [String] = []
        while seen.last != "four", let value = try await values.next() { seen.append(value?.text ?? "") }
        #expect(seen.last == "four")
    }
}
