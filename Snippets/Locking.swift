// Removing the keys from memory until they are needed again, and changing the passphrase that protects a key.

// snippet.hide
import LocalData
import LocalDataBackup

func lockAndUnlock(_ storage: StorageRouter) async throws {
    // snippet.show
    try await storage.lock()  // changes that are under way are finished first
    // …
    try await storage.unlock(.encryptedSQLite(database: "documents"))  // fetches the key: may ask for a passphrase, or open a prompt
    try await storage.unlock()  // everything else fetches its key when it is next used
    // snippet.hide
}

func changePassphrase(_ configuration: StorageConfiguration, _ typed: String) async throws {
    var configuration = configuration
    // snippet.show
    configuration.scryptCost = ScryptCost(logN: 18)  // 256 MiB for each try, in files that are written from now on
    let storage = StorageRouter(configuration: configuration)
    try await storage.changePassphrase(of: .passphrase(), to: typed)  // asks for the present one as for any key
    // snippet.hide
}
