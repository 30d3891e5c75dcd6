import BackendContract
import Foundation
import LocalDataTesting
import LocalDataVocabulary
import Testing

@testable import LocalData
@testable import LocalDataPlans

/// Migration plans, which list the schema changes between the versions of a program. An entity is a collection or key
/// in a plan. These plans add or copy an entity to a name that already has records.
///
/// Records of an earlier version are refused, because no step of the plan converts them.
@Suite struct PlanBeginningTests {
    private static let domain = StorageDomain.encryptedSQLite(database: "main")

    private static func catalog(_ names: String...) -> TestCatalog {
        TestCatalog(
            names.map { .collection(documents($0, domain, version: 2)) },
            CatalogSchema("V2", entities: names.map { EntityDescription($0, texts("id", "text")) }))
    }

    private static func add(_ name: String) -> [SchemaPlan.EntityChange] {
        [
            AddEntity(name) {
                AddAttribute("id", attributeType: .string)
                AddAttribute("text", attributeType: .string)
            }.change
        ]
    }

    @Test(arguments: [1, 2])
    func `a plan that adds an entity is refused if the entity already has records of an earlier version`(plans: Int) async throws {
        let machine = TestMachine()
        try await machine.launch().set(record("1", ["text": "a"]), in: documents("notes", Self.domain))
        let before = try await machine.launch().slots(Self.domain, "notes")
        let migrations = ["V1", "V0"].prefix(plans).map { AdHocMigration($0) { Self.add("notes") } }
        await expectRefusal(.incompatibleSchema, saying: "AddEntity notes", "version 1", "UpdateEntity") {
            try await machine.launch().registerCatalog(Self.catalog("notes"), migrationPolicy: .adHoc(migrations: Array(migrations)))
        }
        let after = try await machine.launch().slots(Self.domain, "notes")
        #expect(after.filter { $0.key.namespace.name != "schema" } == before.filter { $0.key.namespace.name != "schema" })
        // A plan that updates the entity converts the records.
        let update = AdHocMigration("V1") { UpdateEntity("notes") { UpdateAttribute("text", default: "") } }
        let router = machine.launch()
        try await router.registerCatalog(Self.catalog("notes"), migrationPolicy: .adHoc(migrations: [update])).sweep.requireComplete()
        #expect(try await router.all(documents("notes", Self.domain, version: 2)) == ["1": record("1", ["text": "a"])])
    }

    @Test func `a plan that copies an entity to a name with records of an earlier version is refused`() async throws {
        let machine = TestMachine()
        try await machine.launch().set(record("1", ["text": "a"]), in: documents("notes", Self.domain))
        try await machine.launch().set(record("2", ["text": "b"]), in: documents("copies", Self.domain))
        let plan = AdHocMigration("V1") {
            UpdateEntity("notes") { UpdateAttribute("text", default: "") }
            CopyEntity("notes", to: "copies")
        }
        await expectRefusal(.incompatibleSchema, saying: "CopyEntity notes to copies", "copies has records of version 1") {
            try await machine.launch().registerCatalog(Self.catalog("notes", "copies"), migrationPolicy: .adHoc(migrations: [plan]))
        }
        #expect(try await machine.launch().all(documents("notes", Self.domain)).count == 1)
    }

    @Test func `a plan can add an entity that has no records, or whose records the same step removed`() async throws {
        let machine = TestMachine()
        try await machine.launch().set(record("1", ["text": "a"]), in: documents("notes", Self.domain))
        let plan = AdHocMigration("V1") {
            RemoveEntity("notes")
            Self.add("notes")
            Self.add("others")
        }
        let router = machine.launch()
        try await router.registerCatalog(Self.catalog("notes", "others"), migrationPolicy: .adHoc(migrations: [plan])).sweep
            .requireComplete()
        try await router.set(record("3", ["text": "c"]), in: documents("notes", Self.domain, version: 2))
        #expect(try await router.all(documents("notes", Self.domain, version: 2)) == ["3": record("3", ["text": "c"])])
    }
}
