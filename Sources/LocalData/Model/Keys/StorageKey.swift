/// Describes one stored value: its name, its type, its store, its protection and its legacy locations. A legacy
/// location is a slot where earlier versions of the program stored the value.
///
/// Declare each key once, as a static property of an extension, and pass it to the functions of ``StorageRouter``. Use
/// a ``StorageCollection`` instead for many values of one type. A key contains no value and opens no store. The router
/// creates the migrations of the key only when it needs them.
///
/// ```swift
/// extension StorageKey where Value == Int {
///     static let width = StorageKey(
///         name: "width", domain: .userDefaults, owner: "Window", description: "The window's width in points", defaultValue: 800)
/// }
/// ```
public struct StorageKey<Value: Codable & Sendable>: Sendable {
    /// The properties of a key.
    private struct Properties: Sendable {
        var name: String
        let domain: StorageDomain
        let security: SecurityPolicy
        let owner: String?
        let description: String?
        let serializer: Serializer<Value>
        var lifetime: Duration?
        var evolution: EvolutionChain?
        var evolutionProblem: String?
        var declaredVersion = 1
        var membership: RecordMembership?
        var releaseWindow: ReleaseWindow?
        var isWitnessed = false
        var migrationMakers: [@Sendable (StorageKey<Value>) -> AnyStorageMigration] = []
        var hasMigration = false
        var conflictPolicy: ConflictPolicy<Value> = .destinationWins
        let defaultValue: Value?
    }

    /// Properties that all copies of a key share. A key is copied often, and its size must not depend on its type.
    private final class Shared: Sendable {
        let memory = KeyMemory()
        let properties: Properties
        // These are computed once, because every read needs them.
        let isPlainJSON: Bool
        let isReadInPlace: Bool
        /// The properties of the key before its first migration. This is nil if the key was changed afterwards.
        let bare: Shared?

        init(_ properties: Properties, bare: Shared? = nil) {
            (self.properties, self.bare) = (properties, bare)
            isPlainJSON = properties.serializer.name == "json" && !DeclaredShapes.renames(Value.self)
            isReadInPlace = properties.membership == nil && properties.releaseWindow == nil
        }
    }

    private let shared: Shared

    private init(_ shared: Shared) { self.shared = shared }

    /// Returns this key with changed properties.
    private func changing(_ change: (inout Properties) -> Void) -> Self {
        var properties = shared.properties
        change(&properties)
        return StorageKey(Shared(properties))
    }

    /// The name of the slot in its domain.
    public var name: String { shared.properties.name }
    /// The domain that stores the value.
    public var domain: StorageDomain { shared.properties.domain }
    /// The protection of the value in addition to that of the domain.
    public var security: SecurityPolicy { shared.properties.security }
    /// The encoding of the value as bytes.
    public var serializer: Serializer<Value> { shared.properties.serializer }
    /// Whether the stored bytes are a JSON document with the names of the type's properties.
    var isPlainJSON: Bool { shared.isPlainJSON }
    var isReadInPlace: Bool { shared.isReadInPlace }
    /// The part of the program that is responsible for the value; nil for the owner of its catalog.
    public var owner: String? { shared.properties.owner }
    /// A description of the value for people; nil if the name is enough.
    public var description: String? { shared.properties.description }
    /// The value that `get` returns when the value is absent. `get` does not store it.
    public var defaultValue: Value? { shared.properties.defaultValue }

    /// The policy for a legacy location whose value differs from the value in the key's slot, the destination.
    public var conflictPolicy: ConflictPolicy<Value> { shared.properties.conflictPolicy }

    /// The time after `set` during which the value is valid; nil for an unlimited time.
    public var lifetime: Duration? { shared.properties.lifetime }

    /// The chain of versions that converts stored values to the key's type; nil if there is only one version.
    var evolution: EvolutionChain? { shared.properties.evolution }
    /// The reason why the chain cannot be used; nil for a valid chain. It is determined once, because every call needs
    /// it.
    var evolutionProblem: String? { shared.properties.evolutionProblem }
    /// The additional properties of the key, if it belongs to a record of a collection; nil for a single value.
    var membership: RecordMembership? { shared.properties.membership }

    /// The memory for the value that was read last.
    var memory: KeyMemory { shared.memory }

    /// The release window: the time during which a legacy location is kept up to date. Nil if the key has none.
    var releaseWindow: ReleaseWindow? { shared.properties.releaseWindow }

