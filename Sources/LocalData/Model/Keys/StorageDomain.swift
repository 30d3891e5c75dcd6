/// The store of a value: a kind of store, and one store of this kind.
///
/// Programs can add kinds: ``custom(_:scope:)`` names a custom kind, and ``StorageConfiguration/useBackend(for:_:)``
/// provides its backend.
public struct StorageDomain: Hashable, Sendable, Codable, CustomStringConvertible {
    /// A kind of store.
    public struct Kind: Hashable, Sendable, Codable, CustomStringConvertible {
        /// The kind's name.
        public let name: String

        /// Creates a kind. The names of the static members are reserved.
        public init(_ name: String) { self.name = name }

        /// Property lists, one for each suite.
        public static let userDefaults = Kind("userDefaults")
        /// The keyring of the user's session.
        public static let keychain = Kind("keychain")
        /// Encrypted rows in SQLite databases.
        public static let encryptedSQLite = Kind("encryptedSQLite")
        /// The memory of this process.
        public static let memory = Kind("memory")

        /// The kind's name.
        public var description: String { name }
    }

    /// The kind of store.
    public let kind: Kind
    /// The store of this kind: a suite, a service or a database. Nil stands for the default of the configuration.
    public let scope: String?

    package init(kind: Kind, scope: String?) {
        self.kind = kind
        self.scope = scope
    }

    /// A property list in the configuration directory. Its path and format are those of Foundation's `UserDefaults`.
    /// - Parameter suite: The suite's name, never a path; nil for ``StorageConfiguration/userDefaultsName``.
    public static func userDefaults(suite: String?) -> StorageDomain { StorageDomain(kind: .userDefaults, scope: suite) }

    /// The property list of the configuration's default suite.
    public static let userDefaults = StorageDomain.userDefaults(suite: nil)

    /// The items of one service in the session's keyring.
    /// - Parameter service: The service; nil for ``StorageConfiguration/applicationID``.
    public static func keychain(service: String?) -> StorageDomain { StorageDomain(kind: .keychain, scope: service) }

    /// The items of the configuration's default service.
    public static let keychain = StorageDomain.keychain(service: nil)

    /// Encrypted rows in an SQLite database.
    /// - Parameter database: The database's name, never a path.
    public static func encryptedSQLite(database: String) -> StorageDomain { StorageDomain(kind: .encryptedSQLite, scope: database) }

    /// The memory of this process. The values are lost when the router is released.
    public static func memory(_ name: String = "default") -> StorageDomain { StorageDomain(kind: .memory, scope: name) }

    /// A store of a custom backend.
    /// - Parameters:
    ///   - backend: The kind's name.
    ///   - scope: The store of this kind.
    public static func custom(_ backend: String, scope: String) -> StorageDomain { StorageDomain(kind: Kind(backend), scope: scope) }

    /// The kind and the scope.
    public var description: String { scope.map { "\(kind)(\($0))" } ?? "\(kind)" }
}
