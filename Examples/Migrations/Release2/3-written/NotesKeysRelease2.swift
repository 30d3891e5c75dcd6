// Written by `swift package localdata make-migrations`, which never replaces this file. Edit it.
import LocalData

/// The steps of release 2 of the catalog NotesKeys.
enum NotesKeysRelease2 {
    /// Converts a value of the key editor from version 1 to version 2.
    ///
    /// The changes since version 1:
    /// * NotesKeys/editor.fontSize was string and is integer
    ///
    /// Declare the key editor with `.evolving(Evolution.from(version: 1).to(version: 2, NotesKeysRelease2.convertEditor))`.
    @Sendable nonisolated static func convertEditor(_ document: inout StoredDocument) throws {
        try document.convert("fontSize", to: .integer)
    }

    /// Converts a value of the collection notes from version 1 to version 2.
    ///
    /// The changes since version 1:
    /// * NotesKeys/notes.stars is new and required, but older values do not have it
    ///
    /// Declare the collection notes with `.evolving(Evolution.from(version: 1).to(version: 2, NotesKeysRelease2.convertNotes))`.
    @Sendable nonisolated static func convertNotes(_ document: inout StoredDocument) throws {
        document.add("stars", default: 0)
    }
}
