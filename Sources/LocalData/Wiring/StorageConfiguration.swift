package import BackendContract
package import BackendRuntime
public import Foundation
public import Logging
import MemoryBackend
package import Sealing
import Synchronization

/// Where a router keeps things, and with what.
///
/// A configuration opens nothing and never fails; what is wrong with it shows as a typed error when a key is first used.
public struct StorageConfiguration: Sendable {
    enum Place: Sendable {
        case directories(StorageDirectories)
        case xdg
        case service
        case memory(MemoryWorld)
        /// Refuses everything, with this explanation.
        case refused(String)
    }

    /// The application's id, in reverse domain notation by custom: the keyring's default service and the name of the application's folders.
    public var applicationID: String
    /// The name that everything sealed is bound to; nil: ``applicationID``. Tenants who share a key set different ones, so that no store of one opens in the place of the
    /// other's. A family of programs that shares its stores sets the same one.
    public var sealingContext: String?
    /// The application's version, for conditional migrations.
    public var applicationVersion: String?
    /// The suite that `.userDefaults` means without a name: the one that `UserDefaults.standard` uses, by default.
    public var userDefaultsName: String
    /// Where the sealing key of `.encrypted` is kept, unless a key says otherwise.
    public var keySource: KeySourceReference
    /// Where the keys of single databases are kept, by the database's name: those that are not to depend on ``keySource``.
    public var databaseKeySources: [String: KeySourceReference] = [:]
    /// Where the latest state of single databases is recorded, by the database's name. An older file in the place of such a database is refused with `rolledBack`; without
    /// an anchor it is not noticed. The anchor follows within a second of a commit and is up to date after `synchronize` and `shutdown`. While it cannot be reached, the
    /// database is not opened. A configuration in memory needs none.
    public var freshnessAnchors: [String: FreshnessAnchorPlace] = [:]
    /// Where the latest state of the vaults is recorded that stand in for a keyring, by the service's name: as ``freshnessAnchors``. An anchor of a vault is not in the keyring
    /// that the vault stands in for.
    public var vaultFreshnessAnchors: [String: FreshnessAnchorPlace] = [:]
    /// Where the domain `.keychain` keeps its values: in the session's keyring, unless a program without one says otherwise.
    public var keychain = KeychainPlace.session
    /// Gives the passphrase of a key source, by its name; nil refuses it. Called whenever a key under a passphrase is fetched: once a source and router, as a rule.
    public var passphrase: (@Sendable (_ name: String) async throws -> String?)?
    /// The cost of trying passphrases, of new passphrase files.
    public var scryptCost = ScryptCost.recommended
    /// The program's own sources of keys, by the names that ``KeySourceReference/custom(_:)`` uses.
    public var customKeySources: [String: any CustomKeySource] = [:]
    /// How often a keyring is asked whether it is locked, while a key from it is in memory; nil: never. A locked keyring's keys are let go of then, as
    /// ``StorageRouter/lock(waitingAtMost:)`` does, and values under them are `locked` until the keyring is unlocked. The Secret Service gives no notice that does not need a
    /// thread of its own, so a key stays in memory for up to this time after the lock.
    public var locksWithKeychain: Duration?
    /// Whether secrets are sent to a keyring unencrypted that knows no encrypted sessions, so that whoever can watch the session bus sees
    /// them. Otherwise such a keyring is refused with `untrusted`. gnome-keyring, KWallet and KeePassXC encrypt.
    public var allowsUnencryptedKeychainTransport = false
    /// How long calls may take.
    public var deadlines = Deadlines()
    /// Whether only keys of registered catalogs may be used.
    public var requiresRegistration = false
    /// How items of a keyring service are laid out, for services that are shared with other tools.
    public var keychainStyles: [String: KeyringStyle] = [:]
    /// Where notes for operators go: what a sweep found, what remains. Never a value.
    public var logger = Logger(label: "LocalData")

    /// Time, randomness, tasks, lanes, files: the machine's own, unless a test or a simulation puts others in their place.
    package var runtime: Runtime

