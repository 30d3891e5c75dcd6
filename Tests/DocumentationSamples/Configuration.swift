import BackendContract
import Foundation
import LocalData
import Logging

func configuring() async throws {
    var configuration = StorageConfiguration.xdg(applicationID: "com.example.notes", version: "2.0")
    configuration.requiresRegistration = true
    let storage = StorageRouter(configuration: configuration)
    do {
        try await storage.set(900, for: .width)
    } catch StorageError.unregisteredKey {
        // Register the catalog that contains this key first.
    }

    let byDefault = StorageRouter(configuration: .default)  // the router that `StorageRouter.shared` uses without a bootstrap

    let desktop = StorageConfiguration.xdg(applicationID: "com.example.notes", version: "2.0")

    let service = StorageConfiguration.service(applicationID: "com.example.shop", version: "2.0")
    print(try service.directories?.data ?? "no folders")  // throws `unavailable` without STATE_DIRECTORY and HOME

    let portable = StorageConfiguration(root: URL(filePath: "/var/lib/shop"), applicationID: "com.example.shop")

    let directories = StorageDirectories(
        preferences: "/srv/shop/settings", data: "/srv/shop/data", state: "/srv/shop/state", locks: "/srv/shop/locks")
    let separate = StorageConfiguration(directories: directories, applicationID: "com.example.shop")

    let memory = StorageConfiguration.inMemory()
    let first = StorageRouter(configuration: memory)
    try await first.set("abc", for: .apiToken)
    let second = StorageRouter(configuration: memory)  // as if the program had been started again
    print(try await second.exists(.apiToken))  // true

    do {
        print(try configuration.directories?.data ?? "in memory")
    } catch StorageError.unavailable {
        print("Set HOME, or give the configuration its folders.")
    }
    print(byDefault, desktop.applicationID, portable.applicationID, separate.applicationID)
}

func setting(_ configuration: inout StorageConfiguration, _ tenant: String) {
    configuration.sealingContext = "com.example.shop/\(tenant)"  // a store of one tenant does not open for another

    configuration.databaseKeySources["payments"] = .passphrase("payments")

    configuration.freshnessAnchors["ledger"] = .file("/mnt/other-disk/ledger.anchor")

    configuration.passphrase = { name in await askForPassphrase(name) }

    configuration.locksWithKeychain = .seconds(30)

    configuration.keychainStyles["com.example.backup"] = .pythonKeyring  // a Python script reads these items

    configuration.logger = Logger(label: "com.example.notes.storage")

    configuration.keychain = .sealedVault(.credential("vault-key"))
}

func plugging(_ configuration: inout StorageConfiguration, _ storage: StorageRouter) async throws {
    configuration.useBackend(for: StorageDomain.Kind("ram")) { scope in ByteStoreBackend(RAMStore(scope)) }
    let cursor = StorageKey<Int>(name: "cursor", domain: .custom("ram", scope: "editor"))
    print(cursor)

    configuration.keychain = .sealedVault(.keyFile("/etc/shop/vault-key"))  // a server has no keyring
    try await StorageRouter(configuration: configuration).set("abc", for: .apiToken)  // in the encrypted database

    configuration.keychain = .session

    configuration.keychain = .sealedVault(.passphrase("vault"))
    configuration.passphrase = { name in await askForPassphrase(name) }
}

/// A byte store that keeps everything in memory.
struct RAMStore: ByteStore {
    let identity: BackendIdentity
    let capabilities = BackendCapabilities()
    init(_ scope: String) { identity = BackendIdentity(kind: "ram", store: scope) }
    func read(_ name: String) async throws(BackendError) -> [UInt8]? { nil }
    func write(_ bytes: [UInt8], _ name: String) async throws(BackendError) {}
    func delete(_ name: String) async throws(BackendError) {}
    func list() async throws(BackendError) -> [String] { [] }
}

func placing(_ configuration: inout StorageConfiguration) {
    let directories = StorageDirectories(root: URL(filePath: "/var/lib/shop"))
    print(directories.preferences, directories.data)  // /var/lib/shop/preferences /var/lib/shop/data

    let separate = StorageDirectories(
        preferences: "/srv/shop/settings", data: "/srv/shop/data", state: "/srv/shop/state", locks: "/srv/shop/locks",
        ownsPreferences: true)

    let inTests = StorageDirectories(root: FileManager.default.temporaryDirectory.appending(path: UUID().uuidString))
    print(separate, inTests)
}

func limiting(_ storage: StorageRouter, _ configuration: inout StorageConfiguration) async throws {
    configuration.deadlines.keychain = .seconds(2)
    do {
        print(try await StorageRouter(configuration: configuration).exists(.apiToken))
    } catch StorageError.timedOut {
        // The keyring has not answered for two seconds.
    }

    configuration.deadlines = Deadlines(files: .seconds(5), keychain: .seconds(5), prompt: .seconds(60))
}

// MARK: Instruments

struct CallLog: StorageInstrument {
    nonisolated(nonsending) func observe<R>(
        _ operation: StorageOperation, _ body: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        defer { print(operation.name) }
        return try await body()
    }

    func record(_ event: StorageEvent) { print(event.name) }
}

func instrumenting(_ configuration: inout StorageConfiguration) {
    configuration.instruments.append(CallLog())
}

struct SlowCalls: StorageInstrument {
    let report: @Sendable (String) -> Void

    nonisolated(nonsending) func observe<R>(
        _ operation: StorageOperation, _ body: nonisolated(nonsending) () async throws -> R
    ) async throws -> R {
        let start = ContinuousClock.now
        defer { if start.duration(to: .now) > .seconds(1) { report(operation.name) } }
        return try await body()
    }

    func record(_ event: StorageEvent) {
        if case .changesLost(let count) = event { report("Another program overwrote \(count) changes.") }
    }
}

func observing(_ operation: StorageOperation, _ event: StorageEvent) {
    let label = "\(operation.name) in \(operation.domain?.name ?? "several stores")"  // such as "get in keychain"

    switch event {
    case .migrationFailed(let code): warn("A migration failed: \(code)")
    case .sweepEnded(isComplete: false, _, _, let blocked, let failed): warn("\(blocked) keys are blocked, \(failed) failed.")
    default: break
    }
    print(label)
}

func sharingItems(_ configuration: inout StorageConfiguration) async throws {
    configuration.keychainStyles["com.example.backup"] = .pythonKeyring
    let password = StorageKey<String>(name: "nightly", domain: .keychain(service: "com.example.backup"))
    do {
        try await StorageRouter(configuration: configuration).set("two\nlines", for: password)
    } catch StorageError.unsupported {
        // A keyring may lose a text with a line break in this format. The stored item is unchanged.
    }

    // In a shell: secret-tool lookup service com.example.mail account nightly
    configuration.keychainStyles["com.example.mail"] = .secretTool()

    configuration.keychainStyles["com.example.vcs"] = .keyringRS(target: "git")
}
