// The policies of the library Crush, and the corresponding policies of LocalData.
// snippet.hide
import Foundation
// snippet.show
import LocalDataVocabulary  // LocalData, and short names for the parts of a migration plan, such as AddEntity

// snippet.hide

func check(_ holds: Bool, _ line: Int = #line) { if !holds { fatalError("line \(line)") } }

// snippet.show

struct NewEntity: Codable, Sendable, Identifiable {
    var id: String
    var newProperty: String
}

let newEntities = StorageCollection<NewEntity>(
    "NewEntity", domain: .encryptedSQLite(database: "main"), owner: "Model", description: "The records of the sample"
).version(2)  // 1 when a plan adds the entity, and one more for each UpdateEntity

struct CurrentCatalog: StorageKeyCatalog {
    var id: String { "main" }  // the name of the stamp
    var allKeys: [AnyStorageKey] { [.collection(newEntities)] }
    var schema: CatalogSchema? {
        CatalogSchema(
            "V2", entities: [EntityDescription("NewEntity", [AttributeDescription("newProperty", .string)])],
            configurations: ["CONF": ["NewEntity"]])
    }
}
// snippet.hide

/// The entity as an older program stored it.
struct OldEntity: Codable, Sendable, Identifiable {
    var id: String
    var newProperty: String
    var anotherProperty: String
}

let oldEntities = StorageCollection<OldEntity>(
    "NewEntity", domain: .encryptedSQLite(database: "main"), owner: "Model", description: "The records of the sample", typeTag: "NewEntity")

func launch() -> StorageRouter {
    var configuration = StorageConfiguration.inMemory()
    configuration.passphrase = { _ in "only for this snippet" }
    return StorageRouter(configuration: configuration)
}
var storage = launch()
try await storage.set(OldEntity(id: "1", newProperty: "one", anotherProperty: "x"), in: oldEntities)
// snippet.show

let report = try await storage.registerCatalog(
    CurrentCatalog(),
    migrationPolicy: .incremental(
        MigrationChain {
            ModelMigration("V1") {
                AddEntity("NewEntity") {
                    AddAttribute("newProperty", attributeType: .stringAttributeType)
                    AddAttribute("anotherProperty", attributeType: .stringAttributeType)
                }
            }
            ModelMigration("V2") {
                UpdateEntity("NewEntity") {
                    RemoveAttribute("anotherProperty")
                }
            }
        }
    )
)
try report.sweep.requireComplete()
for step in report.plan.steps { print(step.from ?? "nothing", "→", step.to, step.records) }
// snippet.hide
check(report.plan.steps.map(\.records) == [1])
check(try await storage.get("1", in: newEntities).newProperty == "one")
let document = try await storage.get(
    StorageCollection<StoredDocument>(
        "NewEntity", domain: .encryptedSQLite(database: "main"), owner: "Model", description: "As it stands", typeTag: "NewEntity",
        id: { _ in "" }
    ).version(2).key("1"))
check(document.names == ["id", "newProperty"])

storage = launch()
try await storage.set(OldEntity(id: "1", newProperty: "one", anotherProperty: "x"), in: oldEntities)
// snippet.show

let shorter = try await storage.registerCatalog(
    CurrentCatalog(),
    migrationPolicy: .composite(
        adHoc: [
            AdHocMigration("V1ToV2") {
                UpdateEntity("NewEntity") {
                    RemoveAttribute("anotherProperty")
                }
            }
        ],
        chain: MigrationChain {
            ModelMigration("V1") {
                AddEntity("NewEntity") {
                    AddAttribute("newProperty", attributeType: .stringAttributeType)
                    AddAttribute("anotherProperty", attributeType: .stringAttributeType)
                }
            }
            ModelMigration("V2") {
                UpdateEntity("NewEntity") {
                    RemoveAttribute("anotherProperty")
                }
            }
        }
    )
)
// snippet.hide
check(shorter.plan.steps.map(\.kind) == [.adHoc])
check(try await storage.get("1", in: newEntities).newProperty == "one")

struct NewCatalog: StorageKeyCatalog {
    var id: String { "other" }
    var allKeys: [AnyStorageKey] { [] }
    var schema: CatalogSchema? { CatalogSchema("NEW_SCHEMA", entities: []) }
}
// snippet.show

// Migrates only the group of entities that is named CONF.
try await storage.registerCatalog(CurrentCatalog(), migrationPolicy: .lightweight, configuration: "CONF")

// A policy of your own. The router calls its functions in this order.
struct Careful: StorageMigrationPolicy {
    func validateModel(_ schema: CatalogSchema, in store: StoredSchema) async throws -> Bool { store.version == schema.version }

    func configureStoreDescription(_ description: inout StorageMigrationDescription) { description.lightWeightBackup = false }

    func resolveIncompatible(dataModel: CatalogSchema, in store: StoredSchema) async throws -> MigrationPolicy { .lightweight }
}
try await storage.registerCatalog(CurrentCatalog(), migrationPolicy: .custom(Careful()))
