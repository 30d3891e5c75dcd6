public import LocalData

extension SchemaPlan {
    /// A closure of the program that runs before or after a step. A step changes the stored data from one schema
    /// version to a later one.
    public typealias Hook = @Sendable (StorageRouter) async throws -> Void

    /// The kind of changes that a step may make.
    ///
    /// ```swift
    /// let inferred = SchemaPlan.ModelMigration("V2", stage: .lightweight) {  // refused if a change cannot be inferred
    ///     SchemaPlan.UpdateEntity("notes") { SchemaPlan.AddAttribute("color", attributeType: .string, optional: true) }
    /// }
    /// ```
    public enum Stage: Sendable, Hashable {
        /// Only changes that can be inferred: new attributes that are optional or have a default, renamed attributes, and removed
        /// attributes. A plan with any other change fails before anything is written.
        case lightweight
        /// Any change, with hooks before and after the step.
        case custom
    }

    /// A step of a plan from the previous version to the next one. The first step of a chain describes the version at
    /// which the chain begins.
    ///
    /// ```swift
    /// let step = SchemaPlan.ModelMigration(
    ///     "V2", didMigrate: { storage in print(try await storage.count(in: notes), "notes were migrated") }
    /// ) {
    ///     SchemaPlan.UpdateEntity("notes") { SchemaPlan.AddAttribute("stars", attributeType: .integer, default: 0) }
    /// }
    /// ```
    ///
    /// If the step fails, completed steps keep their effects, and no data is lost. The next run continues with this
    /// step.
    public struct ModelMigration: Sendable {
        let version: String
        let stage: Stage
        let willMigrate: Hook?
        let didMigrate: Hook?
        let changes: [EntityChange]

        /// Describes a step.
        /// - Parameters:
        ///   - version: The version after the step. The name is persisted.
        ///   - stage: The kind of changes that the step may make.
        ///   - willMigrate: Called before the changes of the step. After a crash it may be called again, even if it had completed.
        ///   - didMigrate: Called after the changes of the step, and before the new version is recorded in the stores
        ///     (stamped). After a crash it may be called again, too.
        ///   - changes: The changes, in the order in which they are made.
        public init(
            _ version: String, stage: Stage = .custom, willMigrate: Hook? = nil, didMigrate: Hook? = nil,
            @EntityChanges _ changes: () -> [EntityChange]
        ) {
            self.version = version
            self.stage = stage
            self.willMigrate = willMigrate
            self.didMigrate = didMigrate
            self.changes = changes()
        }
    }

    /// A step of a plan directly from one version to a later one, outside the chain.
    ///
    /// Use it as a shortcut, or if the program supports only a few earlier versions.
    ///
    /// ```swift
    /// let shortcut = SchemaPlan.AdHocMigration(from: "V1", to: "V3") {
    ///     SchemaPlan.UpdateEntity("notes") { SchemaPlan.UpdateAttribute("name", to: "heading") }
    /// }
    /// ```
    public struct AdHocMigration: Sendable {
        let name: String
        let target: String?
        let changes: [EntityChange]

        /// Describes a step that leads to the current version.
        /// - Parameters:
        ///   - name: The version before the step. If the policy also has a chain, the name may be `V1ToV2`: then the step leads from the
        ///     version `V1` of the chain to the version `V2`. This applies only if the chain has both versions, and has no version that
        ///     is called `V1ToV2`.
        ///   - changes: The changes, in the order in which they are made.
        public init(_ name: String, @EntityChanges _ changes: () -> [EntityChange]) {
            self.name = name
            target = nil
            self.changes = changes()
        }

        /// Describes a step between two versions.
        /// - Parameters:
        ///   - version: The version before the step.
        ///   - target: The version after the step.
        ///   - changes: The changes, in the order in which they are made.
        public init(from version: String, to target: String, @EntityChanges _ changes: () -> [EntityChange]) {
            name = version
            self.target = target
            self.changes = changes()
        }
    }

    /// The versions of a catalog in order, each with the step from the previous version.
    ///
    /// ```swift
    /// let chain = SchemaPlan.MigrationChain {
    ///     first  // describes the version at which the chain begins
    ///     second  // leads from the first version to the second one
    /// }
    /// ```
    public struct MigrationChain: Sendable {
        let migrations: [ModelMigration]

        /// Creates a chain from the steps in a result builder.
        public init(@Builder _ migrations: () -> [ModelMigration]) { self.migrations = migrations() }

        /// Creates a chain from an array of steps.
        public init(_ migrations: [ModelMigration]) { self.migrations = migrations }

        /// Builds the steps of a chain.
        @resultBuilder public enum Builder {
            /// One step.
            public static func buildExpression(_ migration: ModelMigration) -> [ModelMigration] { [migration] }
            /// An array of steps.
            public static func buildExpression(_ migrations: [ModelMigration]) -> [ModelMigration] { migrations }
            /// All steps of a block, in order.
            public static func buildBlock(_ parts: [ModelMigration]...) -> [ModelMigration] { parts.flatMap(\.self) }
            /// The steps of an `if` without an `else`.
            public static func buildOptional(_ part: [ModelMigration]?) -> [ModelMigration] { part ?? [] }
            /// The steps of the first branch.
            public static func buildEither(first part: [ModelMigration]) -> [ModelMigration] { part }
            /// The steps of the second branch.
            public static func buildEither(second part: [ModelMigration]) -> [ModelMigration] { part }
            /// The steps of a loop.
            public static func buildArray(_ parts: [[ModelMigration]]) -> [ModelMigration] { parts.flatMap(\.self) }
        }
    }
}
