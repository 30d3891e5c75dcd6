package import LocalData

/// The catalog of release 1, as the program declared it. It recorded the fixture of release 1.
package struct FormerDeskKeys: StorageKeyCatalog {
    package let id = "DeskKeys"
    package init() {}

    struct Editor: Codable {
        var fontSize: String
        var ruler: Bool
    }

    struct Note: Codable, Identifiable {
        var id: String
        var title: String
    }

    private let editor = StorageKey<Editor>(name: "editor", domain: .userDefaults, owner: "Desk", description: "The editor")
    private let pin = StorageKey<String>(name: "pin", domain: .keychain, owner: "Desk", description: "The number that unlocks the desk")
    private let notes = StorageCollection<Note>("notes", domain: .userDefaults, owner: "Desk", description: "The notes")

    package var allKeys: [AnyStorageKey] { [.key(editor), .key(pin), .collection(notes)] }
}

/// The catalog of release 2.
package struct DeskKeys: StorageKeyCatalog {
    /// The states of the steps while a person makes a migration.
    package enum Steps: Sendable {
        /// No key declares a step. In this state, the plugin generates the steps.
        case undeclared
        /// The keys declare the generated steps, which throw.
        case unwritten
        /// The keys declare complete steps.
        case written
    }

    private let steps: Steps

    package init() { self.init(.written) }

    package init(_ steps: Steps) { self.steps = steps }

    struct Editor: Codable {
        var fontSize: Int
        var theme: String
    }

    struct Note: Codable, Identifiable {
        var id: String
        var title: String
        var stars: Int
    }

    private let editor = StorageKey<Editor>(name: "editor", domain: .userDefaults, owner: "Desk", description: "The editor")
    private let pin = StorageKey<Int>(name: "pin", domain: .keychain, owner: "Desk", description: "The number that unlocks the desk")
    private let notes = StorageCollection<Note>("notes", domain: .userDefaults, owner: "Desk", description: "The notes")

    package var allKeys: [AnyStorageKey] {
        switch steps {
        case .undeclared: [.key(editor), .key(pin), .collection(notes)]
        case .unwritten:
            [
                .key(editor.evolving(Evolution.from(version: 1).to(version: 2, DeskKeysRelease2.convertEditor))),
                .key(pin.evolving(Evolution.from(version: 1).to(version: 2, DeskKeysRelease2.convertPin))),
                .collection(notes.evolving(Evolution.from(version: 1).to(version: 2, DeskKeysRelease2.convertNotes))),
            ]
        case .written:
            [
                .key(editor.evolving(Evolution.from(version: 1).to(version: 2, Self.convertEditor))),
                .key(pin.evolving(Evolution.from(version: 1).to(version: 2) { try $0.convert(.root, to: .integer) })),
                .collection(notes.evolving(Evolution.from(version: 1).to(version: 2) { $0.add("stars", default: 1) })),
            ]
        }
    }

    @Sendable private static func convertEditor(_ document: inout StoredDocument) throws {
        try document.convert("fontSize", to: .integer)
        document.add("theme", default: "1")
        document.remove("ruler")
    }
}
