import Foundation
import LocalData
import NotesModel

/// The command line for the notes, for a second process beside the window.
@main struct NotesCLI {
    static func main() async throws {
        let arguments = Array(CommandLine.arguments.dropFirst())
        let storage = StorageRouter(configuration: .notes)
        do {
            switch (arguments.first, arguments.count) {
            case ("add", 3...4) where Note.tags.contains(arguments[1]):
                let note = Note(title: arguments[2], text: arguments.count == 4 ? arguments[3] : "", tag: arguments[1])
                try await storage.set(note, in: Note.collection)
            case ("remove", 2):
                for try await note in storage.records(in: Note.collection) where note.title == arguments[1] {
                    try await storage.remove(note.id, in: Note.collection)
                }
            case ("list", 1):
                for try await note in storage.records(in: Note.collection) { print("\(note.tag)\t\(note.title)") }
            default:
                print("usage: notes-cli add \(Note.tags.joined(separator: "|")) TITLE [TEXT] | remove TITLE | list")
            }
        } catch StorageError.locked {
            print("The keyring is locked.")
        }
        try await storage.shutdown()
    }
}
