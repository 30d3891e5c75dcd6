package import LocalDataVocabulary

/// The samples of the Crush documentation about migration plans, changed as little as possible.
///
/// These samples register a catalog where the original loads a container.
package enum VocabularySamples {
    /// A record in the form that older programs stored.
    package struct Old: Codable, Sendable, Identifiable {
        package var id: String
        package var newProperty: String
        package var anotherProperty: String

        package init(id: String, newProperty: String, anotherProperty: String) {
            (self.id, self.newProperty, self.anotherProperty) = (id, newProperty, anotherProperty)
        }
    }

    /// A record in its current form.
    package struct New: Codable, Sendable, Identifiable, Equatable {
        package var id: String
        package var newProperty: String

        package init(id: String, newProperty: String) { (self.id, self.newProperty) = (id, newProperty) }
    }

    /// Returns the collection of the old records. Their id is not one of the attributes that the samples declare.
    package static func old(_ domain: StorageDomain) -> StorageCollection<Old> {
        StorageCollection("NewEntity", domain: domain, owner: "Samples", description: "What the samples store", typeTag: "NewEntity")
    }

    package static func new(_ domain: StorageDomain, version: Int) -> StorageCollection<New> {
        StorageCollection<New>("NewEntity", domain: domain, owner: "Samples", description: "What the samples store", typeTag: "NewEntity")
            .version(version)
    }

    /// The catalog of one version of the program in the samples.
    package struct Catalog: StorageKeyCatalog {
        package let id = "samples"
        package let allKeys: [AnyStorageKey]
        package let schema: CatalogSchema?

        package init(_ version: String, _ key: AnyStorageKey, _ names: [String], configurations: [String: [String]] = [:]) {
            allKeys = [key]
            schema = CatalogSchema(
                version, entities: [EntityDescription("NewEntity", names.map { AttributeDescription($0, .string) })],
                configurations: configurations)
        }
    }

    package static func lightweight(_ storage: StorageRouter, _ catalog: Catalog) async throws -> PlanRegistration {
        try await storage.registerCatalog(
            catalog,
            migrationPolicy: .lightweight
        )
    }

    package static func adHoc(_ storage: StorageRouter, _ catalog: Catalog) async throws -> PlanRegistration {
        try await storage.registerCatalog(
            catalog,
            migrationPolicy: .adHoc(
                migrations: [
                    AdHocMigration("OLD_SCHEMA") {
                        AddEntity("NewEntity") {
                            AddAttribute("newProperty", attributeType: .stringAttributeType)
                        }
                    }
                ]
            )
        )
    }

    package static func incremental(_ storage: StorageRouter, _ catalog: Catalog) async throws -> PlanRegistration {
        try await storage.registerCatalog(
            catalog,
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
    }

    package static func composite(_ storage: StorageRouter, _ catalog: Catalog) async throws -> PlanRegistration {
        try await storage.registerCatalog(
            catalog,
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
    }

    /// A custom policy, which uses the short names of this vocabulary and refuses a store of another version.
    package struct Refusing: StorageMigrationPolicy {
        package struct Refused: Error {}
        package init() {}
        package func validateModel(_ schema: CatalogSchema, in store: StoredSchema) async throws -> Bool { store.version == schema.version }
        package func configureStoreDescription(_ description: inout StorageMigrationDescription) {}
        package func resolveIncompatible(dataModel: CatalogSchema, in store: StoredSchema) async throws -> MigrationPolicy {
            throw Refused()
        }
    }
}
