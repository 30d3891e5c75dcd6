import BackendContract
import LocalDataVocabulary
import TestSupport
import Testing

@testable import LocalData
@testable import LocalDataPlans

/// Invalid migration plans. A plan lists the schema changes between the versions of a program. An invalid plan is
/// refused before the first write, and the error names the faulty step.
///
/// An entity is a collection or key in a plan. A configuration is a named set of entities.
@Suite(.inTurn) struct PlanValidationTests {
    struct Faulty: Sendable, CustomTestStringConvertible {
        let name: String
        let policy: SchemaPlan.Policy
        var schema = CatalogSchema("V2", entities: [EntityDescription("notes", texts("id", "text"))])
        var version = 2
        let words: [String]
        var testDescription: String { name }
    }

    private static let v1 = ModelMigration("V1") {
        AddEntity("notes") {
            AddAttribute("id", attributeType: .string)
            AddAttribute("text", attributeType: .string)
            AddAttribute("list", attributeType: .array(.string))
            AddAttribute("hint", attributeType: .string, optional: true)
        }
    }

    private static func second(
        _ name: String, _ words: [String], @SchemaPlan.EntityChanges _ changes: () -> [SchemaPlan.EntityChange]
    ) -> Faulty {
        Faulty(name: name, policy: .incremental(MigrationChain([v1, ModelMigration("V2", changes)])), words: ["ModelMigration V2"] + words)
    }

    private static func attributes(
        _ name: String, _ words: [String], @SchemaPlan.AttributeChanges _ changes: () -> [SchemaPlan.AttributeChange]
    ) -> Faulty {
        let made = changes()
        return second(name, ["UpdateEntity notes"] + words) { UpdateEntity("notes") { made } }
    }

    private static let sound = ModelMigration("V2") {
        UpdateEntity("notes") {
            RemoveAttribute("list")
            RemoveAttribute("hint")
        }
    }

    static let all: [Faulty] = [
        second("an entity that is not there", ["UpdateEntity strangers", "no entity"]) {
            UpdateEntity("strangers") { RemoveAttribute("text") }
        },
        second("an entity that is there", ["AddEntity notes", "already"]) { AddEntity("notes") },
        second("a copy onto one that is there", ["CopyEntity notes to notes", "already"]) { CopyEntity("notes", to: "notes") },
        second("a removed entity", ["UpdateEntity notes", "no entity"]) {
            RemoveEntity("notes")
            UpdateEntity("notes") { RemoveAttribute("text") }
        },
        Faulty(
            name: "an entity that is not declared",
            policy: .incremental(MigrationChain([v1, sound, ModelMigration("V3") { AddEntity("others") }])),
            schema: CatalogSchema("V3", entities: [EntityDescription("notes", texts("id", "text"))]),
            words: ["MigrationChain", "others is gone"]),
        second("an attribute of a new entity that is removed", ["AddEntity others", "RemoveAttribute x"]) {
            AddEntity("others") { RemoveAttribute("x") }
        },
        attributes("an attribute that is not there", ["RemoveAttribute title", "no such"]) { RemoveAttribute("title") },
        attributes("a changed attribute that is not there", ["UpdateAttribute title", "no such"]) { UpdateAttribute("title", to: "other") },
        attributes("an attribute that is there", ["AddAttribute text", "already"]) { AddAttribute("text", attributeType: .string) },
        attributes("a name that is taken", ["UpdateAttribute text", "id already"]) { UpdateAttribute("text", to: "id") },
        attributes("a type that cannot be", ["UpdateAttribute list", "cannot become integer"]) {
            UpdateAttribute("list", attributeType: .integer)
        },
        attributes("a required attribute without a default", ["AddAttribute stars", "default"]) {
            AddAttribute("stars", attributeType: .integer)
        },
        attributes("one that becomes required", ["UpdateAttribute hint", "default"]) { UpdateAttribute("hint", optional: false) },
        attributes("a default of another type", ["AddAttribute stars", "default is no integer"]) {
            AddAttribute("stars", attributeType: .integer, default: "many")
        },
        attributes("an end that is not declared", ["notes.hint is gone"]) {
            RemoveAttribute("list")
        }.withoutStep,
        Faulty(
            name: "a version that comes twice", policy: .incremental(MigrationChain([v1, sound, v1])),
            words: ["ModelMigration V1", "circle"]),
        Faulty(name: "a chain without a step", policy: .incremental(MigrationChain([])), words: ["MigrationChain", "no step"]),
        Faulty(
            name: "a gap at the end", policy: .incremental(MigrationChain([v1, sound])),
            schema: CatalogSchema("V3", entities: [EntityDescription("notes", texts("id", "text"))]), words: ["V2", "V3", "gap"]),
        Faulty(
            name: "a version that the key does not have", policy: .incremental(MigrationChain([v1, sound])), version: 3,
            words: ["notes", "version 2", "declared with version 3"]),
        Faulty(
            name: "two plans from one version",
            policy: .adHoc(migrations: [AdHocMigration("V1") {}, AdHocMigration("V1") {}]), words: ["AdHocMigration V1", "two plans"]),
        Faulty(
            name: "a plan from the current version", policy: .adHoc(migrations: [AdHocMigration("V2") {}]),
            words: ["AdHocMigration V2", "circle"]),
        Faulty(
            name: "a plan that leads back",
            policy: .composite(adHoc: [AdHocMigration(from: "V2", to: "V1") {}], chain: MigrationChain([v1, sound])),
            words: ["AdHocMigration V2", "circle"]),
        Faulty(
            name: "a plan that ends in an unknown version",
            policy: .composite(adHoc: [AdHocMigration(from: "V1", to: "V7") {}], chain: MigrationChain([v1, sound])),
            words: ["AdHocMigration V1", "V7", "gap"]),
        Faulty(
            name: "a shorter way that ends elsewhere",
            policy: .composite(
                adHoc: [AdHocMigration("V1") { UpdateEntity("notes") { RemoveAttribute("hint") } }], chain: MigrationChain([v1, sound])),
            words: ["AdHocMigration V1", "notes.list is gone"]),
        Faulty(
            name: "a plan that adds what is not declared",
            policy: .adHoc(migrations: [
                AdHocMigration("V1") { UpdateEntity("notes") { AddAttribute("stars", attributeType: .integer, default: 0) } }
            ]), words: ["AdHocMigration V1", "notes.stars is gone"]),
        Faulty(
            name: "a lightweight stage with a hook",
            policy: .incremental(
                MigrationChain([v1, ModelMigration("V2", stage: .lightweight, didMigrate: { _ in }) {}])),
            words: ["ModelMigration V2", "hooks"]),
        Faulty(
            name: "a lightweight stage that computes",
            policy: .incremental(
                MigrationChain([
                    v1,
                    ModelMigration("V2", stage: .lightweight) {
                        UpdateEntity("notes") { AddAttribute("more", attributeType: .string) { _ in "x" } }
                    },
                ])), words: ["ModelMigration V2", "AddAttribute more", "inferred"]),
        Faulty(
            name: "a schema with an entity that no key has", policy: .incremental(MigrationChain([v1, sound])),
            schema: CatalogSchema("V2", entities: [EntityDescription("notes", texts("id", "text")), EntityDescription("strangers")]),
            words: ["schema V2", "strangers"]),
    ]

