import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Collections with records of other types, with lifetimes, with legacy locations, and with concurrent calls.
///
/// A legacy list is one value that contains an array of records. A migration moves each record into a collection. A
/// sweep migrates all keys and collections of a catalog, and resolves conflicts between different values of one record.
extension CollectionAttackTests {
    // MARK: Types and lifetimes

    @Test func `an expired record of an older type does not prevent a set of a new record with the same id`() async throws {
        let router = machine.launch()
        try await router.set(Note(id: "a", text: "one"), in: notes(typeTag: "Old"), lifetime: .seconds(60))
        try await router.set(Note(id: "b", text: "two"), in: notes(typeTag: "Old"))
        clock.advance(by: .seconds(61))
        try await router.migrateAll(from: "Old", to: notes())
        #expect(try await router.value("a", in: notes()) == nil)
        #expect(try await router.migration(from: "Old", to: notes()).isSafeToDelete)
        try await router.set(Note(id: "a", text: "three"), in: notes())
        #expect(try await router.get("a", in: notes()).text == "three")
        // A set can also replace the expired record without `migrateAll`.
        try await router.set(Note(id: "c", text: "one"), in: notes(typeTag: "Old"), lifetime: .seconds(60))
        clock.advance(by: .seconds(61))
        try await router.set(Note(id: "c", text: "three"), in: notes())
        #expect(try await router.get("c", in: notes()).text == "three")
    }

    @Test func `a sweep removes a legacy list that has expired`() async throws {
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
        #expect(try await router.migrations().map(\.isSafeToDelete) == [true])
    }

    @Test func `a removal or set leaves a record with the same id and another type in the legacy collection`() async throws {
        for way in ["remove", "set", "batch"] {
            let machine = TestMachine()
            let theirs = notes("shared", Self.older, typeTag: "Theirs")
            try await machine.launch().set(Note(id: "x", text: "theirs"), in: theirs)
            let mine = notes().moved(from: notes("shared", Self.older, typeTag: "Note"))
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

    // MARK: Legacy locations

    @Test func `migrateAll also moves records that are still in the legacy locations of its source collection`() async throws {
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

    @Test func `two legacy lists become one collection`() async throws {
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
            // The lists have different values for one record. Only a sweep resolves this conflict.
            #expect(try await (router.value(for: second) == nil) == sweeps)
            #expect(try await router.audit().quarantine.map(\.key) == (sweeps ? ["second"] : []))
            // A removed record stays removed when an old program writes a list again.
            try await router.remove("a", in: notes)
            try await machine.launch().set([Note(id: "a", text: "again")], for: first)
            try await router.registerCatalog(TestCatalog(.collection(notes)), migrateImmediately: true)
            #expect(try await router.value("a", in: notes) == nil)
            #expect(try await router.value(for: second) == nil)
            #expect(try await router.audit().quarantine.map(\.key).contains("second"))
        }
    }

    @Test func `a list that contains a record twice becomes a content-addressed collection with one record`() async throws {
        let list = key("list", [Note].self, Self.older)
        try await machine.launch().set([Note(id: "a", text: "one"), Note(id: "a", text: "one")], for: list)
        let notes = StorageCollection<Note>.contentAddressed("notes", domain: Self.place, owner: "Tests", description: "Notes")
            .moved(from: list) { $0 }
        #expect(try await machine.launch().count(in: notes) == 1)
    }

    @Test func `if a merge closure returns nil for a conflict with a legacy list, the record is removed`() async throws {
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

    /// A value with references in an optional, a dictionary, an enum and a nested array.
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

    @Test(arguments: Place.allCases)
    func `references in optionals, dictionaries, enums and arrays are found and their records stored, with every serializer and store`(
        place: Place
    ) async throws {
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

    @Test(arguments: Place.allCases)
    func `the id of a record is stored byte by byte, or refused with invalidName`(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let notes = notes("notes", domain)
            // A property list cannot distinguish the composed and the decomposed form of an accented letter.
            // It refuses the decomposed form as an invalid name.
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
            for try await stored in router.storedRecords(in: notes) {
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

    @Test(arguments: Place.allCases) func `a record that is removed during a migration stays removed`(place: Place) async throws {
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
                    group.addTask { for try await _ in other.records(in: notes) {} }
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

    @Test(.timeLimit(.minutes(5)))
    func `two routers can concurrently move a list of parents and the list of their children into collections`() async throws {
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

    @Test func `a legacy value that contains two different states of the same record is quarantined`() async throws {
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

    @Test func `a collection cannot be its own legacy location`() async throws {
        try await machine.launch().set(Note(id: "a", text: "one"), in: notes(typeTag: "Old"))
        let circular = notes(typeTag: "Note").moved(from: notes(typeTag: "Old")) { Note(id: $0.id, text: "changed") }
        await #expect { try await machine.launch().migrateAll(from: notes(typeTag: "Old"), to: circular) } throws: {
            StorageError.unsupported ~= $0
        }
        await #expect(throws: StorageError.self) { try await machine.launch().value("a", in: circular) }
        #expect(try await machine.launch().migrateAll(from: notes(), to: notes()).records == 0)
        #expect(try await machine.launch().value("a", in: notes(typeTag: "Old"))?.text == "one")
    }

    @Test func `a cancelled change is applied completely or not at all`() async throws {
        try await Child.shelf.withValue(Self.children("children", Self.older)) {
            let router = machine.launch()
            let parents = StorageCollection<Parent>("parents", domain: Self.place, owner: "Tests", description: "Parents")
            var stored: Set<String> = []
            for number in 0..<200 {
                let task = Task {
                    try await router.set(
                        Parent(id: "\(number)", children: [StorageReference(Child(id: "\(number)", text: "c"))]), in: parents)
                }
                for _ in 0..<(number % 20) { await Task.yield() }
                task.cancel()
                if case .success = await task.result { stored.insert("\(number)") }
            }
            var found: Set<String> = []
            for try await parent in router.records(in: parents) {
                #expect(try await router.resolve(parent.children.first) != nil)
                found.insert(parent.id)
            }
            #expect(!stored.isEmpty && found.isSuperset(of: stored))
        }
    }
}
