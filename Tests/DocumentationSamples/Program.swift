import Foundation
import LocalData

// The keys, the types and the screens of the program that the samples of this folder belong to.

let account = StorageKeyGroup(owner: "Account", domain: .keychain)
let editor = StorageKeyGroup(owner: "Editor", domain: .encryptedSQLite(database: "editor"))

extension StorageKey where Value == String {
    static let apiToken: Self = account.key("api-token", "The token for the service")
    static let oneTimeCode: Self = account.key("one-time-code", "The code from the last message")
    static let title: Self = window.key("title", "The window's title")
    static let legacyTitle: Self = window.key("windowTitle", "The window's title in version 1")
}

extension StorageKey where Value == Int {
    static let launches: Self = window.key("launches", "How often the program was started")
    static let credit: Self = account.key("credit", "The prepaid credit in cents")
}

extension StorageKey where Value == [String: Double] {
    static let rates: Self = editor.key("rates", "Exchange rates of the day").expiring(after: .seconds(86_400))
}

struct Person: StoredEntity {
    var id: UUID
    var name: String
    var brother: StorageReference<Person>?

    static let collection: StorageCollection<Person> = editor.collection("people", "The people in the address book")
}

struct Note: Codable, Sendable, Identifiable {
    var id: UUID
    var title: String
    var author: StorageReference<Person>?
}

let notes: StorageCollection<Note> = editor.collection("notes", "The user's notes")

func signIn(with token: String) {}
func askForToken() {}
func askForPassphrase(_ name: String) async -> String? { nil }
func show(_ text: String) {}
func warn(_ text: String) {}
