/// A migration that a program implements itself, for values that the migrations of the library cannot move.
///
/// Conform to this protocol if the source is only known at run time, for example. First try
/// ``StorageKey/moved(from:id:options:)``, which needs no code. In ``migrate(using:context:)``, use the router that the
/// function receives. To move a value without a risk of losing it, call
/// ``MigrationContext/move(from:to:options:transform:)``.
///
/// ```swift
/// struct TokenOfTheAccountInUse: StorageMigration {
///     var destinationKey: StorageKey<String> { .apiToken }
///     var sources: [AnyStorageKey] { [.key(work), .key(home)] }
///     var work: StorageKey<String> { older.key("token.work", "The token of the account for work") }
///     var home: StorageKey<String> { older.key("token.home", "The token of the private account") }
///
///     func shouldMigrate(using storage: StorageRouter, context: MigrationContext) async throws -> Bool {
///         if try await storage.exists(work) { return true }
///         return try await storage.exists(home)
///     }
///     func migrate(using storage: StorageRouter, context: MigrationContext) async throws -> MigrationResult {
///         try await context.move(from: storage.exists(work) ? work : home, to: destinationKey) { $0 }
///     }
/// }
/// ```
///
/// If a function of the migration throws an error that is not a ``StorageError``, the call that ran it throws
/// `migrationFailed`. In a sweep, the row of the key has the state ``MigrationReport/State/failed``. A plan
/// (``StorageRouter/planSweep()``) does not run custom migrations.
public protocol StorageMigration: Sendable {
    /// The type of the value at the destination.
    associatedtype Value: Codable & Sendable

    /// The migration's name in the migration ledger, which records the migrations on this machine. By default it
    /// consists of the destination's name and the type's name.
    var id: String { get }

    /// The key of the destination.
    var destinationKey: StorageKey<Value> { get }

    /// The legacy locations that the migration reads. ``StorageRouter/remove(_:)`` also removes the values there. By
    /// default there are none.
    var sources: [AnyStorageKey] { get }

    /// Returns whether the migration wants to run.
    ///
    /// The router asks when the destination has no value. In a sweep (the migration of all keys) or a forced migration,
    /// it also asks when the destination has a value. It does not ask after a removal: the value stays removed. The
    /// next sweep then moves values in the declared ``sources`` to the quarantine, for a person to review.
    func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool

    /// Performs the migration. The router may call it again after a crash.
    func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult
}

extension StorageMigration {
    /// The destination's name and the type's name.
    public var id: String { "\(destinationKey.name):\(String(describing: Self.self))" }
    /// No sources.
    public var sources: [AnyStorageKey] { [] }
}

/// A migration that the library performs. It deletes a source only after the value is durable at the destination.
protocol ReadyMadeMigration<Value>: StorageMigration {
    var step: MigrationStep<Value> { get }
}

/// A migration that contains and runs another migration.
protocol WrappingMigration<Value>: StorageMigration {
    /// The step of the wrapped migration; nil if it is a custom migration.
    var wrappedStep: MigrationStep<Value>? { get }
}

extension MigrationStep {
    /// Returns the step that the library performs; nil for a custom migration.
    static func of<Migration: StorageMigration>(_ migration: Migration) -> MigrationStep<Migration.Value>? {
        if let ready = migration as? any ReadyMadeMigration<Migration.Value> { return ready.step }
        return (migration as? any WrappingMigration<Migration.Value>)?.wrappedStep
    }
}

extension AnyStorageMigration {
    /// Erases a migration's type.
    public init<Migration: StorageMigration>(_ migration: Migration) {
        if let step = MigrationStep<Migration.Value>.of(migration) {
            self.init(step)
            return
        }
        self.init(
            id: migration.id, sources: migration.sources,
            CustomMigration(
                shouldMigrate: { run in
                    let router = try run.router
                    return try await migration.shouldMigrate(using: router, context: MigrationContext(run, router))
                },
                migrate: { run in
                    let router = try run.router
                    return try await migration.migrate(using: router, context: MigrationContext(run, router))
                }))
    }
}
