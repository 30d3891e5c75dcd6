import Foundation
import LocalData

// The keys, types and errors that the samples of doc comments use. `Scripts/check-snippets` compares the samples with the comments.

let settings = StorageKeyGroup(owner: "Weather", domain: .userDefaults)
let older = StorageKeyGroup(owner: "Weather", domain: .userDefaults(suite: "weather-1"))

extension StorageKey where Value == String {
    static let city: Self = settings.key("city", "The first city to show").moved(from: .oldCity)
    static let oldCity: Self = older.key("town", "The city, in version 1")
    static let apiToken = StorageKey(name: "api-token", domain: .keychain, owner: "Weather", description: "The token for the service")
}

struct Note: Codable, Sendable, Identifiable, Equatable {
    var id: String
    var title: String
}

struct NotANumber: Error {}

let notes = StorageCollection<Note>("notes", domain: .encryptedSQLite(database: "main"), owner: "Notes", description: "The user's notes")
let oldNotes = StorageCollection<Note>("notes", domain: .userDefaults, owner: "Notes", description: "The notes, in version 1")

struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.city), .key(.apiToken), .collection(notes)] }
}
