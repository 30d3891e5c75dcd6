// Following a collection and a value: every change, and objects that a view observes.
// snippet.hide
import LocalData
import LocalDataObservation

struct Note: Codable, Identifiable, Sendable {
    var id: String
    var text: String
}

let editor = StorageKeyGroup(owner: "Editor", domain: .memory())

extension StorageKey where Value == Int {
    static let width: Self = editor.key("width", "The window's width in points", default: 800)
}

let storage = StorageRouter(configuration: .inMemory())
let notes: StorageCollection<Note> = editor.collection("notes", "The user's notes")
try await storage.set(Note(id: "a", text: "Milk"), in: notes)
// snippet.show
for try await change in storage.changes(in: notes) {
    switch change {
    case .inserted(let id, let note): print("\(id) is new: \(note.text)")
    case .changed(let id, let old, let new): print("\(id) was \(old?.text ?? "unknown"), and is \(new.text)")
    case .removed(let id, _): print("\(id) was removed")
    }
    // snippet.hide
    break
    // snippet.show
}
// snippet.hide

// snippet.show
@MainActor final class EditorModel {
    let width: Stored<Int>
    let notes: StoredRecords<Note>

    init(_ storage: StorageRouter, _ collection: StorageCollection<Note>) {
        width = Stored(.width, in: storage)  // returns at once
        notes = StoredRecords(collection, in: storage)
    }

    var title: String {
        switch width.state {
        case .loading: "…"
        case .value(let width): "\(width) points, \(notes.records.count) notes"
        case .absent: "not set"
        case .vanished: "lost: another program removed it"
        case .locked: "locked"
        case .failed(let error): error.message
        }
    }

    func widen() async throws {
        try await width.update { $0 = ($0 ?? 0) + 100 }  // durable, and visible in the state, when it returns
    }
}
// snippet.hide

let model = EditorModel(storage, notes)
try await model.widen()
print(model.title)
