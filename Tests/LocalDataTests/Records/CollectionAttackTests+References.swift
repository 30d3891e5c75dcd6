import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// References between records, and lists whose records have references.
///
/// A reference contains the id of a record. A call that stores a new reference also stores the record.
extension CollectionAttackTests {
    // MARK: References

    @Test func `records whose ids look alike, or whose id or collection name contains a slash, stay separate`() async throws {
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

    @Test func `a legacy list of records whose ids look alike becomes separate records of a collection`() async throws {
        let list = key("list", [Note].self, Self.older)
        try await machine.launch().set([Note(id: "caf\u{E9}", text: "one"), Note(id: "cafe\u{301}", text: "two")], for: list)
        #expect(try await machine.launch().count(in: notes().moved(from: list) { $0 }) == 2)
    }

    @Test func `a record with a circle of references through two stores is stored in the state that is passed to the call`() async throws {
        let router = machine.launch()
        let eve = Woman(id: "Eve", text: "new", husband: StorageReference(Man(id: "Adam", text: "as Eve knew him")))
        try await router.set(Man(id: "Adam", text: "old"), in: Man.collection)
        try await router.update("Adam", in: Man.collection) { adam in
            adam?.text = "new"
            adam?.wife = StorageReference(eve)
        }
        #expect(try await router.get("Adam", in: Man.collection).text == "new")
        #expect(try await router.resolve(try await router.get("Adam", in: Man.collection).wife)?.text == "new")
        // If the store of the referenced record is unavailable, nothing is changed.
        machine.makeUnavailable(Self.older)
        await #expect(throws: StorageError.self) {
            try await router.set(Man(id: "Adam", text: "newer", wife: StorageReference(eve)), in: Man.collection)
        }
        #expect(try await router.get("Adam", in: Man.collection).text == "new")
    }

    @Test func `a legacy parent that contains a child is deleted only after the child is stored as a separate record`() async throws {
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
                // A new program stores a parent that refers to child b, which is not stored yet.
                // An old program then writes the parent with child b inside.
                try await machine.launch().set(Parent(id: "p", children: [StorageReference(id: "b")]), in: moved)
                try await write("held by the older copy", "b")
                let report = try await machine.launch().registerCatalog(TestCatalog(.collection(moved)), migrateImmediately: true)
                #expect(report.isComplete)
                #expect(try await machine.launch().value("b", in: Child.collection)?.text == "held by the older copy", "\(way)")
                // If the child inside differs from the stored child, the legacy parent is quarantined.
                try await write("another state", "b")
                _ = try await machine.launch().registerCatalog(TestCatalog(.collection(moved)), migrateImmediately: true)
                #expect(try await machine.launch().audit().quarantine.count == 1, "\(way)")
            }
        }
    }

    @Test func `a migration throws if its result refers to the legacy record that the migration would delete`() async throws {
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

    @Test(.timeLimit(.minutes(5)))
    func `a list of 1,500 records with references is moved into a collection within the time limit`() async throws {
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
}
