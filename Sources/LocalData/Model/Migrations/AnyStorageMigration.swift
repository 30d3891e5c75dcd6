/// A migration of any type, in the form that a key accepts.
///
/// Wrap a migration in it to pass the migration to `StorageKey.init`. A key that is declared with
/// ``StorageKey/moved(from:id:options:)`` needs no such wrapper.
///
/// ```swift
/// let token = StorageKey<String>(
///     name: "token", domain: .keychain, owner: "Accounts", description: "The token of the account in use",
///     migration: { _ in AnyStorageMigration(TokenOfTheAccountInUse()) })
/// ```
public struct AnyStorageMigration: Sendable {
    /// The code that performs a migration.
    enum Form: Sendable {
        /// The library performs the migration. The value is a `MigrationStep` of the destination's type.
        case step(any Sendable)
        /// The program performs the migration.
        case custom(CustomMigration)
    }

    /// The functions of a migration that the program implements.
    struct CustomMigration: Sendable {
        let shouldMigrate: @Sendable (MigrationRun) async throws -> Bool
        let migrate: @Sendable (MigrationRun) async throws -> MigrationResult
    }

    /// The migration's name in the migration ledger, which records the migrations on this machine.
    public let id: String
    /// The keys that the migration reads: other keys that are copied, and legacy locations, where earlier versions of
    /// the program stored the value.
    public let sources: [AnyStorageKey]
    let form: Form
    /// Whether the sources keep their values after the migration.
    let keepsSources: Bool
    /// The time during which the source is kept up to date; nil if the source is emptied at once.
    let window: ReleaseWindow?
    /// The options of the migration; nil if the program performs the migration.
    let options: MigrationOptions?

    /// The sources that the migration empties.
    var legacyLocations: [AnyStorageKey] { keepsSources ? [] : sources }

    init<Value>(_ step: MigrationStep<Value>) {
        id = step.id
        sources = step.sources
        form = .step(step)
        keepsSources = step.keepsSources
        window = step.kept?.window
        options = step.options
    }

    init(id: String, sources: [AnyStorageKey], _ custom: CustomMigration) {
        self.id = id
        self.sources = sources
        form = .custom(custom)
        keepsSources = false
        window = nil
        options = nil
    }

    /// Returns the step that the library performs; nil for a custom migration.
    func step<Value>(for type: Value.Type) -> MigrationStep<Value>? {
        if case .step(let step) = form { step as? MigrationStep<Value> } else { nil }
    }
}
