import BackendContract
import Foundation
import LocalData
import LocalDataBackup
import LocalDataTesting
import TestSupport
import Testing

/// The texts of errors: what happened, where, and what to do next. They never contain a value.
///
/// A slot is the location of one value in a store. A catalog is a list of keys that a program registers.
@Suite(.inTurn) struct ErrorTextTests {
    private struct Note: Codable {
        struct Author: Codable { var name: String }
        var authors: [Author]
        var ratio: Double?
    }

    private let secret = "a very secret word"

    // MARK: The error itself

    @Test func `the localized description of an error is its message`() {
        let shown: [(any Error, String)] = [
            (StorageError(.locked, key: "token", "The keyring is locked."), "token: The keyring is locked."),
            (StorageError(.unavailable, key: "", "There is no keyring."), "There is no keyring."),
            (
                StorageError(.timedOut, key: "token", "The disk hangs.", outcome: .unknown),
                "token: The disk hangs. The outcome is unknown: read the value before you retry."
            ),
            (BackendError(.noSpace, "The disk is full."), "The disk is full."),
        ]
        for (error, sentence) in shown { #expect(error.localizedDescription == sentence) }
    }

    @Test func `every public error has a localized description from this library`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        let key = testKey("note", .userDefaults, of: Note.self)
        try await router.set(1, for: testKey("note", .userDefaults, of: Int.self))
        let undecodable = await expectRefusal(.undecodable) { _ = try await router.get(key) }
        var document = StoredDocument(.object(["a": .string("b")]))
        let unconverted = #expect(throws: DocumentError.self) { try document.convert("a", to: .integer) }
        let folder = try TemporaryDirectory()
        let unrecorded = await #expect(throws: FixtureMismatch.self) { try await GoldenStore.replay(TestCatalog(), in: folder.path) }
        let errors: [(any Error)?] = [undecodable, undecodable?.underlying, unconverted, unrecorded]
        for error in errors {
            let error = try #require(error)
            #expect(error.localizedDescription.split(separator: " ").count > 3)
            #expect(!error.localizedDescription.contains("could not be completed"), "\(error.localizedDescription)")
        }
    }

    @Test func `in a catch clause, a comparison and a switch, an error code can be written by its short name`() async {
        let router = StorageRouter(configuration: .inMemory())
        let key = textKey("absent", .userDefaults)
        do {
            _ = try await router.get(key)
            Issue.record("An absent value was read.")
        } catch StorageError.locked {
            Issue.record("An absent value is not a locked one.")
        } catch let error as StorageError {
            #expect(error.code == .notFound)
            #expect(error.code != .locked)
            switch error.code {
            case .notFound: break
            default: Issue.record("\(error)")
            }
        } catch { Issue.record("\(error)") }
    }

    // MARK: Coding

    @Test func `reading a value as another type throws an error with the path in the value, the expected type and a remedy`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        let document = StoredDocument(.object(["authors": .array([.object(["name": .string(secret)]), .object(["name": .integer(7)])])]))
        for domain in [StorageDomain.userDefaults, .encryptedSQLite(database: "main")] {
            try await router.set(document, for: testKey("note", domain, of: StoredDocument.self))
            await expectRefusal(
                .undecodable, of: "note", saying: "Note", ".authors[1].name", "not of type String", "evolving(_:)", "moved(from:",
                hiding: [secret]
            ) { _ = try await router.get(testKey("note", domain, of: Note.self)) }
        }
    }

    @Test func `reading a value that another program wrote with another type throws an error with the expected type and a remedy`() async {
        let machine = TestMachine()
        machine.seedUserDefaults(["count": .string(secret), "note": .dictionary(["authors": .array([])]), "list": .integer(1)])
        let router = machine.launch()
        await expectRefusal(
            .undecodable, saying: "Int: the value is not of type Int", "Another program", "moved(from:", hiding: [secret, " a Int"]
        ) {
            _ = try await router.get(testKey("count", .userDefaults, of: Int.self))
        }
        await expectRefusal(.undecodable, saying: "is not a list") {
            _ = try await router.get(testKey("list", .userDefaults, of: [Int].self))
        }
    }

    @Test(arguments: Place.allCases)
    func `setting a value that cannot be encoded throws an error with the path in the value and the remedy`(place: Place) async throws {
        try await place.withRouter { router, domain in
            let key = testKey("note", domain, of: Note.self)
            await expectRefusal(.encodingFailed, of: "note", saying: "json", ".ratio", "finite", ".plist", hiding: [secret]) {
                try await router.set(Note(authors: [.init(name: secret)], ratio: .infinity), for: key)
            }
        }
    }

    // MARK: Keys and sizes

    @Test func `registering a second key for the same slot throws an error that names the owners and catalogs of both keys`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        func key(_ owner: String, _ suite: String? = nil) -> AnyStorageKey {
            .key(StorageKey<String>(name: "token", domain: .userDefaults(suite: suite), owner: owner, description: "A token"))
        }
        await expectRefusal(.duplicateKey, of: "token", saying: "Mail", "Calendar", "userDefaults(standard)", "registered") {
            try await router.registerCatalog(TestCatalog([key("Mail"), key("Calendar", "standard")]))
        }
        try await router.registerCatalog(TestCatalog([key("Mail")], id: "MailKeys"))
        await expectRefusal(.duplicateKey, of: "token", saying: "Mail", "Calendar", "MailKeys", "CalendarKeys") {
            try await router.registerCatalog(TestCatalog([key("Calendar")], id: "CalendarKeys"))
        }
    }

    @Test(arguments: Place.allCases.filter { $0 != .memory })
    func `a value that is too large is refused with the limit and the remedy`(place: Place) async throws {
        try await place.withRouter { router, domain in
            let key = testKey("film", domain, of: Data.self)
            await expectRefusal(.tooLarge, of: "film", saying: "16777216", "file", "Nothing was changed") {
                try await router.set(Data(count: 17 << 20), for: key)
            }
        }
    }

    // MARK: Damage

    @Test func `the error of a damaged property list names the call that sets the list aside, and the call works`() async throws {
        let stage = try Stage()
        try stage.writePropertyList(["token": "abc"])
        try Data("<plist><dict><key>".utf8).write(to: URL(fileURLWithPath: "\(stage.preferences)/standard.plist"))
        let (router, key) = (stage.launch(), textKey("token", .userDefaults))
        for work in [{ _ = try await router.get(key) }, { try await router.set("x", for: key) }, { try await router.remove(key) }]
            as [() async throws -> Void]
        {
            await expectRefusal(.corrupted, saying: "setAsideDamagedStore(of:)", "localdata damaged set-aside", "backup") {
                try await work()
            }
        }
        let copy = try await router.setAsideDamagedStore(of: .userDefaults)
        #expect(FileManager.default.fileExists(atPath: copy))
        try await router.set("def", for: key)
        #expect(try await router.get(key) == "def")
        try await router.shutdown()
    }
}
