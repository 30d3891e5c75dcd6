import Foundation
import LocalData
import TestSupport
import Testing

/// Forgetting a domain, and what the quarantine and backups have of the legacy locations of its keys.
struct ForgettingQuarantineTests {
    private static let legacy = StorageDomain.userDefaults(suite: "old")
    private static let modern = StorageDomain.userDefaults(suite: "new")
    private static let kept = StorageDomain.userDefaults(suite: "kept")
    private static let secret = "the-secret-of-kari"

    private static func key(_ name: String, _ domain: StorageDomain) -> StorageKey<String> { textKey(name, domain) }

    /// The texts of the entries in the quarantine.
    private func quarantined(_ storage: StorageRouter) async throws -> [String] {
        var texts: [String] = []
        for value in try await storage.quarantine.values() {
            texts.append(String(decoding: try await storage.quarantine.data(of: value), as: UTF8.self))
        }
        return texts.sorted()
    }

    @Test func `a value of a legacy location that lost a conflict is purged with the key's domain, and that of another key stays`()
        async throws
    {
        let stage = try Stage()
        let storage = stage.launch()
        try await storage.set("mine", for: Self.key("token", Self.modern))
        try await storage.set(Self.secret, for: Self.key("oldToken", Self.legacy))
        try await storage.set("mine", for: Self.key("other", Self.kept))
        try await storage.set("theirs", for: Self.key("oldOther", Self.legacy))
        let catalog = TestCatalog(
            .key(
                Self.key("token", Self.modern).moved(from: Self.key("middle", Self.legacy).moved(from: Self.key("oldToken", Self.legacy)))),
            .key(Self.key("other", Self.kept).moved(from: Self.key("oldOther", Self.legacy))))
        try await storage.registerCatalog(catalog, migrateImmediately: true)
        try #require(try await quarantined(storage) == [Self.secret, "theirs"])
        try await storage.forget(Self.modern)
        #expect(try await quarantined(storage) == ["theirs"])
        #expect(try stage.traces(of: Self.secret) == [])
    }

    @Test func `a record of a legacy collection that lost a conflict is purged with the collection's domain`() async throws {
        let stage = try Stage()
        let storage = stage.launch()
        let older = Note.collection("older", Self.legacy)
        let notes = Note.collection("notes", Self.modern).moved(from: older)
        let others = Note.collection("others", Self.kept).moved(from: Note.collection("oldOthers", Self.legacy))
        for (collection, text) in [(Note.collection("notes", Self.modern), "mine"), (Note.collection("others", Self.kept), "mine")] {
            try await storage.set(Note(id: "a", text: text), in: collection)
        }
        try await storage.set(Note(id: "a", text: Self.secret), in: older)
        try await storage.set(Note(id: "a", text: "theirs"), in: Note.collection("oldOthers", Self.legacy))
        try await storage.registerCatalog(TestCatalog(.collection(notes), .collection(others)), migrateImmediately: true)
        try #require(try await quarantined(storage).count == 2)
        try await storage.forget(Self.modern)
        let left = try await quarantined(storage)
        #expect(left.count == 1 && left[0].contains("theirs"), "\(left)")
        #expect(try stage.traces(of: Self.secret) == [])
    }

    @Test func `a list that lost a conflict with a collection is purged with the collection's domain`() async throws {
        let stage = try Stage()
        let storage = stage.launch()
        let list = testKey("list", Self.legacy, of: [Note].self)
        let notes = Note.collection("notes", Self.modern).moved(from: list) { $0 }
        try await storage.set(Note(id: "a", text: "mine"), in: Note.collection("notes", Self.modern))
        try await storage.set([Note(id: "a", text: Self.secret)], for: list)
        try await storage.registerCatalog(TestCatalog(.collection(notes)), migrateImmediately: true)
        try #require(try await quarantined(storage).count == 1)
        try await storage.forget(Self.modern)
        #expect(try await quarantined(storage).isEmpty)
        #expect(try stage.traces(of: Self.secret) == [])
    }

    @Test func `the backup that an earlier release kept beside a legacy location is removed with the key's domain`() async throws {
        let stage = try Stage()
        let old = Self.key("oldToken", Self.legacy).evolving(Evolution.from(Int.self).to { "\($0)" }.keepingBackup())
        let before = stage.launch()
        try await before.set(4_242_424_242, for: testKey("oldToken", Self.legacy, of: Int.self))
        #expect(try await before.get(old) == "4242424242")
        try #require(try stage.traces(of: "4242424242") != [])
        let storage = stage.launch()
        try await storage.registerCatalog(TestCatalog(.key(Self.key("token", Self.modern).moved(from: old))), migrateImmediately: true)
        try await storage.forget(Self.modern)
        #expect(try stage.traces(of: "4242424242") == [])
    }

    @Test func `the quarantined value of a service stays when a service whose name is its beginning is forgotten`() async throws {
        let storage = StorageRouter(configuration: .inMemory())
        for service in ["a", "a/b"] {
            let (new, old) = (Self.key("new", .keychain(service: service)), Self.key("old.\(service.count)", Self.legacy))
            try await storage.set("mine", for: new)
            try await storage.set("theirs", for: old)
            let key = new.moved(from: old).resolvingConflicts(.sourceWins)
            _ = await storage.sweep(TestCatalog([.key(key)], id: service))
        }
        let places = try await storage.quarantine.values().filter { $0.key == "new" }.map(\.place)
        try #require(places.sorted() == ["keychain/a//new", "keychain/a/b//new"])
        try await storage.forget(.keychain(service: "a"))
        #expect(try await storage.quarantine.values().filter { $0.key == "new" }.map(\.place) == ["keychain/a/b//new"])
    }
}