    @Test(arguments: all) func `a faulty plan is refused before the first write`(faulty: Faulty) async throws {
        try await Place.memory.withLaunches { launch, domain in
            let old = TestCatalog([.collection(documents("notes", domain))], CatalogSchema("V1"))
            try await launch().registerCatalog(old, migrationPolicy: .lightweight)
            try await launch().set(record("1", ["text": "a", "list": ["x"]]), in: documents("notes", domain))
            let before = try await launch().slots(domain, "notes")
            for backup in [false, true] {
                var policy = faulty.policy
                policy.options.lightWeightBackup = backup
                let error = try await #require(throws: StorageError.self) {
                    let catalog = TestCatalog([.collection(documents("notes", domain, version: faulty.version))], faulty.schema)
                    try await launch().registerCatalog(catalog, migrationPolicy: policy)
                }
                #expect(error.code == StorageError.invalidEvolution, "\(error)")
                for word in faulty.words { #expect(error.message.contains(word), "\(error)") }
                #expect(try await launch().slots(domain, "notes") == before)
            }
        }
    }

    private func expectRefusal(
        _ catalog: TestCatalog, _ policy: SchemaPlan.Policy, _ words: String..., configuration: String? = nil
    ) async throws {
        try await Place.memory.withRouter { router, _ in
            let error = try await #require(throws: StorageError.self) {
                try await router.registerCatalog(catalog, migrationPolicy: policy, configuration: configuration)
            }
            #expect(error.code == StorageError.invalidEvolution, "\(error)")
            for word in words { #expect(error.message.contains(word), "\(error)") }
        }
    }

    @Test func `a plan is refused for an entity that has a chain of versions already, or that could be in several domains`() async throws {
        let (one, two) = (StorageDomain.memory("one"), StorageDomain.memory("two"))
        let chain = MigrationChain([Self.v1, Self.sound])
        let evolving = documents("notes", one).evolving(Evolution.from(version: 1).to { $0.remove("list") })
        try await expectRefusal(TestCatalog([.collection(evolving)]), .incremental(chain), "notes", "chain of versions too")
        let catalog = TestCatalog([.collection(documents("others", one)), .collection(documents("more", two))])
        let removing = MigrationChain([Self.v1, ModelMigration("V2") { RemoveEntity("notes") }])
        try await expectRefusal(catalog, .incremental(removing), "notes", "several domains")
        let twice = TestCatalog([.collection(documents("notes", one)), .collection(documents("notes", two))])
        try await expectRefusal(twice, .incremental(chain), "several keys or collections")
    }

    @Test func `a plan is refused for an undeclared configuration, or if it changes an entity outside of its configuration`() async throws {
        let domain = StorageDomain.memory("one")
        let keys: [AnyStorageKey] = [.collection(documents("notes", domain)), .collection(documents("copy", domain))]
        let entities = [EntityDescription("notes"), EntityDescription("copy")]
        let catalog = TestCatalog(keys, CatalogSchema("V2", entities: entities, configurations: ["CONF": ["copy"]]))
        let chain = MigrationChain {
            ModelMigration("V1") { AddEntity("notes") }
            ModelMigration("V2") { CopyEntity("notes", to: "copy") }
        }
        try await expectRefusal(catalog, .incremental(chain), "no configuration X", configuration: "X")
        try await expectRefusal(catalog, .incremental(chain), "CopyEntity notes to copy", "CONF", configuration: "CONF")
    }
}

extension PlanValidationTests.Faulty {
    /// Returns this case with other expected words: the error must name the migration chain, and need not name a step.
    fileprivate var withoutStep: Self {
        Self(
            name: name, policy: policy, schema: schema, version: version,
            words: ["MigrationChain"] + words.filter { !$0.hasPrefix("ModelMigration") && !$0.hasPrefix("UpdateEntity") })
    }
}
