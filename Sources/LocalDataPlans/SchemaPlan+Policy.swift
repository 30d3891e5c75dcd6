public import LocalData

extension SchemaPlan {
    /// The way in which a catalog's data is migrated from the stored version to the version that the program declares.
    ///
    /// | policy | use it if |
    /// |---|---|
    /// | ``lightweight`` | all changes can be inferred from the declared schema |
    /// | ``incremental(_:lightWeightBackup:forceValidateModel:)`` | the program describes each version, one after the other |
    /// | ``adHoc(migrations:lightWeightBackup:forceValidateModel:)`` | there are few earlier versions |
    /// | ``composite(adHoc:chain:lightWeightBackup:forceValidateModel:)`` | a chain has steps that are slow one after the other |
    /// | ``custom(_:)`` | the program decides for each store |
    ///
    /// ```swift
    /// do {
    ///     let result = try await storage.registerCatalog(catalog, migrationPolicy: .incremental(chain))
    ///     for step in result.plan.steps { print("\(step.from ?? "no version") -> \(step.to): \(step.records) records") }
    ///     try result.sweep.requireComplete()
    /// } catch StorageError.incompatibleSchema {
    ///     print("A later version of the program has migrated the data. Nothing was changed.")
    /// }
    /// ```
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
        ///
        /// ```swift
        /// let inferred = SchemaPlan.Policy.lightweight
        /// ```
        public static var lightweight: Policy { Policy(form: .lightweight) }

        /// Uses plans that each lead from one earlier version to the declared one. A version stamp is a record beside
        /// the data with its version. If data has no version stamp, the first plan's version counts as its version.
        ///
        /// ```swift
        /// let direct = SchemaPlan.Policy.adHoc(migrations: [shortcut], lightWeightBackup: true)
        /// ```
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
        ///
        /// ```swift
        /// let incremental = SchemaPlan.Policy.incremental(chain)
        /// ```
        public static func incremental(
            _ chain: SchemaPlan.MigrationChain, lightWeightBackup: Bool = false, forceValidateModel: Bool = false
        ) -> Policy {
            Policy(
                form: .plans(adHoc: [], chain: chain),
                options: Options(lightWeightBackup: lightWeightBackup, forceValidateModel: forceValidateModel))
        }

        /// Uses a chain of versions, with shortcuts: a plan that begins at the stored version replaces the chain's steps.
        /// The other parameters are those of ``adHoc(migrations:lightWeightBackup:forceValidateModel:)``.
        ///
        /// ```swift
        /// let composite = SchemaPlan.Policy.composite(adHoc: [shortcut], chain: chain)
        /// ```
        public static func composite(
            adHoc: [SchemaPlan.AdHocMigration], chain: SchemaPlan.MigrationChain, lightWeightBackup: Bool = false,
            forceValidateModel: Bool = false
        ) -> Policy {
            Policy(
                form: .plans(adHoc: adHoc, chain: chain),
                options: Options(lightWeightBackup: lightWeightBackup, forceValidateModel: forceValidateModel))
        }

        /// Uses a custom policy.
        ///
        /// ```swift
        /// do { try await storage.registerCatalog(catalog, migrationPolicy: .custom(NewerOnly())) } catch is NewerOnly.TooOld {
        ///     print("Start version 2 of the program once, and then this version.")
        /// }
        /// ```
        public static func custom(_ policy: any StorageMigrationPolicy) -> Policy {
            Policy(form: .custom(policy))
        }
    }
}

/// A custom policy: code of the program that decides how the stored data is migrated, or refuses it.
///
/// The router calls its functions in the order in which they are declared.
///
/// ```swift
/// struct NewerOnly: StorageMigrationPolicy {
///     struct TooOld: Error {}
///     func validateModel(_ schema: CatalogSchema, in store: StoredSchema) -> Bool { store.version == schema.version }
///     func configureStoreDescription(_ description: inout StorageMigrationDescription) { description.lightWeightBackup = true }
///     func resolveIncompatible(dataModel: CatalogSchema, in store: StoredSchema) throws -> SchemaPlan.Policy {
///         guard store.version != "V1" else { throw TooOld() }  // the router writes nothing, and passes the error to its caller
///         return .lightweight
///     }
/// }
/// ```
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

/// The options of a migration, which a custom policy can set.
///
/// ```swift
/// description.lightWeightBackup = true  // infer the changes if no plan applies
/// description.keepsRemovedEntities = false  // purge the records of removed entities
/// ```
public struct StorageMigrationDescription: Sendable, Hashable {
    /// Whether to fall back to the inferred migration when the chosen plan does not apply or fails.
    public var lightWeightBackup = false
    /// Whether the records of removed entities are kept as backups, unless the plan says otherwise.
    public var keepsRemovedEntities = true
}

/// The schema versions that a catalog's stores record for their data.
///
/// A custom policy receives it to decide what to do.
///
/// ```swift
/// if store.isEmpty { print("There is no data yet.") }
/// print(store.version ?? "The entities have different versions: \(store.versions)")
/// ```
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
