/// A migration whose type is not known where it is used.
public struct AnyStorageMigration: Sendable {
    /// What carries a migration out.
    enum Form: Sendable {
        /// The library itself, in the safe order: a `MigrationStep` of the destination's type.
        case step(any Sendable)
        /// The program's own code.
        case custom(CustomMigration)
    }

    /// The program's own code of a migration.
    struct CustomMigration: Sendable {
        let shouldMigrate: @Sendable (MigrationRun) async throws -> Bool
        let migrate: @Sendable (MigrationRun) async throws -> MigrationResult
    }

    /// The migration's name in the ledger.
    public let id: String
    /// The keys that it reads: legacy locations, or keys of others that are copied.
    public let sources: [AnyStorageKey]
    let form: Form
    /// Whether the sources keep their values.
    let keepsSources: Bool
    /// How long the source is kept up to date; nil where it is emptied at once.
    let window: ReleaseWindow?
    /// What a ready-made migration may do beyond the safe default.
    let options: MigrationOptions?

    /// The sources that are emptied.
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

    /// The step of a ready-made migration; nil for the program's own.
    func step<Value>(for type: Value.Type) -> MigrationStep<Value>? {
        if case .step(let step) = form { step as? MigrationStep<Value> } else { nil }
    }
}
