// Destroying what was stored, for a log-out or an uninstall.

// snippet.hide
import LocalData

func logOut(_ storage: StorageRouter) async throws {
    // snippet.show
    try await storage.forget(.keychain)  // the items of this program's service
    try await storage.forget(.encryptedSQLite(database: "documents"))  // overwrites its key and its rows, then removes the file
    try await storage.forgetEverything()  // every store of this program, its sealing keys and its own files
    // snippet.hide
}
