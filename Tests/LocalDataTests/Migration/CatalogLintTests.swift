import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// The checks of a catalog, which is the list of a program's keys. Registering a catalog reports all of its problems at
/// once, and reads no store.
///
/// Each problem has the name of a key, a location and a remedy. The source of a key is the key that a migration takes
/// the value from.
@Suite(.inTurn) struct CatalogLintTests {
    private let list = StorageDomain.userDefaults(suite: "list")
    private let ring = StorageDomain.keychain(service: "ring")

    private func key(_ name: String, _ domain: StorageDomain, owner: String = "Tests") -> StorageKey<String> {
        StorageKey(name: name, domain: domain, owner: owner, description: "A value")
    }

    /// Registers a catalog, expects an error with the given code, and returns the problems in the error.
    private func refusal(_ keys: [AnyStorageKey], retired: [AnyStorageKey] = [], _ code: StorageError.Code) async throws -> [CatalogProblem]
    {
        let machine = TestMachine()
        let router = machine.launch()
        var catalog = TestCatalog(keys)
        catalog.retiredKeys = retired
        let error = await expectRefusal(code) { try await router.registerCatalog(catalog) }
        #expect(
            machine.backends(of: list).allSatisfy(\.log.isEmpty) && machine.backends(of: ring).allSatisfy(\.log.isEmpty),
            "something was read")
        #expect(await router.planSweep().rows.isEmpty, "something was registered")
        let problems = error?.catalogProblems ?? []
        for problem in problems {
            #expect(!problem.key.isEmpty && !problem.place.isEmpty && !problem.message.isEmpty && !problem.remedy.isEmpty)
            #expect(error?.message.contains(problem.message) == true, "the error does not tell \(problem)")
        }
        return problems
    }

    @Test
    func `a catalog with two keys of the same name in one store is refused, and the problem contains the name and the owner of each key`()
        async throws
    {
        let twice: [AnyStorageKey] = [.key(key("token", list, owner: "Login")), .key(key("token", list, owner: "Sync"))]
        let problem = try #require(try await refusal(twice, StorageError.duplicateKey).first)
        for text in ["token", "Login", "Sync"] { #expect(problem.message.contains(text)) }
    }

    @Test
    func `a migration that moves the value of a key that is still in use is refused, and the remedy is to copy the value`() async throws {
        let email = key("email", list)
        let notify = key("notify.email", list).moved(from: email)
        let problem = try #require(try await refusal([.key(email), .key(notify)], StorageError.unsupported).first)
        #expect(problem.kind == .liveSource && problem.key == "notify.email" && problem.remedy.contains("copied(from:)"))
        // The migration may also reach the key in use through another key: `further` moves from `between`, and
        // `between` from `email`.
        let further = key("further", list).moved(from: key("between", list).moved(from: email))
        #expect(try await refusal([.key(further), .key(email)], StorageError.unsupported).map(\.kind) == [.liveSource])
        // The key in use and the key with the migration can also be in different catalogs, registered in either order.
        let router = TestMachine().launch()
        try await router.registerCatalog(TestCatalog([.key(email)], id: "first"))
        await expectRefusal(StorageError.unsupported) { try await router.registerCatalog(TestCatalog([.key(notify)], id: "second")) }
        let other = TestMachine().launch()
        try await other.registerCatalog(TestCatalog([.key(notify)], id: "first"))
        await expectRefusal(StorageError.unsupported) { try await other.registerCatalog(TestCatalog([.key(email)], id: "second")) }
    }

    @Test func `two keys that are each the source of the other are refused`() async throws {
        let there = key("there", list).moved(from: key("here", list))
        let here = key("here", list).moved(from: there)
        #expect(try await refusal([.key(here)], StorageError.migrationFailed).map(\.kind) == [.circle])
        // A key that converts its value under the same name has the same name as its source. This is not reported as a
        // circle.
        let shaped = key("shaped", list).moved(from: testKey("shaped", list, of: Int.self)) { "\($0)" }
        try await TestMachine().launch().registerCatalog(TestCatalog([.key(shaped)]))
    }

    @Test func `all problems of a catalog are reported in one error`() async throws {
        let keys: [AnyStorageKey] = [
            .key(key("token", list)), .key(key("token", list)), .key(key("a\nb", list)), .key(key("mute", list, owner: " ")),
            .key(key("next", list).moved(from: key("mute", list))),
        ]
        let problems = try await refusal(
            keys, retired: [.key(key("token", list))], StorageError.invalidName)
        #expect(Set(problems.map(\.kind)) == [.duplicateKey, .unusablePlace, .incompleteKey, .liveSource, .retiredKeyInUse])
    }

    @Test
    func `a move to weaker protection and a source that never has a value are reported, and the catalog is registered`() async throws {
        let router = TestMachine().launch()
        let weak = key("weak", list).moved(from: key("strong", ring))
        let forgotten = key("forgotten", list).moved(from: key("old", .memory("scratch")))
        let twice = key("twice", list).moved(from: key("old", list)).moved(from: key("old", list))
        let report = try await router.registerCatalog(TestCatalog([.key(weak), .key(forgotten), .key(twice)]))
        #expect(report.problems.map(\.kind) == [.weakerDestination, .weakerDestination, .unreachableSource, .unreachableSource])
        #expect(report.problems.map(\.key) == ["weak", "forgotten", "forgotten", "twice"])
        #expect(try router.problems(of: TestCatalog([.key(weak)])).map(\.kind) == [.weakerDestination])
    }

    @Test func `a collection with weaker protection than a legacy location of its records is reported, unless that is allowed`()
        async throws
    {
        let router = TestMachine().launch()
        let strong = Note.collection("strong", ring)
        let weak = Note.collection("weak", list).moved(from: strong)
        let split = Note.collection("split", list).moved(from: testKey("all", ring, of: [Note].self)) { $0 }
        let kept = Note.collection("kept", list).moved(from: Note.collection("older", ring), keeping: .untilReleased)
        let report = try await router.registerCatalog(TestCatalog([.collection(weak), .collection(split), .collection(kept)]))
        #expect(report.problems.map(\.kind) == [.weakerDestination, .weakerDestination, .weakerDestination])
        #expect(report.problems.map(\.key) == ["weak", "split", "kept"])
        // The lint reports what a move refuses.
        try await router.set(Note(id: "a", text: "abc"), in: strong)
        await expectRefusal(StorageError.weakerProtection) { _ = try await router.count(in: weak) }
        let allowed = Note.collection("weak", list).moved(from: strong, options: MigrationOptions(allowsWeakerProtection: true))
        #expect(try router.problems(of: TestCatalog([.collection(allowed)], id: "other")).filter { $0.kind == .weakerDestination } == [])
        #expect(try router.problems(of: TestCatalog([.collection(Note.collection("equal", ring).moved(from: strong))], id: "other")) == [])
    }

    @Test func `a catalog with a key name that the store cannot represent is refused`() async throws {
        let stage = try Stage()
        let hostile = key("e\u{301}", .userDefaults)
        await expectRefusal(StorageError.invalidName) { try await stage.launch().registerCatalog(TestCatalog([.key(hostile)])) }
        await expectRefusal(StorageError.invalidName) {
            try await stage.launch().registerCatalog(
                TestCatalog([.key(key("new", .userDefaults).moved(from: key("LocalData.metadata", .userDefaults)))]))
        }
    }
}
