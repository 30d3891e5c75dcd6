import BackendContract
import Foundation
import LocalDataVocabulary
import TestSupport
import Testing

@testable import LocalData
@testable import LocalDataPlans

/// The scenarios of programs that move here from Crush, in every kind of store: schema versions, policies and plans.
///
/// A plan lists the schema changes between the versions of a program. A chain is a plan with a step for each version.
/// An ad-hoc plan changes the schema from one given version to the current one. A lightweight migration infers the
/// changes.
///
/// An entity is a collection in a plan, and a configuration is a named set of entities. A stage is one step of a staged
/// plan, and a hook is a function that runs before or after a stage.
@Suite(.inTurn, .tags(.scenario)) struct CrushScenarioTests {
    private static let v1 = ModelMigration("V1") {
        AddEntity("notes") {
            AddAttribute("id", attributeType: .string)
            AddAttribute("newProperty", attributeType: .stringAttributeType)
            AddAttribute("anotherProperty", attributeType: .stringAttributeType)
        }
    }
    private static let v2 = ModelMigration("V2") { UpdateEntity("notes") { RemoveAttribute("anotherProperty") } }
    private static let adHoc = AdHocMigration("V1") { UpdateEntity("notes") { RemoveAttribute("anotherProperty") } }

    private func catalog(_ version: String, _ domain: StorageDomain, _ number: Int, _ attributes: [AttributeDescription]) -> TestCatalog {
        TestCatalog(
            [.collection(documents("notes", domain, version: number))],
            CatalogSchema(version, entities: [EntityDescription("notes", attributes)]))
    }

    private func old(_ domain: StorageDomain, _ version: String = "V1") -> TestCatalog {
        catalog(version, domain, 1, texts("id", "newProperty", "anotherProperty"))
    }
    private func new(_ domain: StorageDomain, _ version: String = "V2") -> TestCatalog {
        catalog(version, domain, 2, texts("id", "newProperty"))
    }

    /// Stores the records of a program of the first version.
    private func begin(_ router: StorageRouter, _ domain: StorageDomain, _ version: String = "V1") async throws {
        try await router.registerCatalog(old(domain, version), migrationPolicy: .lightweight)
        try await router.set(
            ["1", "2", "3"].map { record($0, ["newProperty": "new", "anotherProperty": .string($0)]) }, in: documents("notes", domain))
    }

    private func expectMigrated(_ router: StorageRouter, _ domain: StorageDomain) async throws {
        let found = try await router.all(documents("notes", domain, version: 2))
        #expect(found == Dictionary(uniqueKeysWithValues: ["1", "2", "3"].map { ($0, record($0, ["newProperty": "new"])) }))
    }

    @Test("an ad-hoc plan migrates only its entities, and refuses a store with another version than it names", arguments: Place.allCases)
    func cr2(place: Place) async throws {
        let migrations = [AdHocMigration("OLD_SCHEMA") { UpdateEntity("notes") { RemoveAttribute("anotherProperty") } }]
        try await place.withLaunches { launch, domain in
            try await begin(launch(), domain, "OLD_SCHEMA")
            let text = StorageKey<String>(name: "text", domain: domain, owner: "Plans", description: "Something else")
            try await launch().set("abc", for: text)
            try await launch().set(record("1", ["other": true]), in: documents("others", domain))
            let before = try await launch().slots(domain, "others").filter { $0.key.namespace.name != "schema" }
            let report = try await launch().registerCatalog(new(domain), migrationPolicy: .adHoc(migrations: migrations))
            #expect(report.plan.steps == [.init(from: "OLD_SCHEMA", to: "V2", kind: .adHoc, records: 3)])
            try await expectMigrated(launch(), domain)
            #expect(try await launch().slots(domain, "others").filter { $0.key.namespace.name != "schema" } == before)
        }
        try await place.withLaunches { launch, domain in
            try await begin(launch(), domain, "YET_ANOTHER")
            let before = try await launch().slots(domain, "notes")
            await expectRefusal(StorageError.incompatibleSchema) {
                try await launch().registerCatalog(new(domain), migrationPolicy: .adHoc(migrations: migrations))
            }
            #expect(try await launch().slots(domain, "notes") == before)
        }
    }

    @Test("a chain runs one step from V1 to V2 and none at V2, and refuses a stored version that it lacks", arguments: Place.allCases)
    func cr3(place: Place) async throws {
        let policy = MigrationPolicy.incremental(MigrationChain([Self.v1, Self.v2]))
        try await place.withLaunches { launch, domain in
            try await begin(launch(), domain)
            let report = try await launch().registerCatalog(new(domain), migrationPolicy: policy)
            #expect(report.plan == PlanReport(from: "V1", to: "V2", steps: [.init(from: "V1", to: "V2", kind: .incremental, records: 3)]))
            try await expectMigrated(launch(), domain)
            let after = try await launch().slots(domain, "notes")
            #expect(try await launch().registerCatalog(new(domain), migrationPolicy: policy).plan == PlanReport(from: "V2", to: "V2"))
            // A program of the first version does not know the second version.
            await expectRefusal(StorageError.incompatibleSchema) {
                try await launch().registerCatalog(old(domain), migrationPolicy: .incremental(MigrationChain([Self.v1])))
            }
            #expect(try await launch().slots(domain, "notes") == after)
        }
        try await place.withLaunches { launch, domain in
            // A store without records gets the current version without a step.
            let first = try await launch().registerCatalog(new(domain), migrationPolicy: policy)
            let second = try await launch().registerCatalog(new(domain), migrationPolicy: policy)
            #expect(first.plan == PlanReport(to: "V2"))
            #expect(second.plan == PlanReport(from: "V2", to: "V2"))
        }
    }

    @Test("an interrupted chain keeps the version of its last complete step and continues there", arguments: Place.allCases)
    func cr3Interrupted(place: Place) async throws {
        func third(_ hook: @escaping SchemaPlan.Hook) -> ModelMigration {
            ModelMigration("V3", willMigrate: hook) { UpdateEntity("notes") { AddAttribute("stars", attributeType: .integer, default: 0) } }
        }
        try await place.withLaunches { launch, domain in
            try await begin(launch(), domain)
            let last = catalog("V3", domain, 3, texts("id", "newProperty") + [AttributeDescription("stars", .integer)])
            await expectRefusal(StorageError.migrationFailed) {
                let chain = MigrationChain([Self.v1, Self.v2, third { _ in throw Mishap() }])
                try await launch().registerCatalog(last, migrationPolicy: .incremental(chain))
            }
            try await expectMigrated(launch(), domain)
            let second = MigrationPolicy.incremental(MigrationChain([Self.v1, Self.v2]))
            #expect(try await launch().registerCatalog(new(domain), migrationPolicy: second).plan.steps == [])
            let chain = MigrationChain([Self.v1, Self.v2, third { _ in }])
            let report = try await launch().registerCatalog(last, migrationPolicy: .incremental(chain))
            #expect(report.plan.steps.map(\.to) == ["V3"])
            let found = try await launch().all(documents("notes", domain, version: 3))
            #expect(found["2"] == record("2", ["newProperty": "new", "stars": 0]))
        }
    }

    @Test("an ad-hoc plan for the stored version replaces the chain, and without such a plan the chain runs", arguments: Place.allCases)
    func cr4(place: Place) async throws {
        let third = ModelMigration("V3") { UpdateEntity("notes") { AddAttribute("stars", attributeType: .integer, default: 0) } }
        let short = AdHocMigration("V1") {
            UpdateEntity("notes") {
                RemoveAttribute("anotherProperty")
                AddAttribute("stars", attributeType: .integer, default: 0)
            }
        }
        for (adHoc, steps) in [([short], ["V3"]), ([], ["V2", "V3"])] {
            try await place.withLaunches { launch, domain in
                try await begin(launch(), domain)
                let last = catalog("V3", domain, 3, texts("id", "newProperty") + [AttributeDescription("stars", .integer)])
                let policy = MigrationPolicy.composite(adHoc: adHoc, chain: MigrationChain([Self.v1, Self.v2, third]))
                let report = try await launch().registerCatalog(last, migrationPolicy: policy)
                #expect(report.plan.steps.map(\.to) == steps)
                #expect(report.plan.steps.map(\.records) == steps.map { _ in 3 })
                let found = try await launch().all(documents("notes", domain, version: 3))
                #expect(found["3"] == record("3", ["newProperty": "new", "stars": 0]))
                #expect(try await launch().registerCatalog(last, migrationPolicy: policy).plan.steps == [])
            }
        }
    }

    @Test("a plan that does not end in the declared schema is refused before anything is written", arguments: Place.allCases)
    func cr5(place: Place) async throws {
        let chain = MigrationChain([Self.v1, Self.v2])
        try await place.withLaunches { launch, domain in
            try await begin(launch(), domain)
            let before = try await launch().slots(domain, "notes")
            let other = catalog("V2", domain, 2, texts("id", "newProperty") + [AttributeDescription("stars", .integer)])
            let error = try await #require(throws: StorageError.self) {
                try await launch().registerCatalog(other, migrationPolicy: .incremental(chain, lightWeightBackup: true))
            }
            #expect(error.code == StorageError.invalidEvolution)
            #expect(error.message.contains("notes.stars"), "\(error)")
            #expect(try await launch().slots(domain, "notes") == before)
            try await launch().registerCatalog(new(domain), migrationPolicy: .incremental(chain))
            // No step is due, so the plan is validated only if the caller asks for it.
            #expect(try await launch().registerCatalog(other, migrationPolicy: .incremental(chain)).plan.steps == [])
            await expectRefusal(StorageError.invalidEvolution) {
                try await launch().registerCatalog(other, migrationPolicy: .incremental(chain, forceValidateModel: true))
            }
        }
    }

    @Test("a failing plan throws, or with a fallback, an inferred migration runs and the error is reported", arguments: Place.allCases)
    func cr6(place: Place) async throws {
        let second = ModelMigration("V2") {
            UpdateEntity("notes") { UpdateAttribute("anotherProperty", to: "number", attributeType: .integer, optional: true) }
        }
        let shape = texts("id", "newProperty") + [AttributeDescription("number", .integer, isOptional: true)]
        func policy(_ backup: Bool) -> MigrationPolicy {
            .incremental(MigrationChain([Self.v1, second]), lightWeightBackup: backup)
        }
        try await place.withLaunches { launch, domain in
            try await begin(launch(), domain)
            try await launch().set(record("2", ["newProperty": "new", "anotherProperty": "x"]), in: documents("notes", domain))
            let before = try await launch().slots(domain, "notes")
            let error = try await #require(throws: StorageError.self) {
                try await launch().registerCatalog(catalog("V2", domain, 2, shape), migrationPolicy: policy(false))
            }
            #expect(error.code == StorageError.migrationFailed)
            for word in ["notes", "record 2", "anotherProperty"] { #expect(error.message.contains(word), "\(error)") }
            #expect(try await launch().slots(domain, "notes") == before)
            let report = try await launch().registerCatalog(catalog("V2", domain, 2, shape), migrationPolicy: policy(true))
            #expect(report.plan.fallback?.contains("anotherProperty") == true)
            #expect(report.plan.steps == [.init(from: "V1", to: "V2", kind: .lightweight, records: 3)])
            let found = try await launch().all(documents("notes", domain, version: 2))
            #expect(found["2"] == record("2", ["newProperty": "new", "anotherProperty": "x"]))
            #expect(found.count == 3)
            #expect(try await launch().registerCatalog(catalog("V2", domain, 2, shape), migrationPolicy: policy(true)).plan.steps == [])
        }
    }

    @Test("each configuration is migrated separately, and an entity in two configurations is migrated only once", arguments: Place.allCases)
    func cr7(place: Place) async throws {
        func catalog(_ version: String, _ domain: StorageDomain, _ number: Int) -> TestCatalog {
            TestCatalog(
                [.collection(documents("embedded", domain, version: number)), .collection(documents("concrete", domain, version: number))],
                CatalogSchema(
                    version,
                    entities: ["embedded", "concrete"].map { EntityDescription($0, number == 1 ? texts("id") : texts("id", "more")) },
                    configurations: ["CONF": ["embedded", "concrete"], "ANOTHER CONF": ["embedded"]]))
        }
        let policy = MigrationPolicy.incremental(
            MigrationChain {
                ModelMigration("V1") {
                    for name in ["embedded", "concrete"] { AddEntity(name) { AddAttribute("id", attributeType: .string) } }
                }
                ModelMigration("V2") {
                    for name in ["embedded", "concrete"] {
                        UpdateEntity(name) { AddAttribute("more", attributeType: .string, default: "x") }
                    }
                }
            })
        try await place.withLaunches { launch, domain in
            try await launch().registerCatalog(catalog("V1", domain, 1), migrationPolicy: .lightweight)
            for name in ["embedded", "concrete"] { try await launch().set([record("1"), record("2")], in: documents(name, domain)) }
            let concrete = try await launch().slots(domain, "concrete").filter { $0.key.namespace.name != "schema" }
            let first = try await launch().registerCatalog(catalog("V2", domain, 2), migrationPolicy: policy, configuration: "ANOTHER CONF")
            #expect(first.plan.steps.map(\.records) == [2])
            #expect(first.sweep.rows.map(\.key) == ["embedded"])
            #expect(try await launch().slots(domain, "concrete").filter { $0.key.namespace.name != "schema" } == concrete)
            let embedded = try await launch().slots(domain, "embedded").filter { $0.key.namespace.name != "schema" }
            let second = try await launch().registerCatalog(catalog("V2", domain, 2), migrationPolicy: policy, configuration: "CONF")
            #expect(second.plan.steps.map(\.records) == [2])
            #expect(try await launch().slots(domain, "embedded").filter { $0.key.namespace.name != "schema" } == embedded)
            #expect(try await launch().registerCatalog(catalog("V2", domain, 2), migrationPolicy: policy).plan.steps == [])
            #expect(try await launch().all(documents("concrete", domain, version: 2))["2"] == record("2", ["more": "x"]))
        }
    }

    private struct Own: StorageMigrationPolicy {
        let calls: Shared<[String]>
        let fits: Bool
        var choice: MigrationPolicy?

        func validateModel(_ schema: CatalogSchema, in store: StoredSchema) async throws -> Bool {
            calls.note("validate \(store.version ?? "-") for \(schema.version)")
            return fits
        }
        func configureStoreDescription(_ description: inout StorageMigrationDescription) { calls.note("configure") }
        func resolveIncompatible(dataModel: CatalogSchema, in store: StoredSchema) async throws -> MigrationPolicy {
            calls.note("resolve")
            guard let choice else { throw StorageError(StorageError.incompatibleSchema, key: "own", "No.") }
            return choice
        }
    }

    @Test("the functions of a custom policy are called in order, and the policy that it chooses is run", arguments: Place.allCases)
    func cr8(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            try await begin(launch(), domain)
            let before = try await launch().slots(domain, "notes")
            let calls = Shared<[String]>([])
            await expectRefusal(StorageError.incompatibleSchema, isSentence: false) {
                try await launch().registerCatalog(new(domain), migrationPolicy: .custom(Own(calls: calls, fits: false)))
            }
            #expect(calls.all == ["validate V1 for V2", "configure", "resolve"])
            #expect(try await launch().slots(domain, "notes") == before)
            let choice = MigrationPolicy.incremental(MigrationChain([Self.v1, Self.v2]))
            let report = try await launch().registerCatalog(
                new(domain), migrationPolicy: .custom(Own(calls: calls, fits: false, choice: choice)))
            #expect(report.plan.steps.map(\.kind) == [.incremental])
            try await expectMigrated(launch(), domain)
            let last = try await launch().registerCatalog(new(domain), migrationPolicy: .custom(Own(calls: calls, fits: true)))
            #expect(last.plan.steps == [])
            #expect(calls.all.suffix(2) == ["validate V2 for V2", "configure"])
        }
    }

    @Test("a lightweight stage and a stage with hooks run in order, and a completed hook does not run again", arguments: Place.allCases)
    func mm7(place: Place) async throws {
        try await place.withLaunches { launch, domain in
            try await begin(launch(), domain)
            let calls = Shared<[String]>([])
            func chain(failing: Bool) -> MigrationChain {
                MigrationChain {
                    Self.v1
                    ModelMigration("V2", stage: .lightweight) {
                        UpdateEntity("notes") { AddAttribute("hint", attributeType: .string, optional: true) }
                    }
                    ModelMigration(
                        "V3",
                        willMigrate: { router in
                            let there = try await router.all(documents("notes", domain, version: 2))
                            calls.note("will, \(there.count) records of version 2")
                        },
                        didMigrate: { router in
                            let there = try await router.all(documents("notes", domain, version: 3))
                            calls.note("did, \(there.count) records of version 3")
                            if failing { throw Mishap() }
                        }
                    ) {
                        UpdateEntity("notes") {
                            UpdateAttribute("newProperty", to: "title") { $0?.string.map { .string($0.uppercased()) } }
                        }
                    }
                }
            }
            let last = catalog(
                "V3", domain, 3, texts("id", "anotherProperty", "title") + [AttributeDescription("hint", .string, isOptional: true)])
            await expectRefusal(StorageError.migrationFailed) {
                try await launch().registerCatalog(last, migrationPolicy: .incremental(chain(failing: true)))
            }
            let (will, did) = ("will, 3 records of version 2", "did, 3 records of version 3")
            #expect(calls.all == [will, did])
            // A hook that has completed is not called again. The hook that failed is called again.
            let report = try await launch().registerCatalog(last, migrationPolicy: .incremental(chain(failing: false)))
            #expect(report.plan.steps.map(\.to) == ["V3"])
            try await launch().registerCatalog(last, migrationPolicy: .incremental(chain(failing: false)))
            #expect(calls.all == [will, did, did])
            let found = try await launch().all(documents("notes", domain, version: 3))
            #expect(found["1"] == record("1", ["title": "NEW", "anotherProperty": "1"]))
        }
    }
}
