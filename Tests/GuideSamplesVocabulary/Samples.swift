import LocalDataVocabulary

/// The samples of a document about plans for another store, as nearly to the letter as they can be: what loads a container there registers a catalog here.
public enum VocabularySamples {
    /// What older programs stored.
    public struct Old: Codable, Sendable, Identifiable {
        public var id: String
        public var newProperty: String
        public var anotherProperty: String

        public init(id: String, newProperty: String, anotherProperty: String) {
            (self.id, self.newProperty, self.anotherProperty) = (id, newProperty, anotherProperty)
        }
    }

    /// What is stored now.
    public struct New: Codable, Sendable, Identifiable, Equatable {
        public var id: String
        public var newProperty: String

        public init(id: String, newProperty: String) { (self.id, self.newProperty) = (id, newProperty) }
    }

    /// The samples' entity; what it has beside `newProperty` is not stored in a property of its own but in its id.
    public static func old(_ domain: StorageDomain) -> StorageCollection<Old> {
        StorageCollection("NewEntity", domain: domain, owner: "Samples", description: "What the samples store", typeTag: "NewEntity")
    }

    public static func new(_ domain: StorageDomain, version: Int) -> StorageCollection<New> {
        StorageCollection<New>("NewEntity", domain: domain, owner: "Samples", description: "What the samples store", typeTag: "NewEntity")
            .version(version)
    }

    /// The catalog of one version of the samples' program.
    public struct Catalog: StorageKeyCatalog {
        public let id = "samples"
        public let allKeys: [AnyStorageKey]
        public let schema: CatalogSchema?

        public init(_ version: String, _ key: AnyStorageKey, _ names: [String], configurations: [String: [String]] = [:]) {
            allKeys = [key]
            schema = CatalogSchema(
                version, entities: [EntityDescription("NewEntity", names.map { AttributeDescription($0, .string) })],
                configurations: configurations)
        }
    }

    public static func lightweight(_ router: StorageRouter, _ catalog: Catalog) async throws -> MigrationReport {
        try await router.registerCatalog(
            catalog,
            migrationPolicy: .lightweight
        )
    }

    public static func adHoc(_ router: StorageRouter, _ catalog: Catalog) async throws -> MigrationReport {
        try await router.registerCatalog(
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

    public static func incremental(_ router: StorageRouter, _ catalog: Catalog) async throws -> MigrationReport {
        try await router.registerCatalog(
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

    public static func composite(_ router: StorageRouter, _ catalog: Catalog) async throws -> MigrationReport {
        try await router.registerCatalog(
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

    /// The bare names of what the samples leave out, and a policy of one's own under its short name.
    public struct Refusing: MigrationPolicyProtocol {
        public struct Refused: Error {}
        public init() {}
        public func validateModel(_ schema: CatalogSchema, in store: StoredSchema) async throws -> Bool { store.version == schema.version }
        public func configureStoreDescription(_ description: inout StorageMigrationDescription) {}
        public func resolveIncompatible(dataModel: CatalogSchema, in store: StoredSchema) async throws -> MigrationPolicy {
            throw Refused()
        }
    }
}
