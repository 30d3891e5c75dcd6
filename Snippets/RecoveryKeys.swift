// A recovery key that opens an encrypted database, new keys for the database, and another source for its key.

// snippet.hide
import LocalData
import LocalDataBackup

func addRecovery(_ storage: StorageRouter) async throws {
    // snippet.show
    let recovery = try await storage.addRecoveryKey(to: .encryptedSQLite(database: "documents"))
    print(recovery.text)  // show it once, and have it written down: nothing on this machine keeps it
    // snippet.hide
}

func recover(_ storage: StorageRouter, _ typed: String) async throws {
    // snippet.show
    try await storage.recover(.encryptedSQLite(database: "documents"), with: RecoveryKey(text: typed))
    // snippet.hide
}

func rotate(_ storage: StorageRouter) async throws {
    // snippet.show
    try await storage.rotateDataKey(of: .encryptedSQLite(database: "documents")) { print("\($0.done) of \($0.total)") }
    // snippet.hide
}

func rotateSource(_ storage: StorageRouter) async throws {
    // snippet.show
    let report = try await storage.rotateKey(of: .configured)  // sealed with a new key, while programs use it
    for place in report.remaining { print("not yet: \(place)") }
    try await storage.deleteOlderKeys(of: .configured)  // refuses as long as something needs them
    // snippet.hide
}

func changeSource(_ configuration: StorageConfiguration) async throws {
    var configuration = configuration
    // snippet.show
    configuration.databaseKeySources["documents"] = .credential("documents-key-2")
    let storage = StorageRouter(configuration: configuration)
    try await storage.changeKeySource(of: .encryptedSQLite(database: "documents"), from: .credential("documents-key"))
    // snippet.hide
}