    /// How many records of a collection are read, and written in one commit, at a time.
    package var pageSize = 256
    /// Whether a router that is released closes what it opened. In a simulation a router is released because its process was killed, and does nothing more.
    package var closesWhenReleased = true
    /// Makes the stores of the ledger and the quarantine in a simulation, which keeps them on a disk of its own.
    package var makeOwnStore: (@Sendable (_ name: String) throws -> any StorageBackend)?

    var place: Place
    var makers: [StorageDomain.Kind: @Sendable (String) throws -> any StorageBackend] = [:]

    init(applicationID: String, version: String? = nil, place: Place, keySource: KeySourceReference, runtime: Runtime = .live) {
        self.applicationID = applicationID
        applicationVersion = version
        userDefaultsName = runtime.host.executableName
        self.place = place
        self.keySource = keySource
        self.runtime = runtime
    }

    /// The configuration of a program that names none: its executable's name as application id, XDG folders.
    ///
    /// Inside a test process it refuses everything, so that no test ever writes into a home directory: use the trait `.isolatedStorage`.
    public static let `default`: StorageConfiguration = {
        let runtime = Runtime.live
        let name = runtime.host.executableName
        let place: Place =
            TestProcess.isCurrent
            ? .refused(
                "A test must not use the storage of the person who runs it. Give the test or its suite the trait .isolatedStorage (from LocalDataTesting), or use a router of its own."
            ) : .xdg
        return StorageConfiguration(applicationID: name, place: place, keySource: .keychain, runtime: runtime)
    }()

    /// The folders of a person's session: `XDG_CONFIG_HOME`, `XDG_DATA_HOME`, `XDG_STATE_HOME`, or their defaults under `HOME`. Sealing keys are in the keyring.
    public static func xdg(applicationID: String, version: String? = nil) -> StorageConfiguration {
        StorageConfiguration(applicationID: applicationID, version: version, place: .xdg, keySource: .keychain)
    }

    /// Everything under `STATE_DIRECTORY/LocalData`, in the layout of ``init(root:applicationID:version:)``. systemd sets the variable for a service with `StateDirectory=`. The
    /// sealing key is a file with permissions 0600 there.
    public static func service(applicationID: String, version: String? = nil) -> StorageConfiguration {
        StorageConfiguration(applicationID: applicationID, version: version, place: .service, keySource: .localKeyFile)
    }

    /// Everything on disk under one folder. The sealing key is a file with permissions 0600 in it.
    /// - Parameters:
    ///   - root: The folder.
    ///   - applicationID: The application's id.
    ///   - version: The application's version, for conditional migrations and release windows.
    public init(root: URL, applicationID: String, version: String? = nil) {
        self.init(
            applicationID: applicationID, version: version, place: .directories(StorageDirectories(root: root)), keySource: .localKeyFile)
    }

    /// Folders of one's own choice. The sealing key is a file with permissions 0600 in the data folder.
    /// - Parameters:
    ///   - directories: The folders.
    ///   - applicationID: The application's id.
    ///   - version: The application's version, for conditional migrations and release windows.
    public init(directories: StorageDirectories, applicationID: String, version: String? = nil) {
        self.init(applicationID: applicationID, version: version, place: .directories(directories), keySource: .localKeyFile)
    }

    /// No disk and no D-Bus: every domain lives in memory, and says of itself what the real one would. Two of them share nothing; two routers made of one share
    /// everything, as if the program had been started again.
    public static func inMemory() -> StorageConfiguration {
        var configuration = StorageConfiguration(applicationID: "in-memory", place: .memory(MemoryWorld()), keySource: .keychain)
        configuration.userDefaultsName = "standard"
        return configuration
    }

    /// The folders; nil for a configuration that has none.
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

    /// Plugs in a backend for a kind of domain, in place of the one that comes with the library.
    /// - Parameters:
    ///   - kind: The kind.
    ///   - make: Makes the backend of a scope: a suite, a service, a name. Called once for each scope of a router, when first needed.
    public mutating func useBackend(
        for kind: StorageDomain.Kind, _ make: @escaping @Sendable (_ scope: String) throws -> any StorageBackend
    ) {
        makers[kind] = make
    }

