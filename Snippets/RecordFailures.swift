// Calls for records that fail, and change nothing.
// snippet.hide
import LocalData

struct Note: Codable, Sendable, Identifiable {
    var id: String
    var text: String
}

let editor = StorageKeyGroup(owner: "Editor", domain: .encryptedSQLite(database: "documents"))
let notes: StorageCollection<Note> = editor.collection("notes", "The user's notes")
let lastOpened = StorageKey<String>(name: "last-opened", domain: .userDefaults)

var configuration = StorageConfiguration.inMemory()
configuration.passphrase = { _ in "only for this snippet" }
let storage = StorageRouter(configuration: configuration)

// snippet.show
do { _ = try await storage.get("z", in: notes) } catch StorageError.notFound { print("There is no note z.") }

do {
    try await storage.batch { batch in
        try batch.set(Note(id: "e", text: "Salt"), in: notes)
        batch.set("e", for: lastOpened)  // in user defaults: another store
    }
} catch StorageError.unsupported {
    print("One commit cannot change two stores. Nothing was stored.")
}
// snippet.hide
guard try await storage.value("e", in: notes) == nil else { fatalError() }
