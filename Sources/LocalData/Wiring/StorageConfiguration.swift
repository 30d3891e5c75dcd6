package import BackendContract
package import BackendRuntime
public import Foundation
public import Logging
import MemoryBackend
package import Sealing
import Synchronization

/// The settings of a router: the folders, the application's id, the sources of sealing keys, and more.
///
/// Begin with ``xdg(applicationID:version:)`` for a desktop program, ``service(applicationID:version:)`` for a service
/// of systemd, ``init(root:applicationID:version:)`` for one folder, and ``inMemory()`` for tests. A configuration
/// opens no store, and creating it never fails. Errors in it are thrown when a key is first used. A router copies its
/// configuration: later changes of the variable have no effect on it.
///
/// ```swift
/// var configuration = StorageConfiguration.xdg(applicationID: "com.example.notes", version: "2.0")
/// configuration.requiresRegistration = true
/// let storage = StorageRouter(configuration: configuration)
/// do {
///     try await storage.set(900, for: .width)
/// } catch StorageError.unregisteredKey {
///     // Register the catalog that contains this key first.
/// }
/// ```
public struct StorageConfiguration: Sendable {
    enum Place: Sendable {
        case directories(StorageDirectories)
        case xdg
        case service
        case memory(MemoryWorld)
        /// Every access to a store is refused. The text is the error message.
        case refused(String)
    }

    /// The application's id, usually in reverse domain notation. It is the default service in the keyring, and the name
    /// of the application's folders.
    public var applicationID: String
    /// The application name that seals include; nil for ``applicationID``. If several tenants share a key, give each
    /// one another name, so that a store of one tenant does not open for another. Programs that share their stores need
    /// the same name.
    ///
    /// ```swift
    /// configuration.sealingContext = "com.example.shop/\(tenant)"  // a store of one tenant does not open for another
    /// ```
    public var sealingContext: String?
    /// The application's version. Migrations with a condition and release windows that end at a version use it.
    public var applicationVersion: String?
    /// The name of the suite for `.userDefaults` without a suite name. By default it is the suite of
    /// `UserDefaults.standard`.
    public var userDefaultsName: String
    /// The source of the sealing key for `.encrypted`, unless a key names another source.
    public var keySource: KeySourceReference
    /// The key sources of single databases that do not use ``keySource``, by the database's name.
    ///
    /// ```swift
    /// configuration.databaseKeySources["payments"] = .passphrase("payments")
    /// ```
    public var databaseKeySources: [String: KeySourceReference] = [:]
    /// The freshness anchors of single databases, by the database's name. An anchor records the latest state of a
    /// database outside of its file.
    ///
    /// If an older copy of the file replaces a database, the router refuses it with `rolledBack`. Without an anchor
    /// this is not detected. The anchor is updated within a second after a commit, and during `synchronize` and
    /// `shutdown`. While the anchor cannot be reached, the database is not opened. A configuration in memory needs no
    /// anchors.
    ///
    /// ```swift
    /// configuration.freshnessAnchors["ledger"] = .file("/mnt/other-disk/ledger.anchor")
    /// ```
    public var freshnessAnchors: [String: FreshnessAnchorPlace] = [:]
    /// The freshness anchors of the vaults that replace a keyring, by the service's name: see ``freshnessAnchors``. The
    /// anchor of a vault must not be in the keyring.
    public var vaultFreshnessAnchors: [String: FreshnessAnchorPlace] = [:]
    /// The location of the domain `.keychain`: by default the session's keyring. A program without a session can choose
    /// a sealed vault, an encrypted database that replaces the keyring.
    ///
    /// ```swift
    /// configuration.keychain = .sealedVault(.credential("vault-key"))
    /// ```
    public var keychain = KeychainPlace.session
    /// Returns the passphrase of a key source by its name, or nil to refuse. The router calls it each time it loads a
    /// key that a passphrase protects, usually once for each source.
    ///
    /// ```swift
    /// configuration.passphrase = { name in await askForPassphrase(name) }
    /// ```
    public var passphrase: (@Sendable (_ name: String) async throws -> String?)?
    /// The scrypt cost of new passphrase files.
    public var scryptCost = ScryptCost.recommended
    /// The custom key sources, by the names that ``KeySourceReference/custom(_:)`` uses.
    public var customKeySources: [String: any CustomKeySource] = [:]
    /// The interval at which the router asks the keyring whether it is locked, while a key from the keyring is in
    /// memory; nil for never.
    ///
    /// If the keyring is locked, the router overwrites its keys in memory, as ``StorageRouter/lock(_:waitingAtMost:)``
    /// does. Values that need these keys are then `locked` until the keyring is unlocked. The router asks periodically,
    /// because a notification of the Secret Service would need a separate thread. A key can therefore stay in memory
    /// for one interval after the lock.
    ///
    /// ```swift
    /// configuration.locksWithKeychain = .seconds(30)
    /// ```
    public var locksWithKeychain: Duration?
    /// Whether the router sends secrets unencrypted to a keyring that does not support encrypted sessions. A process
    /// that can monitor the session bus can then read them. Otherwise the router refuses such a keyring with
    /// `untrusted`. gnome-keyring, oo7, KWallet and KeePassXC support encryption.
    public var allowsUnencryptedKeychainTransport = false
    /// The longest times that calls wait for a store.
    public var deadlines = Deadlines()
    /// Whether the router only accepts keys of registered catalogs.
    public var requiresRegistration = false
    /// The formats of keyring items, by the service's name. Use them for services that other tools share.
    ///
    /// ```swift
    /// configuration.keychainStyles["com.example.backup"] = .pythonKeyring  // a Python script reads these items
    /// ```
    public var keychainStyles: [String: KeyringStyle] = [:]
    /// The logger for operators. It receives messages about incomplete sweeps and similar events. Each
    /// message has the metadata `event` with the name of a ``StorageEvent``. No message contains a value, or the name of
    /// a record.
    ///
    /// ```swift
    /// configuration.logger = Logger(label: "com.example.notes.storage")
    /// ```
    public var logger = Logger(label: "LocalData")
    /// The observers of the router's calls and events, for metrics and traces. The first one is the outermost.
    ///
    /// ```swift
    /// configuration.instruments.append(CallLog())
    /// ```
    public var instruments: [any StorageInstrument] = []

