import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// What one way to write, move or remove a record does, and another must not forget.
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

    /// A child in a collection of another name.
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

    /// Two kinds of record in two stores that refer to each other.
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
    private let clock = TestClock()
    private let machine: TestMachine

    init() { machine = TestMachine { [clock] in $0.use(clock) } }

    static func children(_ name: String, _ domain: StorageDomain = place) -> StorageCollection<Child> {
        StorageCollection(name, domain: domain, owner: "Tests", description: "Children")
    }

    private func notes(_ name: String = "notes", _ domain: StorageDomain = place, typeTag: String? = nil) -> StorageCollection<Note> {
        StorageCollection(name, domain: domain, owner: "Tests", description: "Notes", typeTag: typeTag)
    }

    private func longer(_ name: String = "notes", typeTag: String = "Note") -> StorageCollection<Longer> {
        StorageCollection<Longer>(name, domain: Self.place, owner: "Tests", description: "Notes", typeTag: typeTag)
            .evolving(
                Evolution.from(version: 1).decoding(Note.self).to { Longer(id: $0.id, text: $0.text, words: 1) }.keepingBackup())
    }

    private func key<Value>(_ name: String, _ type: Value.Type = Value.self, _ domain: StorageDomain = place) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, owner: "Tests", description: "A value")
    }

    // MARK: Registration

    @Test func `a collection is registered with its records, and one that is not is refused in every way`() async throws {
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
        await refused { for try await _ in router.allRecords(in: others) {} }
        await refused { try await router.migrateAll(from: "Old", to: others) }
        await refused { try await router.migrateAll(from: notes(), to: others) }
        await refused { try await router.restoreBackups(of: others) }
        await refused { try await router.discardBackups(of: others) }
        await refused { for try await _ in router.values(for: others.key("a")) { break } }
    }

    // MARK: Backups

    @Test func `whatever removes a record removes what is kept of it`() async throws {
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
            #expect(try await router.restoreBackup(of: longer().key("a"), version: 1) == nil, "\(way)")
            #expect(try await machine.launch().restoreBackups(of: longer()) == 0, "\(way)")
            #expect(try await router.value("a", in: longer()) == nil, "\(way)")
        }
    }

    @Test func `backups are discarded also by a program that keeps none any more`() async throws {
        let old = key("note", Note.self)
        let chain = Evolution.from(version: 1).decoding(Note.self).to { Longer(id: $0.id, text: $0.text, words: 1) }
        let keeping = key("note", Longer.self).evolving(chain.keepingBackup())
        for removes in [false, true] {
            try await machine.launch().set(Note(id: "a", text: "secret"), for: old)
            _ = try await machine.launch().get(keeping)
            let now = key("note", Longer.self).evolving(chain)
            if removes { try await machine.launch().remove(now) } else { try await machine.launch().discardBackups(of: now) }
            #expect(try await machine.launch().restoreBackup(of: now) == nil)
            try await machine.launch().remove(now)
        }
    }

    @Test func `restoring one type's records leaves those of another in the same place`() async throws {
        try await machine.launch().set(Note(id: "a", text: "one"), in: notes(typeTag: "A"))
        try await machine.launch().set(Note(id: "b", text: "two"), in: notes(typeTag: "B"))
        let router = machine.launch()
        try await router.registerCatalog(TestCatalog(.collection(longer(typeTag: "A"))), migrateImmediately: true)
        #expect(try await router.get("b", in: longer(typeTag: "B")).words == 1)
        try await router.update("b", in: longer(typeTag: "B")) { $0?.words = 7 }
        #expect(try await router.restoreBackups(of: longer(typeTag: "A")) == 1)
        #expect(try await router.get("b", in: longer(typeTag: "B")).words == 7)
        try await router.discardBackups(of: longer(typeTag: "A"))
        #expect(try await router.restoreBackup(of: longer(typeTag: "B").key("b"), version: 1) == 1)
    }

    // MARK: Damage and doubt

    @Test func `a batch replaces what is damaged as a set does, and it is kept`() async throws {
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

    @Test(.timeLimit(.minutes(5))) func `who watches a record learns of a commit whose answer was lost`() async throws {
        let router = machine.launch()
        try await router.set(Note(id: "a", text: "one"), in: notes())
        var values = router.values(for: notes().key("a")).makeAsyncIterator()
        #expect(try await values.next()??.text == "one")
        for backend in machine.backends(of: Self.place) { backend.inject(.loseAnswer, of: .apply) }
        await #expect(throws: StorageError.self) { try await router.set(Note(id: "a", text: "two"), in: notes()) }
        try await router.set(Note(id: "a", text: "three"), in: notes())
        // A look or the change itself; without the look, what came in between might have been the last.
        for backend in machine.backends(of: Self.place) { backend.inject(.loseAnswer, of: .apply) }
        await #expect(throws: StorageError.self) { try await router.set(Note(id: "a", text: "four"), in: notes()) }
        var seen: [String] = []
        while seen.last != "four", let value = try await values.next() { seen.append(value?.text ?? "") }
        #expect(seen.last == "four")
    }

    // MARK: References

    @Test func `ids that look alike, and names with a slash, are records of their own`() async throws {
        try await Child.shelf.withValue(Self.children("a")) {
            let (composed, decomposed) = ("caf\u{E9}", "cafe\u{301}")
            let parent = Parent(
                id: "p",
                children: [composed, decomposed, "b/c"].map { StorageReference(Child(id: $0, text: $0)) },
                cousins: [StorageReference(Cousin(id: "c", text: "cousin"))])
            let router = machine.launch()
            try await router.set(parent, for: key("parent"))
            for id in [composed, decomposed, "b/c"] {
                let found = try await router.value(for: Child.collection.key(id))
                #expect(found.map { Array($0.text.utf8) } == Array(id.utf8))
            }
            #expect(try await router.value("c", in: Cousin.collection)?.text == "cousin")
        }
    }

    @Test func `a list with ids that look alike is taken apart`() async throws {
        let list = key("list", [Note].self, Self.older)
        try await machine.launch().set([Note(id: "caf\u{E9}", text: "one"), Note(id: "cafe\u{301}", text: "two")], for: list)
        #expect(try await machine.launch().count(in: notes().moved(from: list) { $0 }) == 2)
    }

    @Test func `a circle through two stores ends, and the value of the call counts`() async throws {
        let router = machine.launch()
        let eve = Woman(id: "Eve", text: "new", husband: StorageReference(Man(id: "Adam", text: "as Eve knew him")))
        try await router.set(Man(id: "Adam", text: "old"), in: Man.collection)
        try await router.update("Adam", in: Man.collection) { adam in
            adam?.text = "new"
            adam?.wife = StorageReference(eve)
        }
        #expect(try await router.get("Adam", in: Man.collection).text == "new")
        #expect(try await router.resolve(try await router.get("Adam", in: Man.collection).wife)?.text == "new")
        // Where the other store is out of reach, nothing is changed.
        machine.makeUnavailable(Self.older)
        await #expect(throws: StorageError.self) {
            try await router.set(Man(id: "Adam", text: "newer", wife: StorageReference(eve)), in: Man.collection)
        }
        #expect(try await router.get("Adam", in: Man.collection).text == "new")
    }

    @Test func `an older copy that differs only in the records within it does not go before they are stored`() async throws {
        try await Child.shelf.withValue(Self.children("children")) {
            for way in ["collection", "list"] {
                let machine = TestMachine()
                let old = StorageCollection<OldParent>("parents", domain: Self.older, owner: "Tests", description: "Parents")
                let list = key("list", [OldParent].self, Self.older)
                let bare = StorageCollection<Parent>("parents", domain: Self.place, owner: "Tests", description: "Parents")
                let moved =
                    way == "list"
                    ? bare.moved(from: list) { $0.map { Parent(id: $0.id, children: [StorageReference($0.child)]) } }
                    : bare.moved(from: old) { Parent(id: $0.id, children: [StorageReference($0.child)]) }
                func write(_ text: String, _ id: String) async throws {
                    let parent = OldParent(id: "p", child: Child(id: id, text: text))
                    if way == "list" {
                        try await machine.launch().set([parent], for: list)
                    } else {
                        try await machine.launch().set(parent, in: old)
                    }
                }
                try await write("first", "a")
                #expect(try await machine.launch().get("p", in: moved).children.map(\.id) == ["a"])
                // A program refers to a child that it does not have yet; an old one writes the parent with that child in its midst.
                try await machine.launch().set(Parent(id: "p", children: [StorageReference(id: "b")]), in: moved)
                try await write("held by the older copy", "b")
                let report = try await machine.launch().registerCatalog(TestCatalog(.collection(moved)), migrateImmediately: true)
                #expect(report.isComplete)
                #expect(try await machine.launch().value("b", in: Child.collection)?.text == "held by the older copy", "\(way)")
                // Another state than the one that stands is quarantined with what holds it.
                try await write("another state", "b")
                _ = try await machine.launch().registerCatalog(TestCatalog(.collection(moved)), migrateImmediately: true)
                #expect(try await machine.launch().audit().quarantine.count == 1, "\(way)")
            }
        }
    }

    @Test func `a value does not refer to what it was made of, and what goes`() async throws {
        let old = Self.children("children", Self.older)
        try await Child.shelf.withValue(old) {
            try await machine.launch().set(Child(id: "a", text: "one"), in: old)
            let parents = StorageCollection<Parent>("parents", domain: Self.place, owner: "Tests", description: "Parents")
                .moved(from: old) { Parent(id: $0.id, children: [StorageReference($0)]) }
            await #expect { try await machine.launch().get("a", in: parents) } throws: { StorageError.migrationFailed ~= $0 }
            await #expect(throws: StorageError.self) { try await machine.launch().count(in: parents) }
            #expect(try await machine.launch().value("a", in: old)?.text == "one")
        }
    }

    @Test(.timeLimit(.minutes(5))) func `a long list of records with references is taken apart in good time`() async throws {
        try await Child.shelf.withValue(Self.children("children", .memory())) {
            let machine = TestMachine()
            let list = key("list", [OldParent].self, .memory())
            let parents = StorageCollection<Parent>("parents", domain: .memory(), owner: "Tests", description: "Parents")
                .moved(from: list) { $0.map { Parent(id: $0.id, children: [StorageReference($0.child)]) } }
            let router = machine.launch()
            try await router.set((0..<1_500).map { OldParent(id: "\($0)", child: Child(id: "\($0)", text: "t")) }, for: list)
            let start = ContinuousClock.now
            #expect(try await router.count(in: parents) == 1_500)
            print("took apart in", ContinuousClock.now - start)
        }
    }

    // MARK: Types and lifetimes

    @Test func `an expired record of an older type does not keep its id for ever`() async throws {
        let router = machine.launch()
        try await router.set(Note(id: "a", text: "one"), in: notes(typeTag: "Old"), lifetime: .seconds(60))
        try await router.set(Note(id: "b", text: "two"), in: notes(typeTag: "Old"))
        clock.advance(by: .seconds(61))
        try await router.migrateAll(from: "Old", to: notes())
        #expect(try await router.value("a", in: notes()) == nil)
        #expect(try await router.migration(from: "Old", to: notes()).isSafeToDelete)
        try await router.set(Note(id: "a", text: "three"), in: notes())
        #expect(try await router.get("a", in: notes()).text == "three")
        // Nor without the call.
        try await router.set(Note(id: "c", text: "one"), in: notes(typeTag: "Old"), lifetime: .seconds(60))
        clock.advance(by: .seconds(61))
        try await router.set(Note(id: "c", text: "three"), in: notes())
        #expect(try await router.get("c", in: notes()).text == "three")
    }

    @Test func `a list that has expired is removed by a sweep`() async throws {
        let list = key("list", [Note].self, Self.older)
        try await machine.launch().set([Note(id: "a", text: "one")], for: list, lifetime: .seconds(60))
        clock.advance(by: .seconds(61))
        let router = machine.launch()
        let notes = notes().moved(from: list) { $0 }
        try await router.registerCatalog(TestCatalog(.collection(notes)), migrateImmediately: true)
        #expect(try await router.count(in: notes) == 0)
        clock.pass(.seconds(86_400))
        await router.sweep()
        #expect(try await router.storedValue(for: list) == nil)
        #expect(try await router.migrations().allSatisfy(\.isSafeToDelete))
    }

    @Test func `a removal, or a set, leaves another type's record in the older place`() async throws {
        for way in ["remove", "set", "batch"] {
            let machine = TestMachine()
            let theirs = notes("shared", Self.older, typeTag: "Theirs")
            try await machine.launch().set(Note(id: "x", text: "theirs"), in: theirs)
            let mine = notes().moved(from: notes("shared", Self.older))
            let router = machine.launch()
            switch way {
            case "remove": try await router.remove("x", in: mine)
            case "batch": try await router.batch { $0.remove("x", in: mine) }
            default: try await router.set(Note(id: "x", text: "mine"), in: mine)
            }
            try await router.registerCatalog(TestCatalog(.collection(mine)), migrateImmediately: true)
            _ = try? await router.forceMigration(for: mine.key("x"))
            #expect(try await machine.launch().value("x", in: theirs)?.text == "theirs", "\(way)")
        }
    }

    // MARK: Older places

    @Test func `migrateAll brings also what the older collection would have brought`() async throws {
        let oldest = notes("oldest", Self.older)
        let list = key("list", [Note].self, Self.older)
        try await machine.launch().set(Note(id: "a", text: "one"), in: oldest)
        try await machine.launch().set([Note(id: "b", text: "two")], for: list)
        let old = notes("old", Self.older).moved(from: oldest).moved(from: list) { $0 }
        try await machine.launch().set(Note(id: "c", text: "three"), in: old)
        try await machine.launch().migrateAll(from: old, to: notes())
        #expect(try await machine.launch().count(in: notes()) == 3)
        #expect(try await machine.launch().value("a", in: notes())?.text == "one")
    }

    @Test func `two lists become one collection`() async throws {
        let first = key("first", [Note].self, Self.older)
        let second = key("second", [Note].self, Self.older)
        let notes = notes().moved(from: first) { $0 }.moved(from: second) { $0 }
        for sweeps in [false, true] {
            let machine = TestMachine()
            try await machine.launch().set([Note(id: "a", text: "one"), Note(id: "b", text: "first")], for: first)
            try await machine.launch().set([Note(id: "c", text: "three"), Note(id: "b", text: "second")], for: second)
            let router = machine.launch()
            if sweeps { try await router.registerCatalog(TestCatalog(.collection(notes)), migrateImmediately: true) }
            #expect(try await router.count(in: notes) == 3)
            #expect(try await router.value("c", in: notes)?.text == "three")
            #expect(try await router.value("b", in: notes)?.text == "first")
            #expect(try await router.value(for: second) == nil)
            #expect(try await router.audit().quarantine.map(\.key) == ["second"])
            // What was removed stays so, whichever list an old program writes again.
            try await router.remove("a", in: notes)
            try await machine.launch().set([Note(id: "a", text: "again")], for: first)
            try await router.registerCatalog(TestCatalog(.collection(notes)), migrateImmediately: true)
            #expect(try await router.value("a", in: notes) == nil)
        }
    }

    @Test func `a list that holds a record twice becomes a collection by content`() async throws {
        let list = key("list", [Note].self, Self.older)
        try await machine.launch().set([Note(id: "a", text: "one"), Note(id: "a", text: "one")], for: list)
        let notes = StorageCollection<Note>.contentAddressed("notes", domain: Self.place, owner: "Tests", description: "Notes")
            .moved(from: list) { $0 }
        #expect(try await machine.launch().count(in: notes) == 1)
    }

    @Test func `a merge that ends in nothing removes the record, from a list too`() async throws {
        let list = key("list", [Note].self, Self.older)
        let notes = notes().resolvingConflicts(.merge { _, _ in nil }).moved(from: list) { $0 }
        try await machine.launch().set([Note(id: "a", text: "one"), Note(id: "b", text: "one")], for: list)
        #expect(try await machine.launch().count(in: notes) == 2)
        try await machine.launch().set([Note(id: "a", text: "two")], for: list)
        let router = machine.launch()
        try await router.registerCatalog(TestCatalog(.collection(notes)), migrateImmediately: true)
        #expect(try await router.value("a", in: notes) == nil)
        #expect(try await router.value("b", in: notes)?.text == "one")
        #expect(try await router.audit().quarantine.count == 2)
    }

    // MARK: More ways

    /// A reference in every kind of container.
    struct Holder: Codable {
        enum Choice: Codable {
            case none
            case one(StorageReference<Child>)
        }
        var optional: StorageReference<Child>?
        var named: [String: StorageReference<Child>]
        var choice: Choice
        var nested: [[StorageReference<Child>?]]
    }

    @Test(arguments: Place.allCases) func `a reference is found in whatever holds it, in every form and place`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            try await Child.shelf.withValue(Self.children("children", domain)) {
                for (index, key) in [
                    testKey("json", domain, of: Holder.self),
                    StorageKey<Holder>(name: "plist", domain: domain, serializer: .plist, owner: "Tests", description: "A holder"),
                    testKey("sealed", domain, .encrypted, of: Holder.self),
                ].enumerated() {
                    func child(_ name: String) -> StorageReference<Child> { StorageReference(Child(id: "\(index)\(name)", text: name)) }
                    let holder = Holder(
                        optional: child("a"), named: ["x": child("b"), "y": child("c")], choice: .one(child("d")),
                        nested: [[nil, child("e")]])
                    let router = launch()
                    switch index {
                    case 0: try await router.update(key) { $0 = holder }
                    case 1: try await router.batch { $0.set(holder, for: key) }
                    default: try await router.set(holder, for: key)
                    }
                    let found = try await launch().get(key)
                    #expect(try await launch().resolve(found.nested[0][1])?.text == "e")
                    #expect(try await launch().count(in: Child.collection) == (index + 1) * 5)
                }
            }
        }
    }

    @Test(arguments: Place.allCases) func `an id is kept byte by byte, or refused by name`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let notes = notes("notes", domain)
            // A property list cannot tell the two forms apart, and refuses one by name.
            let decomposed = place == .propertyList || place == .memory ? "cafe" : "cafe\u{301}"
            let good = [
                "../x", "/", ".", "a/b", " ", "caf\u{E9}", decomposed, "\u{1F600}", "%00", "'; DROP TABLE slots; --", "\u{202E}x",
                "x\u{FEFF}",
                String(repeating: "e", count: 1_024), "A", "a",
            ]
            try await launch().set(good.map { Note(id: $0, text: $0) }, in: notes)
            let router = launch()
            #expect(try await router.count(in: notes) == good.count)
            var seen: [[UInt8]] = []
            for try await stored in router.allStoredRecords(in: notes) {
                #expect(stored.id.utf8.elementsEqual(stored.value.text.utf8))
                seen.append(Array(stored.id.utf8))
            }
            #expect(Set(seen) == Set(good.map { Array($0.utf8) }))
            try await router.remove("caf\u{E9}", in: notes)
            #expect(try await launch().value(decomposed, in: notes) != nil)
            #expect(try await launch().count(in: notes) == good.count - 1)
            for bad in ["", "\0", "a\nb", String(repeating: "e", count: 1_025)] {
                await #expect { try await router.set(Note(id: bad, text: ""), in: notes) } throws: { StorageError.invalidName ~= $0 }
                await #expect { _ = try await router.value(bad, in: notes) } throws: { StorageError.invalidName ~= $0 }
                await #expect { try await router.set([Note(id: "new", text: ""), Note(id: bad, text: "")], in: notes) } throws: {
                    StorageError.invalidName ~= $0
                }
            }
            #expect(try await launch().value("new", in: notes) == nil)
            try await router.set([Note](), in: notes)
            for bad in ["", "a\0"] {
                await #expect(throws: StorageError.self) { try await router.set(Note(id: "a", text: ""), in: self.notes(bad, domain)) }
                await #expect(throws: StorageError.self) { try await router.count(in: self.notes(bad, domain)) }
            }
        }
    }

    @Test(arguments: Place.allCases) func `who removes a record while the others are brought over has removed it`(place: Place) async throws
    {
        for way in ["list", "collection"] {
            try await place.withLaunches { launch, domain in
                let old = notes("old", place.olderDomain)
                let list = key("list", [Note].self, place.olderDomain)
                let all = (0..<40).map { Note(id: "\($0)", text: "t") }
                if way == "list" { try await launch().set(all, for: list) } else { try await launch().set(all, in: old) }
                let notes = way == "list" ? notes("notes", domain).moved(from: list) { $0 } : notes("notes", domain).moved(from: old)
                let (one, other) = (launch(), launch())
                try await withThrowingTaskGroup { group in
                    group.addTask { _ = try await one.count(in: notes) }
                    group.addTask { for try await _ in other.allRecords(in: notes) {} }
                    for id in 0..<20 { group.addTask { try await (id % 2 == 0 ? one : other).remove("\(id)", in: notes) } }
                    for id in 20..<30 {
                        group.addTask { try await (id % 2 == 0 ? one : other).update("\(id)", in: notes) { $0?.text = "new" } }
                    }
                    try await group.waitForAll()
                }
                let router = launch()
                try await router.registerCatalog(TestCatalog(.collection(notes)), migrateImmediately: true)
                #expect(try await router.count(in: notes) == 20, "\(way)")
                for id in 0..<20 { #expect(try await router.value("\(id)", in: notes) == nil, "\(way)") }
                for id in 20..<30 { #expect(try await router.value("\(id)", in: notes)?.text == "new", "\(way)") }
            }
        }
    }

    @Test(.timeLimit(.minutes(5))) func `two lists whose records refer to each other are taken apart by two callers at once`() async throws
    {
        struct List: Codable { var parents: [OldParent] }
        for _ in 0..<20 {
            let machine = TestMachine()
            let childList = key("children", [Child].self, Self.older)
            let shelf = Self.children("children").moved(from: childList) { $0 }
            let list = key("list", [OldParent].self, Self.older)
            let parents = StorageCollection<Parent>("parents", domain: Self.place, owner: "Tests", description: "Parents")
                .moved(from: list) { $0.map { Parent(id: $0.id, children: [StorageReference($0.child)]) } }
            try await Child.shelf.withValue(shelf) {
                try await machine.launch().set((0..<5).map { Child(id: "\($0)", text: "own") }, for: childList)
                try await machine.launch().set((0..<5).map { OldParent(id: "\($0)", child: Child(id: "\($0)", text: "held")) }, for: list)
                let (one, other) = (machine.launch(), machine.launch())
                try await withThrowingTaskGroup { group in
                    for router in [one, other] {
                        group.addTask { _ = try await router.count(in: parents) }
                        group.addTask { _ = try await router.count(in: shelf) }
                        group.addTask { _ = try await router.value("3", in: shelf) }
                    }
                    try await group.waitForAll()
                }
                #expect(try await one.count(in: parents) == 5)
                #expect(try await one.count(in: shelf) == 5)
                #expect(try await one.value("3", in: shelf)?.text == "own")
            }
        }
    }

    @Test func `two states of one record within an older value are not decided unseen`() async throws {
        struct OldPair: Codable {
            var first: Child
            var second: Child
        }
        try await Child.shelf.withValue(Self.children("children")) {
            let old = key("pair", OldPair.self, Self.older)
            let new = key("pair", Parent.self).moved(from: old) {
                Parent(id: "p", children: [StorageReference($0.first), StorageReference($0.second)])
            }
            let one = Child(id: "c", text: "one")
            try await machine.launch().set(OldPair(first: one, second: one), for: old)
            _ = try await machine.launch().get(new)
            #expect(try await machine.launch().audit().quarantine.isEmpty)
            try await machine.launch().remove(new)
            try await machine.launch().remove("c", in: Child.collection)
            let next = key("pair2", Parent.self).moved(from: old) {
                Parent(id: "p", children: [StorageReference($0.first), StorageReference($0.second)])
            }
            try await machine.launch().set(OldPair(first: one, second: Child(id: "c", text: "two")), for: old)
            _ = try await machine.launch().get(next)
            #expect(try await machine.launch().audit().quarantine.map(\.key) == ["pair"])
        }
    }

    @Test func `a collection does not take its records from its own place`() async throws {
        try await machine.launch().set(Note(id: "a", text: "one"), in: notes(typeTag: "Old"))
        let circular = notes().moved(from: notes(typeTag: "Old")) { Note(id: $0.id, text: "changed") }
        await #expect { try await machine.launch().migrateAll(from: notes(typeTag: "Old"), to: circular) } throws: {
            StorageError.unsupported ~= $0
        }
        await #expect(throws: StorageError.self) { try await machine.launch().value("a", in: circular) }
        #expect(try await machine.launch().migrateAll(from: notes(), to: notes()).metadata["records"] == "0")
        #expect(try await machine.launch().value("a", in: notes(typeTag: "Old"))?.text == "one")
    }

    @Test func `a cancelled caller leaves all of a change or nothing of it`() async throws {
        try await Child.shelf.withValue(Self.children("children", Self.older)) {
            let router = machine.launch()
            let parents = StorageCollection<Parent>("parents", domain: Self.place, owner: "Tests", description: "Parents")
            for number in 0..<200 {
                let task = Task {
                    try await router.set(
                        Parent(id: "\(number)", children: [StorageReference(Child(id: "\(number)", text: "c"))]), in: parents)
                }
                for _ in 0..<(number % 20) { await Task.yield() }
                task.cancel()
                _ = await task.result
            }
            for try await parent in router.allRecords(in: parents) { #expect(try await router.resolve(parent.children.first) != nil) }
        }
    }
}
