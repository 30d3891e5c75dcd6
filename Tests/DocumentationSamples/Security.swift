import BackendContract
import Foundation
import LocalData

func protecting(_ storage: StorageRouter) async throws {
    let token = StorageKey<String>(name: "token", domain: .userDefaults, security: .encrypted)
    do {
        signIn(with: try await storage.get(token))
    } catch StorageError.encryptionKeyMissing {
        // The key that sealed the token is gone. The sealed bytes are unchanged: restore the key.
    }

    let setting = StorageKey<Int>(name: "width", domain: .userDefaults, security: .automatic)  // not encrypted
    let secret = StorageKey<String>(name: "token", domain: .keychain, security: .automatic)  // encrypted by the keyring

    let publicKey = StorageKey<Data>(name: "public-key", domain: .userDefaults, security: .none)

    let pin = StorageKey<String>(name: "pin", domain: .userDefaults, security: .encrypted)

    let card = StorageKey<String>(name: "card", domain: .userDefaults, security: .encrypted(.passphrase("payments")))
    do {
        try await storage.set("4000 1234", for: card)
    } catch StorageError.encryptionKeyMismatch {
        // The passphrase is not the right one. The stored value is unchanged.
    }

    print(card.security.keySource?.description ?? "not encrypted by LocalData")  // passphrase payments
    print(setting, secret, publicKey, pin)
}

func choosingKeySources(_ configuration: inout StorageConfiguration) {
    configuration.keySource = .credential("notes-key")  // for all sealed values and databases
    configuration.databaseKeySources["cache"] = .keyFile("cache-key")  // except for this database

    let token = StorageKey<String>(name: "token", domain: .userDefaults, security: .encrypted(.configured))

    configuration.keySource = .keychain  // a desktop program: the keyring opens with the user's session

    configuration.databaseKeySources["payments"] = .keychain(service: nil, name: "Payments key")

    configuration.keySource = .keyFile("/etc/notes/sealing-key")  // a service: the key is on another disk than the data

    configuration.keySource = .credential("notes-key")  // LoadCredentialEncrypted=notes-key in the unit file

    configuration.keySource = .passphrase()
    configuration.passphrase = { name in await askForPassphrase(name) }  // nil refuses: the call throws `locked`

    configuration.keySource = .secretPortal()  // a Flatpak or a Snap

    configuration.keySource = .custom("hsm")
    configuration.customKeySources["hsm"] = ModuleKey(module: SecurityModule())

    print(KeySourceReference.newKeyText())  // store this line as a credential, and keep a copy of it
    print(token)
}

struct SecurityModule: Sendable {
    func secret(named name: String) async -> [UInt8]? { nil }
    var isReachable: Bool { false }
}

struct ModuleKey: CustomKeySource {
    let module: SecurityModule

    var protection: ProtectionLevel { .keychain }

    func load() async throws -> SealingKeyMaterial? {
        guard module.isReachable else { throw BackendError(.unavailable, "The security module does not respond. Start its service.") }
        return try await module.secret(named: "payments").map { try SealingKeyMaterial(bytes: $0) }
    }
}

func adding(_ configuration: inout StorageConfiguration, _ secret: [UInt8]) throws {
    configuration.customKeySources["payments"] = ModuleKey(module: SecurityModule())
    configuration.databaseKeySources["payments"] = .custom("payments")

    let key = try SealingKeyMaterial(text: KeySourceReference.newKeyText())
    print(key)  // the key's id, never the key

    do {
        print(try SealingKeyMaterial(bytes: secret))
    } catch StorageError.encryptionKeyMismatch {
        print("A sealing key has 32 bytes, not \(secret.count).")
    }

    do {
        print(try SealingKeyMaterial(text: "not a key"))
    } catch StorageError.encryptionKeyMismatch {
        print("This line is no sealing key.")
    }

    let count = key.withBytes { bytes in bytes.count }  // 32
    print(count)
}

func anchoring(_ storage: StorageRouter, _ configuration: inout StorageConfiguration) async throws {
    configuration.freshnessAnchors["ledger"] = .keychain()
    let balance = StorageKey<Int>(name: "balance", domain: .encryptedSQLite(database: "ledger"))
    do {
        print(try await StorageRouter(configuration: configuration).get(balance))
    } catch StorageError.rolledBack {
        // The file is an older copy, for example from a backup. It is not opened until you accept it.
    }

    configuration.freshnessAnchors["ledger"] = .keychain(service: "com.example.anchors")

    configuration.freshnessAnchors["ledger"] = .file("/mnt/other-disk/ledger.anchor")

    configuration.freshnessAnchors["ledger"] = .anchor(RemoteAnchor())
}

/// An anchor on a server of the program.
struct RemoteAnchor: FreshnessAnchor {
    var name: String { "anchor server" }
    func load() async throws(BackendError) -> FreshnessMark? { throw BackendError(.unavailable, "The server does not respond.") }
    func store(_ mark: FreshnessMark, replacing known: FreshnessMark?) async throws(BackendError) -> Bool { false }
}

func pricing(_ configuration: inout StorageConfiguration) {
    configuration.keySource = .passphrase()
    configuration.scryptCost = ScryptCost(logN: 18)  // 256 MiB for each guess; the default is 128 MiB

    let costly = ScryptCost(logN: 20, blockSize: 8, parallelism: 1)  // 1 GiB, the most that is allowed

    var inTests = StorageConfiguration.inMemory()
    inTests.scryptCost = .tooCheapForAnythingButTests(logN: 4)
    print(costly, inTests.applicationID)
}