    /// Whether the key has a witness, which records outside of the store that the value exists: see ``witnessed()``.
    var isWitnessed: Bool { shared.properties.isWitnessed }

    /// Creates a key.
    ///
    /// ```swift
    /// let draft = StorageKey<String>(name: "draft", domain: .userDefaults, owner: "Editor", description: "The text that is not sent yet")
    /// do {
    ///     try await storage.set("Hello", for: draft)
    /// } catch StorageError.invalidName {
    ///     // The name is empty, is longer than 1,024 bytes, or has a control character. The router checks it only now.
    /// }
    /// ```
    /// - Parameters:
    ///   - name: The name of the slot. It is not empty, has at most 1,024 bytes of UTF-8 and contains no control
    ///     characters. The router checks it on first use.
    ///   - domain: The domain that stores the value.
    ///   - security: The protection of the value in addition to that of the domain.
    ///   - serializer: The encoding of the value as bytes.
    ///   - owner: The part of the program that is responsible for the value; nil for the owner of its catalog.
    ///   - description: A description of the value for people; nil if the name is enough.
    ///   - defaultValue: The value that `get` returns when the value is absent.
    ///   - migration: Creates the migration that moves the value to this key. It is called when needed, never by this
    ///     initialiser.
    public init(
        name: String, domain: StorageDomain, security: SecurityPolicy = .automatic, serializer: Serializer<Value> = .json,
        owner: String? = nil, description: String? = nil, defaultValue: Value? = nil,
        migration: (@Sendable (StorageKey<Value>) -> AnyStorageMigration)? = nil
    ) {
        shared = Shared(
            Properties(
                name: name, domain: domain, security: security, owner: owner, description: description, serializer: serializer,
                migrationMakers: migration.map { [$0] } ?? [], hasMigration: migration != nil, defaultValue: defaultValue))
    }

    /// Whether the key has legacy locations or other migrations.
    ///
    /// ```swift
    /// let width = StorageKey<Int>.width.moved(from: StorageKey(name: "w", domain: .userDefaults))
    /// print(width.hasMigration)  // true
    /// ```
    public var hasMigration: Bool { shared.properties.hasMigration }

    /// The migrations of the key, in the order in which they are tried.
    ///
    /// ```swift
    /// for migration in width.migrations { print(migration.id) }
    /// ```
    public var migrations: [AnyStorageMigration] {
        let base = migratingNothing
        return shared.properties.migrationMakers.map { $0(base) }
    }

    /// Returns this key with one more migration, which is tried last.
    func adding(_ migration: @escaping @Sendable (StorageKey<Value>) -> AnyStorageMigration) -> Self {
        let bare = hasMigration || releaseWindow != nil ? migratingNothing.shared : shared
        let key = changing { properties in
            properties.migrationMakers.append(migration)
            properties.hasMigration = true
        }
        return StorageKey(Shared(key.shared.properties, bare: bare))
    }

    /// Returns this key with one more migration, and with the window that keeps the migration's legacy location up to
    /// date.
    func adding(keeping window: ReleaseWindow, _ migration: @escaping @Sendable (StorageKey<Value>) -> AnyStorageMigration) -> Self {
        adding(migration).changing { $0.releaseWindow = window }
    }

    /// Returns this key with a policy for a legacy location whose value differs from the value of the destination.
    /// Sweeps (``StorageRouter/sweep(_:progress:)``) apply the policy; reads never do.
    ///
    /// ```swift
    /// let launches = StorageKey<Int>.launches
    ///     .moved(from: StorageKey(name: "starts", domain: .userDefaults))
    ///     .resolvingConflicts(.merge { current, older in (current ?? 0) + older })
    /// ```
    public func resolvingConflicts(_ policy: ConflictPolicy<Value>) -> Self { changing { $0.conflictPolicy = policy } }

    /// The schema version with which the value is stored; 1 unless the key declares another one.
    public var schemaVersion: Int { evolution?.version ?? shared.properties.declaredVersion }

    /// Returns this key with a chain of versions that converts values of earlier versions. Such a value is converted
    /// when it is read. The converted value is then written back durably.
    ///
    /// ```swift
    /// let author = StorageKey<PersonV2>(name: "author", domain: .userDefaults)
    ///     .evolving(Evolution.from(PersonV1.self).to { old in PersonV2(name: old.fullName) })
    /// do {
    ///     show(try await storage.get(author).name)
    /// } catch StorageError.migrationFailed {
    ///     // A step of the chain has failed. The stored value is unchanged.
    /// }
    /// ```
    /// - Parameter evolution: The chain. It ends in the key's type.
    public func evolving(_ evolution: TypedEvolution<Value>) -> Self { evolving(evolution.chain) }

