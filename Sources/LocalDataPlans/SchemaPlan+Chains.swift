public import LocalData

extension SchemaPlan {
    /// A program's own work around a step.
    public typealias Hook = @Sendable (StorageRouter) async throws -> Void

    /// What kind of step leads to a version.
    public enum Stage: Sendable, Hashable {
        /// Only what can be inferred: optional attributes or ones with a default, other names, fewer attributes. Anything else is refused before anything is written.
        case lightweight
        /// Anything, with hooks before and after.
        case custom
    }

    /// The step that leads to a version from the one before it in the chain. The first of a chain describes the version that it begins with.
    public struct ModelMigration: Sendable {
        let version: String
        let stage: Stage
        let willMigrate: Hook?
        let didMigrate: Hook?
        let changes: [EntityChange]

        /// Describes a step.
        /// - Parameters:
        ///   - version: The version that it leads to; the name is persisted.
        ///   - stage: Whether it may be more than what can be inferred.
        ///   - willMigrate: Called before the step's changes. After a crash it may be called again, if that came before its end was noted; so with `didMigrate`.
        ///   - didMigrate: Called after the step's changes, and before the version is stamped.
        ///   - changes: What changes, in this order.
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

    /// A step that leads from one version straight to a later one.
    public struct AdHocMigration: Sendable {
        let name: String
        let target: String?
        let changes: [EntityChange]

        /// Describes a step that leads to the current version.
        /// - Parameters:
        ///   - name: The version that it begins at. Beside a chain also `V1ToV2`, if `V1` and `V2` are versions of the chain and `V1ToV2` is none: from the one to the other.
        ///   - changes: What changes, in this order.
        public init(_ name: String, @EntityChanges _ changes: () -> [EntityChange]) {
            self.name = name
            target = nil
            self.changes = changes()
        }

        /// Describes a step between two versions.
        /// - Parameters:
        ///   - version: The version that it begins at.
        ///   - target: The version that it leads to.
        ///   - changes: What changes, in this order.
        public init(from version: String, to target: String, @EntityChanges _ changes: () -> [EntityChange]) {
            name = version
            self.target = target
            self.changes = changes()
        }
    }

    /// The versions of a catalog, each with the step that leads to it from the one before.
    public struct MigrationChain: Sendable {
        let migrations: [ModelMigration]

        /// Puts a chain together.
        public init(@Builder _ migrations: () -> [ModelMigration]) { self.migrations = migrations() }

        /// Puts a chain together of steps that were made elsewhere.
        public init(_ migrations: [ModelMigration]) { self.migrations = migrations }

        /// Puts the steps of a chain together.
        @resultBuilder public enum Builder {
            /// One step.
            public static func buildExpression(_ migration: ModelMigration) -> [ModelMigration] { [migration] }
            /// Steps that were put together elsewhere.
            public static func buildExpression(_ migrations: [ModelMigration]) -> [ModelMigration] { migrations }
            /// One after the other.
            public static func buildBlock(_ parts: [ModelMigration]...) -> [ModelMigration] { parts.flatMap(\.self) }
            /// Those of an `if`.
            public static func buildOptional(_ part: [ModelMigration]?) -> [ModelMigration] { part ?? [] }
            /// Those of the first branch.
            public static func buildEither(first part: [ModelMigration]) -> [ModelMigration] { part }
            /// Those of the other branch.
            public static func buildEither(second part: [ModelMigration]) -> [ModelMigration] { part }
            /// Those of a loop.
            public static func buildArray(_ parts: [[ModelMigration]]) -> [ModelMigration] { parts.flatMap(\.self) }
        }
    }
}
