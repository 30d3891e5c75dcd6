/// Where a value lives: a kind of store, and which one of that kind.
///
/// Open, not a closed enumeration: a kind of one's own is made with ``custom(_:scope:)`` and plugged in with
/// ``StorageConfiguration/useBackend(for:_:)``.
public struct StorageDomain: Hashable, Sendable, Codable, CustomStringConvertible {
    /// A kind of store.
    public struct Kind: Hashable, Sendable, Codable, CustomStringConvertible {
        /// The kind's name.
        public let name: String

        /// Creates a kind; the names of the static members are taken.
        public init(_ name: String) { self.name = name }

        /// Property lists, one per suite.
        public static let userDefaults = Kind("userDefaults")
        /// The keyring of the session.
        public static let keychain = Kind("keychain")
        /// Sealed rows in SQLite.
        public static let encryptedSQLite = Kind("encryptedSQLite")
        /// Memory of this process.
        public static let memory = Kind("memory")

        /// The kind's name.
        public var description: String { name }
    }

    /// The kind of store.
    public let kind: Kind
    /// Which store of its kind: a suite, a service, a database; nil for the configuration's own.
    public let scope: String?

    package init(kind: Kind, scope: String?) {
        self.kind = kind
        self.scope = scope
    }

    /// A property list in the configuration directory, at the path and in the format of Foundation's `UserDefaults`.
    /// - Parameter suite: The suite's name, never a path; nil for the configuration's ``StorageConfiguration/userDefaultsName``.
    public static func userDefaults(suite: String?) -> StorageDomain { StorageDomain(kind: .userDefaults, scope: suite) }

    /// The property list of the configuration's own suite.
    public static let userDefaults = StorageDomain.userDefaults(suite: nil)

    /// Items of one service in the session's keyring.
    /// - Parameter service: The service; nil for the configuration's ``StorageConfiguration/applicationID``.
    public static func keychain(service: String?) -> StorageDomain { StorageDomain(kind: .keychain, scope: service) }

    /// The items of the configuration's own service.
    public static let keychain = StorageDomain.keychain(service: nil)

    /// Sealed rows in an SQLite database.
    /// - Parameter database: The database's name, never a path.
    public static func encryptedSQLite(database: String) -> StorageDomain { StorageDomain(kind: .encryptedSQLite, scope: database) }

    /// Memory of this process: gone with the router.
    public static func memory(_ name: String = "default") -> StorageDomain { StorageDomain(kind: .memory, scope: name) }

    /// A store that was plugged in.
    /// - Parameters:
    ///   - backend: The kind's name.
    ///   - scope: Which store of that kind.
    public static func custom(_ backend: String, scope: String) -> StorageDomain { StorageDomain(kind: Kind(backend), scope: scope) }

    /// The kind and the scope.
    public var description: String { scope.map { "\(kind)(\($0))" } ?? "\(kind)" }
}