    /// Returns this key with a chain of versions whose last step produces a document: the stored properties by name,
    /// without a Swift type.
    ///
    /// ```swift
    /// let author = StorageKey<PersonV2>(name: "author", domain: .userDefaults)
    ///     .evolving(Evolution.from(version: 1).to { document in document.rename("fullName", to: "name") })
    /// print(author.schemaVersion)  // 2
    /// ```
    /// - Parameter evolution: The chain. If its last document does not decode as the key's type, the router throws
    ///   `migrationFailed` before it writes anything.
    public func evolving(_ evolution: DocumentEvolution) -> Self { evolving(evolution.chain) }

    func evolving(_ chain: EvolutionChain?) -> Self { changing { ($0.evolution, $0.evolutionProblem) = (chain, chain?.problem) } }

    /// Returns this key with a chain that was already checked.
    func evolving(checked chain: EvolutionChain) -> Self { changing { $0.evolution = chain } }

    /// Returns this key with a schema version other than 1. No chain converts values of other versions. Use it for a
    /// legacy location of another key.
    ///
    /// ```swift
    /// // Release 4 stored the width under another name, and as version 2 of its type.
    /// let older = StorageKey<Int>(name: "window.width", domain: .userDefaults).version(2)
    /// let width = StorageKey<Int>.width.moved(from: older)
    /// ```
    public func version(_ version: Int) -> Self { changing { $0.declaredVersion = version } }

    /// Returns this key with values that expire. Reads treat an expired value as absent.
    /// ``StorageRouter/sweep(_:progress:)`` purges the value, at the earliest a day after a sweep first found it
    /// expired.
    ///
    /// ```swift
    /// let session = StorageKey<String>(name: "session", domain: .keychain).expiring(after: .seconds(3_600))
    /// try await storage.set("abc", for: session)
    /// let token = try await storage.value(for: session)  // nil after an hour; `get` then throws `notFound`
    /// ```
    /// - Parameter lifetime: The time after each `set` during which a value is valid, by the wall clock. A migrated
    ///   value keeps its remaining time.
    public func expiring(after lifetime: Duration) -> Self { changing { $0.lifetime = lifetime } }

    /// Returns this key with a witness: the router records outside of the value's store that the value exists.
    ///
    /// A value can disappear without being removed. For example, a keyring was reset or replaced, or another program
    /// deleted its items. The router then throws `vanished` for reads of this key. It returns no default, and no older
    /// copy replaces the value. This ends when the value is back, when it is set or removed, or when
    /// ``StorageRouter/acknowledgeLoss(for:)`` accepts the loss.
    ///
    /// The list of witnesses is `witness.plist` in the data folder. It identifies values by salted digests. When a
    /// value is first set or read, the witness costs one additional durable change of this list. A removal leaves a
    /// record of the removal (a tombstone) in the slot. Declare the key with its witness in every program that removes
    /// the value: a removal by a program without the witness counts as a loss.
    ///
    /// ```swift
    /// let seed = StorageKey<String>(name: "seed", domain: .keychain).witnessed()
    /// do {
    ///     signIn(with: try await storage.get(seed))
    /// } catch StorageError.vanished {
    ///     // The seed was stored once, and its item is gone. Restore the keyring, or accept the loss with `acknowledgeLoss(for:)`.
    /// }
    /// ```
    public func witnessed() -> Self { changing { $0.isWitnessed = true } }

    /// Returns this key with another membership in a collection.
    func belonging(_ change: (inout RecordMembership?) -> Void) -> Self { changing { change(&$0.membership) } }

    /// Returns a key with the same properties and another name.
    func named(_ name: String) -> Self { changing { $0.name = name } }

    /// This key without its migrations and its release window. Migrations use it as their destination: reading the
    /// destination then does not start the migrations again.
    private var migratingNothing: Self {
        if let bare = shared.bare { return StorageKey(bare) }
        return changing { ($0.migrationMakers, $0.hasMigration, $0.releaseWindow) = ([], false, nil) }
    }
}

/// A second name of ``StorageKey``. Use it in a file where another module also declares a type of that name.
///
/// ```swift
/// let port: LocalDataKey<Int> = StorageKeyGroup(owner: "Server", domain: .userDefaults).key("port", default: 8080)
/// ```
public typealias LocalDataKey = StorageKey
