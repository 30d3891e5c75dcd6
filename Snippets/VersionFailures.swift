// Values that a chain of versions cannot convert, and a value of a later release.
// snippet.hide
import LocalData

func check(_ holds: Bool, _ line: Int = #line) { if !holds { fatalError("line \(line)") } }

struct Note: Codable, Sendable, Identifiable {
    var id: String
    var title: String
    var stars: Int
}

let plain: StorageCollection<Note> = StorageKeyGroup(owner: "Editor", domain: .memory()).collection("notes", "The user's notes")
let notes = plain.evolving(Evolution.from(version: 1).to { try $0.convert("stars", to: .integer) })
let later = plain.version(3)
let storage = StorageRouter(configuration: .inMemory())
let note = Note(id: "a", title: "Milk", stars: 1)
try await storage.set(note, in: later)

// snippet.show
do {
    _ = try await storage.get("a", in: notes)
} catch StorageError.incompatibleSchema {
    print("A later release wrote this note. It is unchanged; update the program.")
} catch StorageError.migrationFailed {
    print("A step of the chain failed for this note. It is unchanged; correct the step.")
}
// snippet.hide
do {
    try await storage.set(note, in: notes)
    check(false)
} catch StorageError.incompatibleSchema {}

// snippet.show
// Replaces the note of a later release. The fields that only that release has are lost.
try await storage.set(note, for: notes.key("a"), replacingLaterVersions: true)
// snippet.hide
check(try await storage.get("a", in: notes).title == "Milk")