    /// Whether the program plugs in the backend of a kind of domain.
    package func plugsIn(_ kind: StorageDomain.Kind) -> Bool { makers[kind] != nil }

    /// The domain that holds the key of a database, if the key is in a keyring; nil for the other key sources.
    package func keyDomain(ofDatabase name: String) -> StorageDomain? {
        let named = databaseKeySources[name] ?? .configured
        guard case .keychain(let service, _) = (named == .configured ? keySource : named).form else { return nil }
        return .keychain(service: service ?? applicationID)
    }

    /// The context that a store of this program seals under.
    /// - Parameters:
    ///   - kind: The kind of store: that of its domain, or "sqlite" or "vault" for a database of sealed rows.
    ///   - scope: The database, suite or service.
    package func storeContext(_ kind: String, _ scope: String) -> StoreContext {
        StoreContext(application: sealingContext ?? applicationID, kind: kind, scope: scope)
    }

    /// The context of the database that serves a domain, here or in another application.
    package func databaseContext(of domain: StorageDomain, application: String?) -> StoreContext {
        let scope = domain.scope ?? defaultScope(of: domain.kind)
        let own = storeContext(domain.kind == .keychain ? "vault" : "sqlite", scope)
        return StoreContext(application: application ?? own.application, kind: own.kind, scope: scope)
    }

    /// The ids of the applications that the databases in the folders say they belong to. Nothing proves what they say: it is for messages.
    package func ownersOfDatabases() async -> Set<String> {
        var found: Set<String> = []
        for provider in Wiring.providers { found.formUnion((try? await provider.applications(self)) ?? []) }
        return found
    }

    /// Whether nothing is on a disk.
    package var isInMemory: Bool {
        if case .memory = place { true } else { false }
    }

    /// The key sources beside ``keySource`` that something of the program's is sealed with.
    package var otherKeySources: [KeySourceReference] {
        Set(databaseKeySources.values).union(keychain.vault.map { [$0] } ?? []).sorted { $0.description < $1.description }
    }

    package func defaultScope(of kind: StorageDomain.Kind) -> String {
        switch kind {
        case .userDefaults: userDefaultsName
        case .keychain: applicationID
        default: "default"
        }
    }
}

/// Where the domain `.keychain` keeps its values.
public struct KeychainPlace: Hashable, Sendable, CustomStringConvertible {
    let vault: KeySourceReference?

    /// In the Secret Service of the session: GNOME Keyring, KWallet.
    public static let session = KeychainPlace(vault: nil)

    /// In sealed databases of the program's own, one a service, for a machine without a session: a server, a container. Nothing chooses this but the program, and what is
    /// in the keyring is not moved by it.
    /// - Parameter keySource: Where the vault's key is kept: a key file, a credential, a passphrase or a portal; never the keyring.
    public static func sealedVault(_ keySource: KeySourceReference) -> KeychainPlace { KeychainPlace(vault: keySource) }

    /// The place in words.
    public var description: String { vault.map { "sealed vault (\($0))" } ?? "keyring" }
}

extension KeySourceReference {
    /// The file that a configuration without a keyring keeps its key in: `sealing-key` in its data folder.
    static let localKeyFile = KeySourceReference.keyFile("sealing-key")
}

/// The memory that routers of one in-memory configuration share.
final class MemoryWorld: Sendable {
    private let media = Mutex<[StorageDomain: MemoryMedium]>([:])

    func medium(_ domain: StorageDomain) -> MemoryMedium {
        media.withLock { media in
            if let medium = media[domain] { return medium }
            let medium = MemoryMedium()
            media[domain] = medium
            return medium
        }
    }
}

/// Whether this process runs tests.
enum TestProcess {
    static var isCurrent: Bool {
        let program = CommandLine.arguments.first ?? ""
        let environment = ProcessInfo.processInfo.environment
        return program.hasSuffix(".xctest") || program.hasSuffix("xctest") || program.contains("swiftpm-testing-helper")
            || environment["XCTestConfigurationFilePath"] != nil || environment["XCTestSessionIdentifier"] != nil
    }
}
