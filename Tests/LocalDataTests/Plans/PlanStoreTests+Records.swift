import BackendContract
import Foundation
import LocalDataTesting
import LocalDataVocabulary
import TestSupport
import Testing

@testable import LocalData
@testable import LocalDataPlans

/// How plans treat the records of the entities that they change. The tests have older programs, unknown attributes,
/// domains, lifetimes, and sealed (encrypted) values. An entity is a collection or key in a plan.
extension PlanStoreTests {
    // MARK: Older programs

    static let versions = [
        ModelMigration("V1") {
            AddEntity("a") { AddAttribute("id", attributeType: .string) }
        },
        ModelMigration("V2") { CopyEntity("a", to: "b") },
        ModelMigration("V3") {
            RemoveEntity("b")
            RenameEntity("a", to: "b")
            AddEntity("a") { AddAttribute("id", attributeType: .string) }
        },
    ]

    @Test(arguments: [0, 1, 2, 3])
    func `after a newer program migrated the store, an older program is refused, and the newer program repeats no step`(
        way: Int
    ) async throws {
        let domain = StorageDomain.encryptedSQLite(database: "one")
        let machine = TestMachine()
        try await machine.launch().set(record("1"), in: documents("a", domain))
        func catalog(_ version: String) -> TestCatalog {
            TestCatalog(
                [.collection(documents("a", domain)), .collection(documents("b", domain))],
                CatalogSchema(version, entities: ["a", "b"].map { EntityDescription($0, texts("id")) }))
        }
        let chain = MigrationChain(Self.versions)
        try await machine.launch().registerCatalog(catalog("V3"), migrationPolicy: .incremental(chain))
        try await machine.launch().set(record("2"), in: documents("a", domain))
        let before = try await machine.launch().slots(domain, "a", "b")
        let older = MigrationChain(Array(Self.versions.prefix(2)))
        let policies: [MigrationPolicy] = [
            .lightweight, .incremental(older), .incremental(older, lightWeightBackup: true),
            .adHoc(migrations: [AdHocMigration("V1") { CopyEntity("a", to: "b") }], lightWeightBackup: true),
        ]
        await expectRefusal(StorageError.incompatibleSchema) {
            try await machine.launch().registerCatalog(catalog("V2"), migrationPolicy: policies[way])
        }
        #expect(try await machine.launch().slots(domain, "a", "b") == before)
        try await machine.launch().registerCatalog(catalog("V3"), migrationPolicy: .incremental(chain))
        #expect(try await machine.launch().all(documents("a", domain)) == ["2": record("2")])
        #expect(try await machine.launch().all(documents("b", domain)) == ["1": record("1")])
    }

    // MARK: Attributes that the plan does not mention

    @Test func `a renamed attribute never replaces an attribute that the plan does not mention`() async throws {
        let domain = StorageDomain.encryptedSQLite(database: "one")
        let chain = MigrationChain {
            ModelMigration("V1") {
                AddEntity("a") {
                    AddAttribute("id", attributeType: .string)
                    AddAttribute("text", attributeType: .string, optional: true)
                }
            }
            ModelMigration("V2") { UpdateEntity("a") { UpdateAttribute("text", to: "title") } }
        }
        let catalog = TestCatalog([.collection(documents("a", domain, version: 2))])
        let machine = TestMachine()
        try await machine.launch().set(record("1", ["title": "kept"]), in: documents("a", domain))
        try await machine.launch().registerCatalog(catalog, migrationPolicy: .incremental(chain))
        #expect(try await machine.launch().all(documents("a", domain, version: 2)) == ["1": record("1", ["title": "kept"])])
        let other = TestMachine()
        try await other.launch().set(record("1", ["title": "kept", "text": "moved"]), in: documents("a", domain))
        let error = try await #require(throws: StorageError.self, "one of the two is lost") {
            try await other.launch().registerCatalog(catalog, migrationPolicy: .incremental(chain))
        }
        #expect(error.code == StorageError.migrationFailed)
        for word in ["text", "title", "record 1"] { #expect(error.message.contains(word), "\(error)") }
        #expect(try await other.launch().all(documents("a", domain)) == ["1": record("1", ["title": "kept", "text": "moved"])])
    }

    // MARK: Domains

