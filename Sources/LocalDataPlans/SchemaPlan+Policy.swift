public import LocalData

extension SchemaPlan {
    /// How a catalog's stored data come from the version that is stored to the one that the program declares.
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

        /// What can be inferred from the declared schema: a missing attribute has its default, a renamed one is found by its original name, and whatever is not declared stays.
        /// Records are only written where their key or collection declares a later version.
        public static var lightweight: Policy { Policy(form: .lightweight) }

        /// Plans that each lead from one earlier version to the declared one. Data without a stamp count as the first plan's version.
        /// - Parameters:
        ///   - migrations: The plans.
        ///   - lightWeightBackup: Whether to infer what is to be done when no plan begins at the stored version, or a plan fails; else that is an error.
        ///   - forceValidateModel: Whether to check the plans against the declared schema also when no migration is due.
        public static func adHoc(
            migrations: [SchemaPlan.AdHocMigration], lightWeightBackup: Bool = false, forceValidateModel: Bool = false
        ) -> Policy {
            Policy(
                form: .plans(adHoc: migrations, chain: nil),
                options: Options(lightWeightBackup: lightWeightBackup, forceValidateModel: forceValidateModel))
        }

        /// A chain of versions, each step between neighbours. Data without a stamp count as the chain's first version. The version is stamped after each step.
        /// The other parameters are those of ``adHoc(migrations:lightWeightBackup:forceValidateModel:)``.
        public static func incremental(
            _ chain: SchemaPlan.MigrationChain, lightWeightBackup: Bool = false, forceValidateModel: Bool = false
        ) -> Policy {
            Policy(
                form: .plans(adHoc: [], chain: chain),
                options: Options(lightWeightBackup: lightWeightBackup, forceValidateModel: forceValidateModel))
        }

        /// A chain of versions, with shorter ways: a plan that begins at the stored version is taken instead of the chain's steps.
        /// The other parameters are those of ``adHoc(migrations:lightWeightBackup:forceValidateModel:)``.
        public static func composite(
            adHoc: [SchemaPlan.AdHocMigration], chain: SchemaPlan.MigrationChain, lightWeightBackup: Bool = false,
            forceValidateModel: Bool = false
        ) -> Policy {
            Policy(
                form: .plans(adHoc: adHoc, chain: chain),
                options: Options(lightWeightBackup: lightWeightBackup, forceValidateModel: forceValidateModel))
        }

        /// A policy of the program's own.
        public static func custom(_ policy: any StorageMigrationPolicy) -> Policy {
            Policy(form: .custom(policy))
        }
    }
}

/// What a policy of a program's own decides; its functions are called in this order.
public protocol StorageMigrationPolicy: Sendable {
    /// Says whether what is stored is as the program declares it: then nothing is done, but for the stamp.
    /// - Throws: What refuses the data: nothing is written, and the caller gets the error.
    func validateModel(_ schema: CatalogSchema, in store: StoredSchema) async throws -> Bool

    /// Says how a migration is to be carried out.
    func configureStoreDescription(_ description: inout StorageMigrationDescription)

    /// Chooses what leads to the declared version; called when ``validateModel(_:in:)`` said no.
    /// - Throws: What refuses the data: nothing is written, and the caller gets the error.
    func resolveIncompatible(dataModel: CatalogSchema, in store: StoredSchema) async throws -> SchemaPlan.Policy
}

/// How a migration is to be carried out.
public struct StorageMigrationDescription: Sendable, Hashable {
    /// Whether to infer what is to be done when the chosen plan does not apply or fails.
    public var lightWeightBackup = false
    /// Whether the records of removed entities are kept as backups, where the plan does not say otherwise.
    public var keepsRemovedEntities = true
}

/// What a catalog's stores say of the schema of what they hold.
public struct StoredSchema: Sendable, Hashable {
    /// The version that each entity was stamped with; those without a stamp are not in it.
    public let versions: [String: String]
    /// The entities of which there is data.
    public let entitiesWithData: Set<String>

    /// Whether there is neither a stamp nor data.
    public var isEmpty: Bool { versions.isEmpty && entitiesWithData.isEmpty }

    /// The one version that everything is stamped with; nil where there is none, or there are several.
    public var version: String? { Set(versions.values).count == 1 ? versions.first?.value : nil }
}
