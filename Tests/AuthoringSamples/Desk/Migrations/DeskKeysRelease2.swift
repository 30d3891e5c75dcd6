// Written by `swift package localdata make-migrations`, which never replaces this file. Edit it.
import LocalData

/// The steps of release 2 of the catalog DeskKeys.
enum DeskKeysRelease2 {
    /// Converts a value of the key editor from version 1 to version 2.
    ///
    /// The changes since version 1:
    /// * DeskKeys/editor.fontSize was string and is integer
    /// * DeskKeys/editor.theme is new and required, but older values do not have it
    /// * DeskKeys/editor.ruler was removed
    ///
    /// Declare the key editor with `.evolving(Evolution.from(version: 1).to(version: 2, DeskKeysRelease2.convertEditor))`.
    @Sendable nonisolated static func convertEditor(_ document: inout StoredDocument) throws {
        // Suggestion:
        // try document.convert("fontSize", to: .integer)
        // document.add("theme", default: "1")
        // document.remove("ruler")
        throw StorageError(
            .migrationFailed, key: "editor",
            "The step to version 2 is not written. Write DeskKeysRelease2.convertEditor.")
    }

    /// Converts a value of the collection notes from version 1 to version 2.
    ///
    /// The changes since version 1:
    /// * DeskKeys/notes.stars is new and required, but older values do not have it
    ///
    /// Declare the collection notes with `.evolving(Evolution.from(version: 1).to(version: 2, DeskKeysRelease2.convertNotes))`.
    @Sendable nonisolated static func convertNotes(_ document: inout StoredDocument) throws {
        // Suggestion:
        // document.add("stars", default: 1)
        throw StorageError(
            .migrationFailed, key: "notes",
            "The step to version 2 is not written. Write DeskKeysRelease2.convertNotes.")
    }

    /// Converts a value of the key pin from version 1 to version 2.
    ///
    /// The changes since version 1:
    /// * DeskKeys/pin was string and is integer
    ///
    /// Declare the key pin with `.evolving(Evolution.from(version: 1).to(version: 2, DeskKeysRelease2.convertPin))`.
    @Sendable nonisolated static func convertPin(_ document: inout StoredDocument) throws {
        // Suggestion:
        // try document.convert(.root, to: .integer)
        throw StorageError(
            .migrationFailed, key: "pin",
            "The step to version 2 is not written. Write DeskKeysRelease2.convertPin.")
    }
}