    @Test func `a domain that a plan step gives for an entity also applies to its later steps, and must equal the domain in the catalog`()
        async throws
    {
        let (first, second) = (StorageDomain.encryptedSQLite(database: "one"), StorageDomain.encryptedSQLite(database: "two"))
        let chain = MigrationChain {
            ModelMigration("V1") {
                AddEntity("gone", in: first) { AddAttribute("id", attributeType: .string) }
                AddEntity("a") { AddAttribute("id", attributeType: .string) }
            }
            ModelMigration("V2") { RemoveEntity("gone", as: .collection, keepingBackup: false) }
        }
        let machine = TestMachine()
        try await machine.launch().set(record("1"), in: documents("gone", first))
        try await machine.launch().registerCatalog(TestCatalog([.collection(documents("a", second))]), migrationPolicy: .incremental(chain))
        #expect(try await machine.launch().all(documents("gone", first)).isEmpty)

        let elsewhere = MigrationChain {
            ModelMigration("V1") { AddEntity("a", in: first) { AddAttribute("id", attributeType: .string) } }
            ModelMigration("V2") { UpdateEntity("a") { AddAttribute("n", attributeType: .integer, default: 0) } }
        }
        let other = TestMachine()
        try await other.launch().set(record("1"), in: documents("a", first))
        let before = try await other.launch().slots(first, "a")
        let error = try await #require(throws: StorageError.self, "the domain in the plan is ignored") {
            try await other.launch().registerCatalog(
                TestCatalog([.collection(documents("a", second, version: 2))]), migrationPolicy: .incremental(elsewhere))
        }
        #expect(error.code == StorageError.invalidEvolution)
        for word in ["ModelMigration V1", "AddEntity a", "\(first)", "\(second)"] { #expect(error.message.contains(word), "\(error)") }
        #expect(try await other.launch().slots(first, "a") == before)
    }

