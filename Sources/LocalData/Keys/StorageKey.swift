/// What a value is called, where it lives, how it is protected and coded, who owns it, and where it used to live.
///
/// A key holds no value and opens nothing; making one is free. The closure given as `migration` is only called when the router needs it.
public struct StorageKey<Value: Codable & Sendable>: Sendable {
    /// The name of the slot in its domain.
    public let name: String
    /// Where the value lives.
    public let domain: StorageDomain
    /// How the value is protected, beyond what the domain does by itself.
    public let security: SecurityPolicy
    /// How the value becomes bytes.
    public let serializer: Serializer<Value>
    /// The part of the program that answers for the value.
    public let owner: String
    /// What the value is, for people.
    public let description: String
    /// What `get` returns when the value is absent. It is never written by itself.
    public let defaultValue: Value?

    /// What happens when an older place holds something else than this key's place.
    public private(set) var conflictPolicy: ConflictPolicy<Value> = .destinationWins

    private var migrationMakers: [@Sendable (StorageKey<Value>) -> AnyStorageMigration] = []

    /// Creates a key.
    /// - Parameters:
    ///   - name: The name of the slot: not empty, at most 1,024 bytes of UTF-8, no control characters. Checked on first use.
    ///   - domain: Where the value lives.
    ///   - security: How it is protected, beyond what the domain does by itself.
    ///   - serializer: How it becomes bytes.
    ///   - owner: The part of the program that answers for it.
    ///   - description: What it is, for people.
    ///   - defaultValue: What `get` returns when it is absent.
    ///   - migration: Makes the migration that brings the value here. Called when needed, never by this initialiser.
    public init(
        name: String, domain: StorageDomain, security: SecurityPolicy = .automatic, serializer: Serializer<Value> = .json, owner: String,
        description: String, defaultValue: Value? = nil, migration: (@Sendable (StorageKey<Value>) -> AnyStorageMigration)? = nil
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

    /// This key with another rule for what to do when an older place holds something else. The rule is applied by a sweep, never by a read.
    public func resolvingConflicts(_ policy: ConflictPolicy<Value>) -> Self {
        var key = self
        key.conflictPolicy = policy
        return key
    }

    /// The destination as its own migrations see it: a key that does not lead back to them.
    private var migratingNothing: Self {
        var key = self
        key.migrationMakers = []
        return key
    }
}

/// ``StorageKey``, under a name that does not meet other modules' types of that name.
public typealias LocalDataKey = StorageKey
