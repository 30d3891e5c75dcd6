/// Brings a value from where it was to its key's place.
///
/// Conform to it for what the ready-made migrations cannot say. Inside ``migrate(using:context:)`` use the router that is given, and
/// ``MigrationContext/move(from:to:options:transform:)`` for a step that cannot lose a value.
public protocol StorageMigration: Sendable {
    /// The type of the value at the destination.
    associatedtype Value: Codable & Sendable

    /// The migration's name, persisted in the ledger. Defaults to the destination's name and the type's name.
    var id: String { get }

    /// Where the value is to be.
    var destinationKey: StorageKey<Value> { get }

    /// The legacy locations that the migration reads: `remove` clears them too. Defaults to none.
    var sources: [AnyStorageKey] { get }

    /// Whether the migration is to run: asked when the destination is absent, and in a sweep or when forced also when it holds a value. A removal is not asked about: it
    /// stays, and what the declared ``sources`` hold then is quarantined by the next sweep.
    func shouldMigrate(using router: StorageRouter, context: MigrationContext) async throws -> Bool

    /// Does the work. It may be called again after a crash.
    func migrate(using router: StorageRouter, context: MigrationContext) async throws -> MigrationResult
}

extension StorageMigration {
    /// The destination's name and the type's name.
    public var id: String { "\(destinationKey.name):\(String(describing: Self.self))" }
    /// None.
    public var sources: [AnyStorageKey] { [] }
}

/// A migration that the library carries out, in the safe order.
protocol ReadyMadeMigration<Value>: StorageMigration {
    var step: MigrationStep<Value> { get }
}

/// A migration around another one.
protocol WrappingMigration<Value>: StorageMigration {
    /// The step of the inner migration; nil for a program's own.
    var wrappedStep: MigrationStep<Value>? { get }
}

extension MigrationStep {
    /// The step of a ready-made migration; nil for a program's own.
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