    @Test func `a plan that copies an entity to a domain with weaker protection is refused before the first write`() async throws {
        let (sealed, plain) = (StorageDomain.encryptedSQLite(database: "one"), StorageDomain.userDefaults(suite: "one"))
        let chain = MigrationChain {
            ModelMigration("V1") {
                AddEntity("a") { AddAttribute("id", attributeType: .string) }
                AddEntity("gone", in: sealed) { AddAttribute("id", attributeType: .string) }
            }
            ModelMigration("V2") {
                UpdateEntity("a") { AddAttribute("n", attributeType: .integer, default: 0) }
                CopyEntity("a", to: "b")
            }
        }
        for backup in [false, true] {
            let machine = TestMachine()
            try await machine.launch().set(record("1"), in: documents("a", sealed))
            let before = try await machine.launch().slots(sealed, "a")
            let catalog = TestCatalog([
                .collection(documents("a", sealed, version: 2)), .collection(documents("b", plain)), .collection(documents("gone", sealed)),
            ])
            let error = try await #require(throws: StorageError.self) {
                try await machine.launch().registerCatalog(catalog, migrationPolicy: .incremental(chain, lightWeightBackup: backup))
            }
            #expect(error.code == StorageError.weakerProtection || error.code == StorageError.invalidEvolution, "\(error)")
            #expect(error.message.contains("b in"), "\(error)")
            #expect(try await machine.launch().slots(sealed, "a") == before)
        }
    }

    // MARK: Lifetimes and sealed values

    @Test(arguments: Pair.all)
    func `a plan keeps the remaining lifetime of a record, and does not copy an expired record`(pair: Pair) async throws {
        let chain = MigrationChain {
            ModelMigration("V1") { AddEntity("a", in: pair.first) { AddAttribute("id", attributeType: .string) } }
            ModelMigration("V2") {
                CopyEntity("a", to: "b", in: pair.first)
                RenameEntity("a", to: "c", in: pair.first)
                UpdateEntity("b") { AddAttribute("n", attributeType: .integer, default: 0) }
            }
        }
        let clock = TestClock()
        let machine = TestMachine { $0.use(clock) }
        try await machine.launch().set(record("short"), in: documents("a", pair.first).expiring(after: .seconds(60)))
        try await machine.launch().set(record("long"), in: documents("a", pair.first).expiring(after: .seconds(600)))
        clock.advance(by: .seconds(120))
        let catalog = TestCatalog([.collection(documents("b", pair.second, version: 2)), .collection(documents("c", pair.second))])
        try await machine.launch().registerCatalog(catalog, migrationPolicy: .incremental(chain))
        for collection in [documents("b", pair.second, version: 2), documents("c", pair.second)] {
            #expect(try await machine.launch().all(collection).keys.sorted() == ["long"])
            #expect(try await machine.launch().value(for: collection.key("long")) != nil)
        }
        let left = try await machine.launch().slots(pair.first, "a").keys.filter { $0.namespace.name == "collection:a" }
        #expect(left.isEmpty)
        clock.advance(by: .seconds(600))
        for collection in [documents("b", pair.second, version: 2), documents("c", pair.second)] {
            #expect(try await machine.launch().value(for: collection.key("long")) == nil)
        }
    }

    @Test func `a sealed value in a property list stays sealed when a plan changes, renames and copies it`() async throws {
        let stage = try Stage()
        let domain = StorageDomain.userDefaults(suite: "main")
        func key(_ name: String, _ version: Int) -> StorageKey<[String: String]> {
            StorageKey<[String: String]>(name: name, domain: domain, security: .encrypted(), owner: "Plans", description: "A secret")
                .version(version)
        }
        let change = { (configuration: inout StorageConfiguration) in configuration.keySource = .keyFile("sealing.key") }
        let chain = MigrationChain {
            ModelMigration("V1") { AddEntity("old", as: .key) { AddAttribute("text", attributeType: .string) } }
            ModelMigration("V2") {
                CopyEntity("old", to: "copy", as: .key)
                RenameEntity("old", to: "new", as: .key)
                UpdateEntity("new") { UpdateAttribute("text", to: "title") }
                RemoveEntity("gone", as: .key, keepingBackup: true)
            }
        }
        let more = MigrationChain([
            ModelMigration("V1") {
                AddEntity("old", as: .key) { AddAttribute("text", attributeType: .string) }
                AddEntity("gone", as: .key) { AddAttribute("text", attributeType: .string) }
            }, chain.migrations[1],
        ])
        let first = stage.launch(change)
        try await first.set(["text": "s3cr3t-in-a-plan"], for: key("old", 1))
        try await first.set(["text": "s3cr3t-in-a-plan"], for: key("gone", 1))
        try await first.shutdown()
        let router = stage.launch(change)
        try await router.registerCatalog(
            TestCatalog([.key(key("new", 2)), .key(key("copy", 1))]), migrationPolicy: .incremental(more)
        ).sweep.requireComplete()
        #expect(try await router.get(key("new", 2)) == ["title": "s3cr3t-in-a-plan"])
        #expect(try await router.get(key("copy", 1)) == ["text": "s3cr3t-in-a-plan"])
        #expect(try await router.value(for: key("old", 1)) == nil)
        try await router.shutdown()
        #expect(try stage.traces(of: "s3cr3t-in-a-plan") == [])
    }

    @Test func `a plan converts a value that another program wrote in a property list`() async throws {
        let stage = try Stage()
        let domain = StorageDomain.userDefaults(suite: "main")
        try stage.writePropertyList(["user": ["age": "20", "name": "x"]], suite: "main")
        let key = StorageKey<[String: String]>(name: "user", domain: domain, owner: "Plans", description: "The user").version(2)
        let chain = MigrationChain {
            ModelMigration("V1") {
                AddEntity("user", as: .key) {
                    AddAttribute("age", attributeType: .string)
                    AddAttribute("name", attributeType: .string)
                }
            }
            ModelMigration("V2") { UpdateEntity("user") { UpdateAttribute("name", to: "title") } }
        }
        let router = stage.launch()
        try await router.registerCatalog(TestCatalog([.key(key)]), migrationPolicy: .incremental(chain)).sweep.requireComplete()
        #expect(try await router.get(key) == ["age": "20", "title": "x"])
        try await router.shutdown()
    }

    // MARK: Faulty plans

    @Test(arguments: Pair.all) func `a faulty plan is refused before the first write, for every pair of stores`(pair: Pair) async throws {
        let program = Program(pair: pair)
        let faults: [(name: String, change: SchemaPlan.EntityChange)] = [
            ("UpdateEntity strangers", UpdateEntity("strangers", in: pair.first) { RemoveAttribute("text") }.change),
            ("UpdateAttribute old", UpdateEntity("archive") { UpdateAttribute("old", attributeType: .date) }.change),
            ("AddEntity persons", AddEntity("persons").change),
        ]
        let migrations = program.chain.migrations
        var plans: [(String, MigrationPolicy)] = faults.map { fault in
            let last = ModelMigration("V3") { migrations[2].changes + [fault.change] }
            return (fault.name, .incremental(MigrationChain([migrations[0], migrations[1], last])))
        }
        plans.append(("circle", .incremental(MigrationChain(migrations + [migrations[0]]))))
        plans.append(("gap", .incremental(MigrationChain(Array(migrations.prefix(2))))))
        plans.append(
            (
                "two plans",
                .composite(
                    adHoc: [
                        AdHocMigration("V2") { migrations[2].changes }, AdHocMigration(from: "V2", to: "V3") { migrations[2].changes },
                    ],
                    chain: program.chain)
            ))
        let machine = TestMachine()
        try await program.fill(machine.launch())
        func slots() async throws -> [StorageAddress: StorageProbe] {
            let names = ["notes", "people", "useless", "archive", "persons"].map { "collection:\($0)" }
            return try await machine.launch().slots(pair.first, also: names)
                .merging(try await machine.launch().slots(pair.second, also: names)) { $1 }
        }
        let before = try await slots()
        for (word, policy) in plans {
            let error = try await #require(throws: StorageError.self, "nothing was thrown: \(word)") {
                try await machine.launch().registerCatalog(program.catalog, migrationPolicy: policy)
            }
            #expect(error.code == StorageError.invalidEvolution, "\(error)")
            #expect(error.message.contains(word), "\(error)")
            #expect(try await slots() == before, "\(word)")
        }
    }
}