    /// Passes events to the logger and the instruments.
    var events: EventReport { EventReport(logger: logger, instruments: instruments) }

    /// The clock, random numbers, tasks, serial queues and files that the router uses. Tests and simulations replace
    /// them.
    package var runtime: Runtime

    /// The number of records of a collection that are read in one page, and written in one commit.
    package var pageSize = 256
    /// Whether a released router closes its stores. It is false for routers that only record writes, because they share
    /// the stores of another router. It is also false in simulations, where the release of a router simulates a killed
    /// process.
    package var closesWhenReleased = true
    /// In simulations and tests, creates one of the library's internal stores: the ledger, the quarantine, or the
    /// witnesses (the records that values exist). Otherwise nil.
    package var makeOwnStore: (@Sendable (_ name: String, _ configuration: StorageConfiguration) throws -> any StorageBackend)?

    /// Whether the ledger records the application as an owner of the stores. It is false for a tool to which no application id was given.
    package var recordsOwner = true
    /// Whether the property list ``userDefaultsName`` belongs to the program. It is false for a tool, whose executable is another one.
    package var ownsStandardList = true

    /// The providers of all backends: those of the library, and those that other products add.
    package var providers: [any BackendProvider] = Wiring.providers

    var place: Place
    var makers: [StorageDomain.Kind: @Sendable (String) throws -> any StorageBackend] = [:]

