import BackendContract
import BackendRuntime
import Foundation
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// Reads of values that need a migration while stores refuse changes. The value is in a legacy location, where an
/// earlier version stored it, or it has an older type.
///
/// Such a read returns the migrated value without storing it.
@Suite(.inTurn) struct ReadsWithoutWritesTests {
    struct Note: Codable, Identifiable, Equatable {
        var id: String
        var text: String
    }

    /// The reason why a store refuses changes but allows reads.
    enum Refusal: CaseIterable, Sendable {
        case isFull, isReadOnly

        var error: BackendError {
            switch self {
            case .isFull: BackendError(.noSpace, "There is no room left.")
            case .isReadOnly: BackendError(.accessDenied, "The folder is read-only.")
            }
        }
    }

    static let older = StorageDomain.userDefaults(suite: "older")
    static let place = StorageDomain.encryptedSQLite(database: "main")

    private let key = textKey("token", place).moved(from: textKey("old-token", older))
    private let shaped = testKey("shaped", place, of: String.self).evolving(Evolution.from(Int.self).to { "number \($0)" })

    private var notes: StorageCollection<Note> {
        StorageCollection<Note>("notes", domain: Self.place, owner: "Tests", description: "Notes")
            .moved(from: StorageCollection<Note>("old notes", domain: Self.older, owner: "Tests", description: "Notes"))
    }

    private var parts: StorageCollection<Note> {
        StorageCollection<Note>("parts", domain: Self.place, owner: "Tests", description: "Parts")
            .moved(from: testKey("list", Self.older, of: [Note].self)) { $0 }
    }

    /// Creates a machine with values to migrate, and a router whose stores refuse every change.
    private func stage(_ refusal: BackendError) async throws -> (TestMachine, StorageRouter) {
        let machine = TestMachine()
        let before = machine.launch()
        try await before.set("secret", for: textKey("old-token", Self.older))
        try await before.set(7, for: testKey("shaped", Self.place, of: Int.self))
        for id in ["a", "b"] {
            try await before.set(
                Note(id: id, text: id), in: StorageCollection<Note>("old notes", domain: Self.older, owner: "Tests", description: "Notes"))
        }
        try await before.set([Note(id: "x", text: "x")], for: testKey("list", Self.older, of: [Note].self))
        machine.cut()
        let router = machine.launch()
        for domain in [Self.older, Self.place] {
            _ = try await router.exists(textKey("other", domain))
            for backend in machine.backends(of: domain) { backend.inject(.fail(refusal), of: .apply, repeats: true) }
        }
        return (machine, router)
    }

    @Test(arguments: Refusal.allCases) func `reads return legacy values while stores refuse changes, and later reads move the values`(
        refusal: Refusal
    ) async throws {
        let (machine, router) = try await stage(refusal.error)
        #expect(try await router.get(key) == "secret")
        #expect(try await router.value(for: key) == "secret")
        #expect(try await router.get(shaped) == "number 7")
        #expect(try await router.value(for: notes.key("a")) == Note(id: "a", text: "a"))
        #expect(try await router.value(for: parts.key("x")) == Note(id: "x", text: "x"))
        #expect(try await router.storedValue(for: parts.key("x"))?.value == Note(id: "x", text: "x"))
        #expect(try await router.exists(parts.key("x")))
        #expect(try await !router.exists(parts.key("y")))
        #expect(try await router.count(in: notes) == 2)
        var found: [String] = []
        for try await note in router.records(in: notes) { found.append(note.id) }
        #expect(found.sorted() == ["a", "b"])
        for try await value in router.values(for: key) {
            #expect(value == "secret")
            break
        }
        for domain in [Self.older, Self.place] { for backend in machine.backends(of: domain) { backend.removeFaults() } }
        #expect(try await router.exists(textKey("old-token", Self.older)), "a read that could not write has moved it")
        #expect(try await router.get(key) == "secret")
        #expect(try await !router.exists(textKey("old-token", Self.older)))
        #expect(try await router.exists(key))
        #expect(try await router.count(in: notes) == 2)
        #expect(try await router.count(in: StorageCollection<Note>("old notes", domain: Self.older, owner: "Tests", description: "")) == 0)
    }

    @Test(arguments: Refusal.allCases)
    func `while stores refuse changes, the closure of an update gets the legacy value, and the update throws without a change`(
        refusal: Refusal
    ) async throws {
        struct Seen: Error { let value: String? }
        let (machine, router) = try await stage(refusal.error)
        let seen = await #expect(throws: Seen.self) { try await router.update(key) { throw Seen(value: $0) } }
        #expect(seen?.value == "secret")
        await expectRefusal(StorageError.noSpace, StorageError.accessDenied, of: "token") {
            try await router.update(key) { $0 = "other" }
        }
        for backend in machine.backends(of: Self.place) { backend.removeFaults() }
        #expect(try await router.get(key) == "secret")
    }

    @Test(arguments: Refusal.allCases)
    func `an update or removal that throws because the store refuses changes leaves the record in its legacy location`(
        refusal: Refusal
    ) async throws {
        let (machine, router) = try await stage(refusal.error)
        for (key, text) in [(notes.key("a"), "a"), (parts.key("x"), "x")] {
            await expectRefusal(StorageError.noSpace, StorageError.accessDenied) {
                try await router.update(key) { note in
                    #expect(note?.text == text)
                    note = nil
                }
            }
            await expectRefusal(StorageError.noSpace, StorageError.accessDenied) { try await router.remove(key) }
        }
        for domain in [Self.older, Self.place] { for backend in machine.backends(of: domain) { backend.removeFaults() } }
        #expect(try await router.get(notes.key("a")).text == "a")
        #expect(try await router.get(parts.key("x")).text == "x")
    }

