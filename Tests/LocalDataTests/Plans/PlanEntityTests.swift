import BackendContract
import Foundation
import LocalDataVocabulary
import TestSupport
import Testing

@testable import LocalData
@testable import LocalDataPlans

/// Migration plans, which list the schema changes between the versions of a program. An entity is a collection or a
/// single key in a plan. These plans copy, rename and remove entities for which the program no longer has types.
@Suite(.inTurn) struct PlanEntityTests {
    private static let first = ModelMigration("V1") {
        AddEntity("old") {
            AddAttribute("id", attributeType: .string)
            AddAttribute("text", attributeType: .string)
        }
        AddEntity("useless") { AddAttribute("id", attributeType: .string) }
    }

    @Test(arguments: Place.allCases)
    func `a plan copies and renames entities with their records, and keeps a backup of removed records`(place: Place) async throws {
        let policy = MigrationPolicy.incremental(
            MigrationChain {
                Self.first
                ModelMigration("V2") {
                    CopyEntity("old", to: "copy")
                    RenameEntity("old", to: "new")
                    RemoveEntity("useless")
                    UpdateEntity("new") { UpdateAttribute("text", to: "title") }
                }
            })
        try await place.withLaunches { launch, domain in
            let records = (0..<300).map { record("\($0)", ["text": .string("\($0)")]) }
            try await launch().set(records, in: documents("old", domain), attributes: ["kept": "yes"])
            try await launch().set(record("1"), in: documents("useless", domain))
            let catalog = TestCatalog(
                [.collection(documents("new", domain, version: 2)), .collection(documents("copy", domain))],
                CatalogSchema(
                    "V2", entities: [EntityDescription("new", texts("id", "title")), EntityDescription("copy", texts("id", "text"))]))
            let report = try await launch().registerCatalog(catalog, migrationPolicy: policy)
            #expect(report.plan.steps.map(\.records) == [300 + 300 + 1 + 300])
            let router = launch()
            #expect(try await router.all(documents("new", domain, version: 2)).count == 300)
            #expect(try await router.all(documents("copy", domain))["7"] == record("7", ["text": "7"]))
            let moved = try await router.storedValue(for: documents("new", domain, version: 2).key("7"))
            #expect(moved?.value == record("7", ["title": "7"]))
            #expect(moved?.attributes == ["kept": "yes"])
            #expect(try await router.all(documents("old", domain)).isEmpty)
            #expect(try await router.all(documents("useless", domain)).isEmpty)
            let kept = try await router.slots(domain, also: ["backup:1:collection:useless"])
            #expect(kept.keys.contains { $0.namespace.name == "backup:1:collection:useless" && $0.name == "1" })
            #expect(try await launch().registerCatalog(catalog, migrationPolicy: policy).plan.steps == [])
        }
    }

    private struct Profile: Codable, Sendable, Equatable {
        var name: String
        var age: Int
    }

    @Test(arguments: Place.allCases)
    func `a plan renames and changes a single key like an entity with one record`(place: Place) async throws {
        let policy = MigrationPolicy.incremental(
            MigrationChain {
                ModelMigration("V1") {
                    AddEntity("user", as: .key) {
                        AddAttribute("first", attributeType: .string)
                        AddAttribute("last", attributeType: .string)
                        AddAttribute("age", attributeType: .string)
                    }
                }
                ModelMigration("V2") {
                    RenameEntity("user", to: "profile")
                    UpdateEntity("profile") {
                        AddAttribute("name", attributeType: .string) { old in
                            .string("\(old["first"]?.string ?? "") \(old["last"]?.string ?? "")")
                        }
                        RemoveAttribute("first")
                        RemoveAttribute("last")
                        UpdateAttribute("age", attributeType: .integer)
                    }
                }
            })
        try await place.withLaunches { launch, domain in
            let old = StorageKey<[String: String]>(name: "user", domain: domain, owner: "Plans", description: "The user")
            try await launch().set(["first": "John", "last": "Snow", "age": "20"], for: old)
            let key = StorageKey<Profile>(name: "profile", domain: domain, owner: "Plans", description: "The user").version(2)
            let shape = texts("name") + [AttributeDescription("age", .integer)]
            let catalog = TestCatalog([.key(key)], CatalogSchema("V2", entities: [EntityDescription("profile", shape)]))
            try await launch().registerCatalog(catalog, migrationPolicy: policy)
            #expect(try await launch().get(key) == Profile(name: "John Snow", age: 20))
            #expect(try await launch().value(for: old) == nil)
        }
    }

    @Test func `a plan step fails and changes nothing if the program could not decode one of the changed records`() async throws {
        try await Place.memory.withLaunches { launch, domain in
            let collection = StorageCollection<Profile>(
                "people", domain: domain, owner: "Plans", description: "People", typeTag: "Record", id: \.name)
            try await launch().set([record("a", ["name": "a"]), record("b", ["name": "b", "age": 3])], in: documents("people", domain))
            let before = try await launch().slots(domain, "people")
            let catalog = TestCatalog([.collection(collection.version(2))])
            let chain = MigrationChain {
                ModelMigration("V1") { AddEntity("people") { AddAttribute("name", attributeType: .string) } }
                ModelMigration("V2") { UpdateEntity("people") { AddAttribute("more", attributeType: .string, optional: true) } }
            }
            let error = try await #require(throws: StorageError.self) {
                try await launch().registerCatalog(catalog, migrationPolicy: .incremental(chain))
            }
            #expect(error.code == StorageError.migrationFailed)
            #expect(error.message.contains("record a of people"), "\(error)")
            #expect(try await launch().slots(domain, "people") == before)
        }
    }

    @Test func `a rename to a name that already has a record succeeds if the two records are equal, and fails otherwise`() async throws {
        let chain = MigrationChain {
            Self.first
            ModelMigration("V2") {
                RenameEntity("old", to: "new")
                RemoveEntity("useless", keepingBackup: false)
            }
        }
        for (text, isRefused) in [("a", false), ("b", true)] {
            try await Place.memory.withLaunches { launch, domain in
                try await launch().set(record("1", ["text": "a"]), in: documents("old", domain))
                try await launch().set(record("1", ["text": .string(text)]), in: documents("new", domain))
                let catalog = TestCatalog([.collection(documents("new", domain))])
                if isRefused {
                    await expectRefusal(StorageError.migrationFailed) {
                        try await launch().registerCatalog(catalog, migrationPolicy: .incremental(chain))
                    }
                    #expect(try await launch().all(documents("old", domain)).count == 1)
                } else {
                    try await launch().registerCatalog(catalog, migrationPolicy: .incremental(chain))
                    #expect(try await launch().all(documents("old", domain)).isEmpty)
                }
                #expect(try await launch().all(documents("new", domain)) == ["1": record("1", ["text": .string(text)])])
            }
        }
    }
}