    init(applicationID: String, version: String? = nil, place: Place, keySource: KeySourceReference, runtime: Runtime = .live) {
        self.applicationID = applicationID
        applicationVersion = version
        userDefaultsName = runtime.host.executableName
        (self.place, self.keySource, self.runtime) = (place, keySource, runtime)
    }

    /// The configuration of a program that sets none. It uses the executable's name as the application id, and the XDG
    /// folders.
    ///
    /// In a test process it refuses every access, so that no test writes into a home directory. Use the trait
    /// `.isolatedStorage` in tests.
    ///
    /// ```swift
    /// let byDefault = StorageRouter(configuration: .default)  // the router that `StorageRouter.shared` uses without a bootstrap
    /// ```
    public static let `default`: StorageConfiguration = {
        let runtime = Runtime.live
        let name = runtime.host.executableName
        // Reason: "A test process has no default storage" in Docs/Decisions/Tests.md.
        let place: Place =
            TestProcess.isCurrent
            ? .refused(
                "A test must not use the storage of the person who runs it. Give the test or its suite the trait .isolatedStorage (from LocalDataTesting), or create a router with a configuration."
            ) : .xdg
        return StorageConfiguration(applicationID: name, place: place, keySource: .keychain, runtime: runtime)
    }()

    /// Returns a configuration with the folders of the user's session: `XDG_CONFIG_HOME`, `XDG_DATA_HOME`,
    /// `XDG_STATE_HOME`, or their defaults in `HOME`. Sealing keys are stored in the keyring.
    ///
    /// ```swift
    /// let desktop = StorageConfiguration.xdg(applicationID: "com.example.notes", version: "2.0")
    /// ```
    public static func xdg(applicationID: String, version: String? = nil) -> StorageConfiguration {
        StorageConfiguration(applicationID: applicationID, version: version, place: .xdg, keySource: .keychain)
    }

    /// Returns a configuration that stores everything in `STATE_DIRECTORY/LocalData`, with the layout of
    /// ``init(root:applicationID:version:)``. systemd sets the variable for a service with `StateDirectory=`. The
    /// sealing key is a file in this folder with the permissions 0600.
    ///
    /// ```swift
    /// let service = StorageConfiguration.service(applicationID: "com.example.shop", version: "2.0")
    /// print(try service.directories?.data ?? "no folders")  // throws `unavailable` without STATE_DIRECTORY and HOME
    /// ```
    public static func service(applicationID: String, version: String? = nil) -> StorageConfiguration {
        StorageConfiguration(applicationID: applicationID, version: version, place: .service, keySource: .localKeyFile)
    }

    /// Creates a configuration that stores everything in one folder. The sealing key is a file in this folder with the
    /// permissions 0600.
    ///
    /// ```swift
    /// let portable = StorageConfiguration(root: URL(filePath: "/var/lib/shop"), applicationID: "com.example.shop")
    /// ```
    /// - Parameters:
    ///   - root: The folder.
    ///   - applicationID: The application's id.
    ///   - version: The application's version, for conditional migrations and release windows.
    public init(root: URL, applicationID: String, version: String? = nil) {
        self.init(
            applicationID: applicationID, version: version, place: .directories(StorageDirectories(root: root)), keySource: .localKeyFile)
    }

    /// Creates a configuration with custom folders. The sealing key is a file in the data folder with the permissions
    /// 0600.
    ///
    /// ```swift
    /// let directories = StorageDirectories(
    ///     preferences: "/srv/shop/settings", data: "/srv/shop/data", state: "/srv/shop/state", locks: "/srv/shop/locks")
    /// let separate = StorageConfiguration(directories: directories, applicationID: "com.example.shop")
    /// ```
    /// - Parameters:
    ///   - directories: The folders.
    ///   - applicationID: The application's id.
    ///   - version: The application's version, for conditional migrations and release windows.
    public init(directories: StorageDirectories, applicationID: String, version: String? = nil) {
        self.init(applicationID: applicationID, version: version, place: .directories(directories), keySource: .localKeyFile)
    }

