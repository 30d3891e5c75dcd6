/// What a migration is told about its run.
public struct MigrationContext: Sendable {
    /// Why a migration runs.
    public enum Reason: String, Hashable, Sendable, Codable {
        /// A value was asked for and is not in its place.
        case read
        /// A sweep visits the key.
        case sweep
        /// ``StorageRouter/forceMigration(for:)`` was called.
        case forced
    }

    /// The application's id.
    public let applicationID: String
    /// The application's version, if the configuration names one.
    public let applicationVersion: String?
    /// The version that completed the last sweep of the key's catalog; nil when none has, when it named none, or when the key is in no catalog.
    public let previousVersion: String?
    /// Why the migration runs.
    public let reason: Reason

    let router: StorageRouter

    /// Moves a value between two keys in the safe order: read, transform, write to an empty place, make it durable, read it back, and only then remove
    /// the old one. Nothing is replaced: where the destination holds a value already, it stays.
    /// - Parameters:
    ///   - source: Where the value is.
    ///   - destination: Where it is to be.
    ///   - options: What the move may do beyond the safe default.
    ///   - transform: Makes the new value; it may run again after a crash.
    /// - Returns: The result; its `source` is nil when there was nothing to move.
    /// - Throws: ``StorageError``; the old value is then where it was.
    @discardableResult
    public func move<Source, Value>(
        from source: StorageKey<Source>, to destination: StorageKey<Value>, options: MigrationOptions = MigrationOptions(),
        transform: @escaping @Sendable (Source) throws -> Value
    ) async throws -> MigrationResult {
        let migration = TransformingMigration(destinationKey: destination, sourceKey: source, options: options, transform: transform)
        return try await migration.migrate(using: router, context: self)
    }
}
