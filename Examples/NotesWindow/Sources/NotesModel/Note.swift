public import Foundation
public import LocalData
import LocalDataQueries

/// A note of the user.
public struct Note: Codable, Sendable, Identifiable, Equatable {
    /// A random id.
    public var id: String
    /// The first line, which the list shows.
    public var title: String
    /// The text below the title.
    public var text: String
    /// One of ``tags``.
    public var tag: String
    /// The date of the last change.
    public var date: Date

    /// Creates a note with a random id and the present date.
    public init(title: String = "", text: String = "", tag: String = Note.tags[0]) {
        (id, date) = (UUID().uuidString, Date())
        (self.title, self.text, self.tag) = (title, text, tag)
    }

    /// The tags that the window offers.
    public static let tags = ["work", "home", "ideas"]

    /// The notes of the user, in an encrypted database. The key of the database is in the user's keyring. With the attribute, the
    /// database finds the notes with a tag without reading the others.
    public static let collection: StorageCollection<Note> = StorageKeyGroup(
        owner: "Notes", domain: .encryptedSQLite(database: "notes")
    ).collection("notes", "The user's notes").attribute("tag", \.tag)
}

extension StorageConfiguration {
    /// The storage of the notes. The window and the command line use the same.
    public static var notes: StorageConfiguration {
        var configuration = StorageConfiguration.xdg(applicationID: "org.example.notes", version: "1.0")
        // A locked keyring locks the notes, too: the router overwrites the key within a second.
        configuration.locksWithKeychain = .seconds(1)
        return configuration
    }
}
