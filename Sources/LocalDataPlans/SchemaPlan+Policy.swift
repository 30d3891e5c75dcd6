public import LocalData

extension SchemaPlan {
    /// How the router migrates a catalog's data from the stored version to the version that the program declares.
    public struct Policy: Sendable {
        struct Options: Sendable {
            var lightWeightBackup = false
            var forceValidateModel = false
            var keepsRemovedEntities = true
        }

        enum Form: Sendable {
            case lightweight
            case plans(adHoc: [SchemaPlan.AdHocMigration], chain: SchemaPlan.MigrationChain?)
            case custom(any StorageMigrationPolicy)
        }

        let form: Form
        var options = Options()

        /// Infers the migration from the declared schema. A missing attribute gets its default. A renamed attribute is read by its
        /// original name. Attributes that the schema does not declare stay in the record.
        /// Records are written only if their key or collection declares a later version.
        public static var lightweight: Policy { Policy(form: .lightweight) }

        /// Uses plans that each lead from one earlier version to the declared one. A version stamp is a record beside
        /// the data with its version. If data has no version stamp, the first plan's version counts as its version.
        /// - Parameters:
        ///   - migrations: The plans.
        ///   - lightWeightBackup: Whether to fall back to the inferred migration (``lightweight``) when no plan begins
        ///     at the stored version, or when a plan fails. Otherwise the call throws in both cases.
        ///   - forceValidateModel: Whether to check the plans against the declared schema even if no migration is due.
        public static func adHoc(
            migrations: [SchemaPlan.AdHocMigration], lightWeightBackup: Bool = false, forceValidateModel: Bool = false
        ) -> Policy {
            Policy(
                form: .plans(adHoc: migrations, chain: nil),
                options: Options(lightWeightBackup: lightWeightBackup, forceValidateModel: forceValidateModel))
        }

        /// Uses a chain of versions. Each step leads from one version to the next, and stamps that version when it is complete.
        /// Data without a version stamp count as the chain's first version.
        /// The other parameters are those of ``adHoc(migrations:lightWeightBackup:forceValidateModel:)``.
        public static func incremental(
            _ chain: SchemaPlan.MigrationChain, lightWeightBackup: Bool = false, forceValidateModel: Bool = false
        ) -> Policy {
            Policy(
                form: .plans(adHoc: [], chain: chain),
                options: Options(lightWeightBackup: lightWeightBackup, forceValidateModel: forceValidateModel))
        }

        /// Uses a chain of versions, with shortcuts: a plan that begins at the stored version replaces the chain's steps.
        /// The other parameters are those of ``adHoc(migrations:lightWeightBackup:forceValidateModel:)``.
        public static func composite(
            adHoc: [SchemaPlan.AdHocMigration], chain: SchemaPlan.MigrationChain, lightWeightBackup: Bool = false,
            forceValidateModel: Bool = false
        ) -> Policy {
            Policy(
                form: .plans(adHoc: adHoc, chain: chain),
                options: Options(lightWeightBackup: lightWeightBackup, forceValidateModel: forceValidateModel))
        }

        /// Uses a custom policy.
        public static func custom(_ policy: any StorageMigrationPolicy) -> Policy {
            Policy(form: .custom(policy))
        }
    }
}

/// A custom migration policy. The router calls its functions in the order in which they are declared.
public protocol StorageMigrationPolicy: Sendable {
    /// Returns whether the stored data already match the declared schema. If they do, the router only writes the version stamp.
    /// - Throws: An error that rejects the data. The router then writes nothing, and passes the error to its caller.
    func validateModel(_ schema: CatalogSchema, in store: StoredSchema) async throws -> Bool

    /// Sets the options of the migration.
    func configureStoreDescription(_ description: inout StorageMigrationDescription)

    /// Chooses the policy that migrates the data to the declared version. The router calls it after ``validateModel(_:in:)``
    /// returned false.
    /// - Throws: An error that rejects the data. The router then writes nothing, and passes the error to its caller.
    func resolveIncompatible(dataModel: CatalogSchema, in store: StoredSchema) async throws -> SchemaPlan.Policy
}

/// The options of a migration.
public struct StorageMigrationDescription: Sendable, Hashable {
    /// Whether to fall back to the inferred migration when the chosen plan does not apply or fails.
    public var lightWeightBackup = false
    /// Whether the records of removed entities are kept as backups, unless the plan says otherwise.
    public var keepsRemovedEntities = true
}

/// The schema versions that a catalog's stores record for their data.
public struct StoredSchema: Sendable, Hashable {
    /// The stamped version of each entity. Entities without a stamp are missing.
    public let versions: [String: String]
    /// The entities that have data.
    public let entitiesWithData: Set<String>

    /// Whether the stores contain neither a stamp nor data.
    public var isEmpty: Bool { versions.isEmpty && entitiesWithData.isEmpty }

    /// The version of all stamps; nil if there is no stamp, or if the stamps differ.
    public var version: String? { Set(versions.values).count == 1 ? versions.first?.value : nil }
}
