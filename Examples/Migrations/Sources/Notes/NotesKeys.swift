import LocalData

/// The settings of the editor.
struct Editor: Codable {
    var fontName: String
    /// The size of the font in points.
    var fontSize: String
}

/// A note.
struct Note: Codable, Identifiable {
    var id: String
    var title: String
}

extension StorageKey where Value == Editor {
    static var editor: Self {
        StorageKey(name: "editor", domain: .userDefaults, owner: "Notes", description: "The settings of the editor")
    }
}

extension StorageCollection where Record == Note {
    static var notes: Self { StorageCollection("notes", domain: .userDefaults, owner: "Notes", description: "The notes") }
}

/// Every key of the program.
package struct NotesKeys: StorageKeyCatalog {
    package init() {}

    package var allKeys: [AnyStorageKey] { [.key(.editor), .collection(.notes)] }
}
