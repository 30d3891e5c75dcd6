/// What a value is called, where it lives, how it is protected and coded, who owns it, and where it used to live.
///
/// A key holds no value and opens nothing; making one is free. The closure given as `migration` is only called when the router needs it.
public struct StorageKey<Value: Codable & Sendable>: Sendable {
    /// The name of the slot in its domain.
    public private(set) var name: String
    /// Where the value lives.
    public let domain: StorageDomain
    /// How the value is protected, beyond what the domain does by itself.
    public let security: SecurityPolicy
    /// How the value becomes bytes.
    public let serializer: Serializer<Value>
    /// The part of the program that answers for the value; nil for the one that its catalog names.
    public let owner: String?
    /// What the value is, for people; nil where the name says it.
    public let description: String?
    /// What `get` returns when the value is absent. It is never written by itself.
    public let defaultValue: Value?

    /// What happens when a legacy location holds another value than this key's place.
    public private(set) var conflictPolicy: ConflictPolicy<Value> = .destinationWins

    /// How long a value stays valid after it was set; nil for ever.
    public private(set) var lifetime: Duration?

    /// The chain of versions that leads to the value's shape; nil where there is one version only.
    private(set) var evolution: EvolutionChain?
    /// Why the chain is unusable, nil for a sound one; determined once, since every call asks.
    private(set) var evolutionProblem: String?
    private var declaredVersion = 1
    /// What makes the key one of a record in a collection; nil for a plain value.
    var membership: RecordMembership?

    /// How long the older place of the value is kept up to date; nil where none is.
    private(set) var releaseWindow: ReleaseWindow?

    /// Whether it is remembered outside the store that there is a value.
    private(set) var isWitnessed = false

    private var migrationMakers: [@Sendable (StorageKey<Value>) -> AnyStorageMigration] = []

    /// Creates a key.
    /// - Parameters:
    ///   - name: The name of the slot: not empty, at most 1,024 bytes of UTF-8, no control characters. Checked on first use.
    ///   - domain: Where the value lives.
    ///   - security: How it is protected, beyond what the domain does by itself.
    ///   - serializer: How it becomes bytes.
    ///   - owner: The part of the program that answers for it; nil for the one that its catalog names.
    ///   - description: What it is, for people; nil where the name says it.
    ///   - defaultValue: What `get` returns when it is absent.
    ///   - migration: Makes the migration that brings the value here. Called when needed, never by this initialiser.
    public init(
        name: String, domain: StorageDomain, security: SecurityPolicy = .automatic, serializer: Serializer<Value> = .json,
        owner: String? = nil, description: String? = nil, defaultValue: Value? = nil,
        migration: (@Sendable (StorageKey<Value>) -> AnyStorageMigration)? = nil
    ) {
        self.name = name
        self.domain = domain
        self.security = security
        self.serializer = serializer
        self.owner = owner
        self.description = description
        self.defaultValue = defaultValue
        if let migration { migrationMakers = [migration] }
    }

    /// Whether the value may come from somewhere else.
    public var hasMigration: Bool { !migrationMakers.isEmpty }

    /// The migrations that bring the value here, in the order in which they are tried.
    public var migrations: [AnyStorageMigration] {
        let base = migratingNothing
        return migrationMakers.map { $0(base) }
    }

    /// This key with one more migration after those it has.
    func adding(_ migration: @escaping @Sendable (StorageKey<Value>) -> AnyStorageMigration) -> Self {
        var key = self
        key.migrationMakers.append(migration)
        return key
    }

    /// This key with one more migration, whose source is kept up to date.
    func adding(keeping window: ReleaseWindow, _ migration: @escaping @Sendable (StorageKey<Value>) -> AnyStorageMigration) -> Self {
        var key = adding(migration)
        key.releaseWindow = window
        return key
    }

    /// This key with another rule for a legacy location that holds another value. The rule is applied by a sweep, never by a read.
    public func resolvingConflicts(_ policy: ConflictPolicy<Value>) -> Self {
        var key = self
        key.conflictPolicy = policy
        return key
    }

    /// The version of the shape in which the value is stored: 1, unless the key says otherwise.
    public var schemaVersion: Int { evolution?.version ?? declaredVersion }

    /// This key, reading values that were stored in earlier shapes. Such a value is brought to the chain's end when it is read, and written back in its new shape,
    /// durably and in the safe order.
    /// - Parameter evolution: The chain; it ends in the key's own type.
    public func evolving(_ evolution: TypedEvolution<Value>) -> Self { evolving(evolution.chain) }

    /// This key, reading values that were stored in earlier shapes: with a chain whose last step leaves a document, which has to be one of the key's type.
    /// - Parameter evolution: The chain. A document that is not of the key's type at its end is refused with `migrationFailed`, before anything is written.
    public func evolving(_ evolution: DocumentEvolution) -> Self { evolving(evolution.chain) }

    func evolving(_ chain: EvolutionChain?) -> Self {
        var key = self
        key.evolution = chain
        key.evolutionProblem = chain?.problem
        return key
    }

    /// This key with a chain that was checked before.
    func evolving(checked chain: EvolutionChain) -> Self {
        var key = self
        key.evolution = chain
        return key
    }

    /// This key, for values of another version than the first, without a way from other versions: one that a later key names as its source.
    public func version(_ version: Int) -> Self {
        var key = self
        key.declaredVersion = version
        return key
    }

    /// This key, with values that expire: an expired value is absent for every read, and a sweep removes it a day after one found it expired.
    /// - Parameter lifetime: How long a value stays valid after each `set`, by the wall clock. What a migration brings keeps the time that is left to it.
    public func expiring(after lifetime: Duration) -> Self {
        var key = self
        key.lifetime = lifetime
        return key
    }

    /// This key, with a witness: outside the value's store it is remembered that there is a value. A value that is gone without having been removed, since a
    /// keyring was reset, replaced by another one or emptied by another program, is then `vanished`: reads throw it, no default is returned, and no older copy takes
    /// its place, until the value is there again, is set or removed, or ``StorageRouter/acknowledgeLoss(for:)`` accepts the loss.
    ///
    /// The list of witnesses is `witness.plist` in the data folder; it names values by salted digests, and a value in it costs one more durable change of a list when it is
    /// first set or read. A removal leaves a tombstone. Declare the key with its witness in every program that removes the value: a removal by any other
    /// counts as a loss.
    public func witnessed() -> Self {
        var key = self
        key.isWitnessed = true
        return key
    }

    /// The key of another slot that is like this one's.
    func named(_ name: String) -> Self {
        var key = self
        key.name = name
        return key
    }

    /// The destination as its own migrations see it: a key that does not lead back to them.
    private var migratingNothing: Self {
        var key = self
        key.migrationMakers = []
        key.releaseWindow = nil
        return key
    }
}

/// ``StorageKey``, under a name that does not meet other modules' types of that name.
public typealias LocalDataKey = StorageKey