    /// Returns a configuration without files and D-Bus. Every domain is in memory, and has the capabilities of the real
    /// one.
    ///
    /// The deadlines are ten minutes, so that no test depends on the speed of the machine.
    ///
    /// Configurations from two calls of this function share no data. Two routers with the same configuration share all
    /// data, as if the program had been started again.
    ///
    /// ```swift
    /// let memory = StorageConfiguration.inMemory()
    /// let first = StorageRouter(configuration: memory)
    /// try await first.set("abc", for: .apiToken)
    /// let second = StorageRouter(configuration: memory)  // as if the program had been started again
    /// print(try await second.exists(.apiToken))  // true
    /// ```
    public static func inMemory() -> StorageConfiguration {
        var configuration = StorageConfiguration(applicationID: "in-memory", place: .memory(MemoryWorld()), keySource: .keychain)
        (configuration.userDefaultsName, configuration.deadlines) = ("standard", Deadlines(files: .seconds(600), keychain: .seconds(600)))
        return configuration
    }

    /// The folders; nil for a configuration without folders.
    ///
    /// ```swift
    /// do {
    ///     print(try configuration.directories?.data ?? "in memory")
    /// } catch StorageError.unavailable {
    ///     print("Set HOME, or give the configuration its folders.")
    /// }
    /// ```
    /// - Throws: ``StorageError`` with `unavailable` when no home directory is known.
    public var directories: StorageDirectories? {
        get throws {
            switch place {
            case .directories(let directories): directories
            case .xdg: try .xdg(applicationID: applicationID, host: runtime.host)
            case .service: try .service(applicationID: applicationID, host: runtime.host)
            case .memory, .refused: nil
            }
        }
    }

    /// Sets the backend for a kind of domain. It replaces the library's backend of that kind, if there is one.
    ///
    /// ```swift
    /// configuration.useBackend(for: StorageDomain.Kind("ram")) { scope in ByteStoreBackend(RAMStore(scope)) }
    /// let cursor = StorageKey<Int>(name: "cursor", domain: .custom("ram", scope: "editor"))
    /// ```
    /// - Parameters:
    ///   - kind: The kind.
    ///   - make: Creates the backend of a scope: a suite, a service or another name. The router calls it once for each
    ///     scope, on first use.
    public mutating func useBackend(
        for kind: StorageDomain.Kind, _ make: @escaping @Sendable (_ scope: String) throws -> any StorageBackend
    ) {
        makers[kind] = make
    }

    /// Returns whether the program sets the backend for a kind of domain.
    package func plugsIn(_ kind: StorageDomain.Kind) -> Bool { makers[kind] != nil }

    /// Returns the provider of a kind of domain; nil for a kind that only a custom backend can serve.
    package func provider(of kind: StorageDomain.Kind) -> (any BackendProvider)? { providers.first { $0.kind == kind } }

    /// Returns the domain that stores the key of a database, if the key is in a keyring; nil for other key sources.
    package func keyDomain(ofDatabase name: String) -> StorageDomain? {
        let named = databaseKeySources[name] ?? .configured
        guard case .keychain(let service, _) = (named == .configured ? keySource : named).form else { return nil }
        return .keychain(service: service ?? applicationID)
    }

    /// The application name that seals include.
    var sealedApplication: String { sealingContext ?? applicationID }

    /// Returns the identity of a store, which its seals include: the application, the kind and the scope.
    /// - Parameters:
    ///   - kind: The kind of store: that of its domain, or "sqlite" or "vault" for an encrypted database.
    ///   - scope: The database, suite or service.
    package func storeContext(_ kind: String, _ scope: String) -> StoreContext {
        StoreContext(application: sealedApplication, kind: kind, scope: scope)
    }