    struct Author: StoredEntity, Equatable {
        static var collection: StorageCollection<Self> {
            StorageCollection("authors", domain: ReadsWithoutWritesTests.place, owner: "Tests", description: "Authors")
        }
        var id: String
        var name: String
    }

    struct OldBook: Codable, Sendable { var author: String }
    struct Book: Codable, Sendable { var author: StorageReference<Author> }

    @Test(arguments: Refusal.allCases)
    func `a read throws if the migrated value refers to a new record that cannot be stored`(refusal: Refusal) async throws {
        let machine = TestMachine()
        let chain = Evolution.from(OldBook.self).to { Book(author: StorageReference(Author(id: "a", name: $0.author))) }
        let key = testKey("book", Self.place, of: Book.self).evolving(chain)
        let books = StorageCollection<IdentifiedBook>("books", domain: Self.place, owner: "Tests", description: "Books")
            .moved(from: StorageCollection<Note>("old notes", domain: Self.older, owner: "Tests", description: "Notes")) {
                IdentifiedBook(id: $0.id, author: StorageReference(Author(id: $0.id, name: $0.text)))
            }
        try await machine.launch().set(OldBook(author: "Ada"), for: testKey("book", Self.place, of: OldBook.self))
        try await machine.launch().set(
            Note(id: "b", text: "Bo"), in: StorageCollection<Note>("old notes", domain: Self.older, owner: "Tests", description: "Notes"))
        let router = machine.launch()
        _ = try await router.exists(textKey("other", Self.place))
        for backend in machine.backends(of: Self.place) { backend.inject(.fail(refusal.error), of: .apply, repeats: true) }
        await expectRefusal(StorageError.noSpace, StorageError.accessDenied) { _ = try await router.get(key) }
        await expectRefusal(StorageError.noSpace, StorageError.accessDenied) { _ = try await router.get("b", in: books) }
        await expectRefusal(StorageError.noSpace, StorageError.accessDenied) {
            for try await _ in router.records(in: books) {}
        }
        for backend in machine.backends(of: Self.place) { backend.removeFaults() }
        #expect(try await router.resolve(router.get(key).author) == Author(id: "a", name: "Ada"))
        #expect(try await router.resolve(router.get("b", in: books).author) == Author(id: "b", name: "Bo"))
    }

    struct IdentifiedBook: Codable, Sendable, Identifiable {
        var id: String
        var author: StorageReference<Author>
    }

    @Test
    func `while stores refuse changes, a read still throws if the legacy location is locked or the destination protects less`() async throws
    {
        let (machine, router) = try await stage(Refusal.isFull.error)
        machine.lock(Self.older)
        await expectRefusal(StorageError.locked) { _ = try await router.get(key) }
        machine.unlock(Self.older)
        let weaker = textKey("weak", Self.older).moved(from: textKey("strong", .keychain(service: "ring")))
        try await machine.launch().set("strong", for: textKey("strong", .keychain(service: "ring")))
        await expectRefusal(StorageError.weakerProtection) { _ = try await router.get(weaker) }
    }

    @Test
    func
        `if the write of a migrated value fails with an unknown outcome, the read returns the value after noSpace, and throws after timedOut`()
        async throws
    {
        let (machine, router) = try await stage(BackendError(.noSpace, "There was no room left.", outcome: .unknown))
        #expect(try await router.get(key) == "secret")
        for backend in machine.backends(of: Self.place) {
            backend.removeFaults()
            backend.inject(.fail(BackendError(.timedOut, "It took too long.", outcome: .unknown)), of: .apply, repeats: true)
        }
        await expectRefusal(StorageError.timedOut) { _ = try await router.get(key) }
    }

    @Test func `a read throws if a custom migration cannot write`() async throws {
        struct Own: StorageMigration {
            let destinationKey: StorageKey<String>
            func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool { true }
            func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
                try await context.move(from: textKey("old-token", ReadsWithoutWritesTests.older), to: destinationKey) { $0 }
            }
        }
        let (_, router) = try await stage(Refusal.isFull.error)
        let key = StorageKey<String>(
            name: "own", domain: Self.place, owner: "Tests", description: "A value",
            migration: { AnyStorageMigration(Own(destinationKey: $0)) })
        await expectRefusal(StorageError.noSpace) { _ = try await router.get(key) }
    }

    @Test(arguments: [ENOSPC, EROFS])
    func `reads of real property lists return values that need a migration, also on a full or read-only disk`(
        error: Int32
    ) async throws {
        let stage = try Stage()
        let files = HookedFiles()
        try await stage.launch().set("secret", for: textKey("old-token", Self.older))
        try await stage.launch().set(7, for: testKey("count", .userDefaults, of: Int.self))
        let router = stage.launch { $0.runtime.files = files }
        for operation in ["create", "createDirectory", "rename", "remove", "link"] { files.fail(operation, with: error) }
        let key = textKey("token", .userDefaults).moved(from: textKey("old-token", Self.older))
        #expect(try await router.get(key) == "secret")
        let text = textKey("count", .userDefaults).evolving(Evolution.from(Int.self).to { "\($0)" })
        #expect(try await router.get(text) == "7")
        #expect(try stage.propertyList()["token"] == nil)
        for operation in ["create", "createDirectory", "rename", "remove", "link"] { files.fail(operation, with: nil) }
        #expect(try await router.get(key) == "secret")
        #expect(try stage.propertyList()["token"] as? String == "secret")
    }
}
