// Documents in an encrypted database. The source of its key is set in the configuration.
// snippet.hide
import Foundation
import LocalData

// snippet.show
let documents = StorageKeyGroup(owner: "Editor", domain: .encryptedSQLite(database: "documents"))
let draft: StorageKey<String> = documents.key("draft", "The current draft")
// snippet.hide

var configuration = StorageConfiguration.inMemory()
configuration.passphrase = { _ in "only for this snippet" }
let storage = StorageRouter(configuration: configuration)
// snippet.show

try await storage.set("Dear Kari, …", for: draft)  // the first value creates the database and, if there is none, its key
// snippet.hide
print(try await storage.get(draft))