    /// Returns the identity of the encrypted database that stores a domain.
    /// - Parameter application: The application that the database belongs to; nil for this one.
    package func databaseContext(of domain: StorageDomain, application: String?) -> StoreContext {
        let scope = domain.scope ?? defaultScope(of: domain.kind)
        let own = storeContext(domain.kind == .keychain ? "vault" : "sqlite", scope)
        return StoreContext(application: application ?? own.application, kind: own.kind, scope: scope)
    }

    /// Returns the ids of the applications that the databases in the folders name as their owners. The names are not
    /// verified, so use them only in messages, and against mistakes.
    package func ownersOfDatabases() async -> Set<String> {
        var found: Set<String> = []
        for provider in providers { found.formUnion((try? await provider.applications(self)) ?? []) }
        return found
    }

    /// Whether the configuration stores everything in memory.
    package var isInMemory: Bool { if case .memory = place { true } else { false } }

    /// The key sources of databases and vaults, in addition to ``keySource``.
    package var otherKeySources: [KeySourceReference] {
        Set(databaseKeySources.values).union(keychain.vault.map { [$0] } ?? []).sorted { $0.description < $1.description }
    }

    /// Returns the domain with its scope, also if it is the default one.
    package func scoped(_ domain: StorageDomain) -> StorageDomain {
        StorageDomain(kind: domain.kind, scope: domain.scope ?? defaultScope(of: domain.kind))
    }

    func defaultScope(of kind: StorageDomain.Kind) -> String {
        switch kind {
        case .userDefaults: userDefaultsName
        case .keychain: applicationID
        default: "default"
        }
    }
}

/// Says where the values of the domain `.keychain` are: in the session's keyring, or in an encrypted database.
///
/// Choose ``sealedVault(_:)`` for a machine without a session, such as a server or a container. The keys of the program
/// then need no change.
///
/// ```swift
/// configuration.keychain = .sealedVault(.keyFile("/etc/shop/vault-key"))  // a server has no keyring
/// try await StorageRouter(configuration: configuration).set("abc", for: .apiToken)  // in the encrypted database
/// ```
public struct KeychainPlace: Hashable, Sendable, CustomStringConvertible {
    let vault: KeySourceReference?

    /// The Secret Service of the session, such as GNOME Keyring or KWallet.
    ///
    /// ```swift
    /// configuration.keychain = .session
    /// ```
    public static let session = KeychainPlace(vault: nil)

    /// Encrypted databases of the program, one for each service, for a machine without a session, such as a server or a
    /// container. Only the program chooses this location. Existing items of a keyring are not moved to it.
    ///
    /// ```swift
    /// configuration.keychain = .sealedVault(.passphrase("vault"))
    /// configuration.passphrase = { name in await askForPassphrase(name) }
    /// ```
    /// - Parameter keySource: The source of the vault's key: a key file, a credential, a passphrase or a portal; never
    ///   the keyring.
    public static func sealedVault(_ keySource: KeySourceReference) -> KeychainPlace { KeychainPlace(vault: keySource) }

    /// The location in words.
    public var description: String { vault.map { "sealed vault (\($0))" } ?? "keyring" }
}

extension KeySourceReference {
    /// The key file of a configuration without a keyring: `sealing-key` in its data folder.
    static let localKeyFile = KeySourceReference.keyFile("sealing-key")
}

/// The memory that the routers of one in-memory configuration share.
final class MemoryWorld: Sendable {
    private let media = Mutex<[StorageDomain: MemoryMedium]>([:])

    func medium(_ domain: StorageDomain) -> MemoryMedium { media.value(at: domain) { MemoryMedium() } }
}

/// Detects whether this process runs tests.
enum TestProcess {
    static var isCurrent: Bool {
        let program = CommandLine.arguments.first ?? ""
        let environment = ProcessInfo.processInfo.environment
        return program.hasSuffix(".xctest") || program.hasSuffix("xctest") || program.contains("swiftpm-testing-helper")
            || environment["XCTestConfigurationFilePath"] != nil || environment["XCTestSessionIdentifier"] != nil
    }
}
