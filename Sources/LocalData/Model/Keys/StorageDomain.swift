/// Names the store of a value: the user defaults, the keyring, an encrypted database, or memory.
///
/// | domain | use it for | protection |
/// |---|---|---|
/// | ``userDefaults`` | settings that other programs may read | none, unless the key asks for encryption |
/// | ``keychain`` | a few small secrets | the keyring of the user's session |
/// | ``encryptedSQLite(database:)`` | private data and many records | encrypted with a key of the configuration |
/// | ``memory(_:)`` | values of this run | never on a disk |
///
/// A domain contains a kind of store, and one store of this kind. Programs can add kinds: ``custom(_:scope:)`` names a
/// custom kind, and ``StorageConfiguration/useBackend(for:_:)`` provides its backend.
///
/// ```swift
/// let width = StorageKey<Int>(name: "width", domain: .userDefaults)  // a setting
/// let token = StorageKey<String>(name: "token", domain: .keychain)  // a secret
/// let draft = StorageKey<String>(name: "draft", domain: .encryptedSQLite(database: "editor"))  // private data
/// let cursor = StorageKey<Int>(name: "cursor", domain: .memory())  // only for this run
/// ```
public struct StorageDomain: Hashable, Sendable, Codable, CustomStringConvertible {
    /// A kind of store, such as property lists or databases. Use it to provide a custom backend, or in an instrument.
    ///
    /// ```swift
    /// let kind = StorageDomain.encryptedSQLite(database: "editor").kind
    /// print(kind, kind == .encryptedSQLite)  // encryptedSQLite true
    /// ```
    public struct Kind: Hashable, Sendable, Codable, CustomStringConvertible {
        /// The kind's name.
        public let name: String

        /// Creates a kind. The names of the static members are reserved. A kind without a backend in the configuration
        /// is `unavailable` at its first use.
        ///
        /// ```swift
        /// do {
        ///     try await storage.set("Hello", for: StorageKey(name: "motd", domain: .custom("etcd", scope: "cluster-1")))
        /// } catch StorageError.unavailable {
        ///     // The configuration has no backend of this kind: see `useBackend(for:_:)`.
        /// }
        /// ```
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
    ///
    /// ```swift
    /// let shared = StorageDomain.userDefaults(suite: "com.example.shared")  // the file com.example.shared.plist
    /// ```
    /// - Parameter suite: The suite's name, never a path; nil for ``StorageConfiguration/userDefaultsName``.
    public static func userDefaults(suite: String?) -> StorageDomain { StorageDomain(kind: .userDefaults, scope: suite) }

    /// The property list of the configuration's default suite.
    public static let userDefaults = StorageDomain.userDefaults(suite: nil)

    /// The items of one service in the session's keyring.
    ///
    /// ```swift
    /// let mail = StorageDomain.keychain(service: "com.example.mail")  // also for another program of the same user
    /// ```
    /// - Parameter service: The service; nil for ``StorageConfiguration/applicationID``.
    public static func keychain(service: String?) -> StorageDomain { StorageDomain(kind: .keychain, scope: service) }

    /// The items of the configuration's default service.
    public static let keychain = StorageDomain.keychain(service: nil)

    /// Encrypted rows in an SQLite database.
    ///
    /// ```swift
    /// let archive = StorageKey<String>(name: "index", domain: .encryptedSQLite(database: "archive"))
    /// ```
    /// - Parameter database: The database's name, never a path.
    public static func encryptedSQLite(database: String) -> StorageDomain { StorageDomain(kind: .encryptedSQLite, scope: database) }

    /// The memory of this process. The values are lost when the router is released.
    ///
    /// ```swift
    /// let scratch = StorageKey<[String]>(name: "undo", domain: .memory("editor"), defaultValue: [])
    /// ```
    public static func memory(_ name: String = "default") -> StorageDomain { StorageDomain(kind: .memory, scope: name) }

    /// A store of a custom backend.
    ///
    /// ```swift
    /// let remote = StorageKey<String>(name: "motd", domain: .custom("etcd", scope: "cluster-1"))
    /// ```
    /// - Parameters:
    ///   - backend: The kind's name.
    ///   - scope: The store of this kind.
    public static func custom(_ backend: String, scope: String) -> StorageDomain { StorageDomain(kind: Kind(backend), scope: scope) }

    /// The kind and the scope.
    public var description: String { scope.map { String(joining: [kind.name, "(", $0, ")"]) } ?? kind.name }
}
