import Foundation
import LocalData

func collecting(_ storage: StorageRouter, _ note: Note) async throws {
    let notes = StorageCollection<Note>("notes", domain: .encryptedSQLite(database: "editor"), description: "The user's notes")
    try await storage.set(note, in: notes)
    for try await note in storage.records(in: notes) { show(note.title) }
    do {
        show(try await storage.get(note.id, in: notes).title)
    } catch StorageError.notFound {
        show("There is no such note.")
    }
}

func identifying(_ storage: StorageRouter, _ note: Note) async throws {
    struct Station: Codable, Sendable {
        var code: String
        var altitude: Double
    }
    let stations = StorageCollection<Station>("stations", domain: .encryptedSQLite(database: "weather"), id: \.code)
    try await storage.set(Station(code: "GRZ", altitude: 353), in: stations)

    let people = StorageCollection<Person>("people", domain: .encryptedSQLite(database: "editor"), owner: "Editor")

    let attachments = StorageCollection<Data>.contentAddressed("attachments", domain: .encryptedSQLite(database: "editor"))
    let file = Data("The same bytes are stored once.".utf8)
    try await storage.set(file, in: attachments)
    let copy = try await storage.get(attachments.key(attachments.id(of: file)))

    let altitude = try await storage.value(for: stations.key("GRZ"))?.altitude

    for try await title in storage.values(for: notes.key(for: note.id)) { show(title?.title ?? "The note was removed.") }

    do {
        print(try attachments.id(of: file))  // 64 hexadecimal digits
    } catch StorageError.encodingFailed {
        // The id is derived from the content, and the serializer cannot encode this content.
    }
    print(people, copy, altitude as Any)
}

struct NoteV1: Codable, Sendable, Identifiable {
    var id: UUID
    var name: String
}
struct NoteList: Codable, Sendable { var notes: [Note] }

func changing(_ storage: StorageRouter) async throws {
    let notes: StorageCollection<Note> = editor.collection("notes")
        .evolving(Evolution.from(NoteV1.self).to { old in Note(id: old.id, title: old.name) })
    await storage.sweep()  // converts all notes; reads convert one at a time

    let byName: StorageCollection<Note> = editor.collection("notes")
        .evolving(Evolution.from(version: 1).to { note in note.rename("name", to: "title") })

    let older: StorageCollection<NoteV1> = editor.collection("oldNotes").version(3)

    let cache: StorageCollection<Note> = editor.collection("recent").expiring(after: .seconds(86_400))

    let diary: StorageCollection<Note> = editor.collection("diary").withoutAttributeIndex()

    let kept = diary.moved(from: editor.collection("oldDiary")).resolvingConflicts(.sourceWins)
    print(notes, byName, older, cache, diary, kept)
}

func moving(_ storage: StorageRouter, _ list: StorageKey<NoteList>) async throws {
    let plain = StorageCollection<Note>("notes", domain: .userDefaults)
    let notes = StorageCollection<Note>("notes", domain: .encryptedSQLite(database: "editor")).moved(from: plain)
    do {
        for try await note in storage.records(in: notes) { show(note.title) }  // moves all notes first
    } catch StorageError.unavailable {
        // A store cannot be reached. Every note is still in one of the two stores.
    }

    let older: StorageCollection<NoteV1> = editor.collection("oldNotes")
    let renamed = notes.moved(from: older) { old in Note(id: old.id, title: old.name) }

    let split = notes.moved(from: list) { $0.notes }

    let kept = notes.moved(from: editor.collection("notesOfRelease1"), keeping: .until(version: "3.0"))

    let both = notes.moved(from: older, keeping: .for(days: 30)) { old in
        Note(id: old.id, title: old.name)
    } down: { note in
        NoteV1(id: note.id, name: note.title)
    } merge: { older, newer in
        Note(id: older.id, title: older.title, author: newer.author)  // release 1 does not have the author
    }
    print(renamed, split, kept, both)
}

// MARK: References

enum EntitySample {
    struct Tag: StoredEntity {
        var id: String
        var color: String

        static let collection = StorageCollection<Tag>("tags", domain: .encryptedSQLite(database: "editor"))
    }
}

func referring(_ storage: StorageRouter, _ samID: UUID) async throws {
    let jon = Person(id: UUID(), name: "Jon")
    let sam = Person(id: UUID(), name: "Sam", brother: StorageReference(jon))
    try await storage.set(sam, in: Person.collection)  // stores Jon too
    do {
        if let brother = sam.brother { show(try await storage.resolve(brother).name) }
    } catch StorageError.notFound {
        show("The brother was removed.")
    }

    let note = Note(id: UUID(), title: "Groceries", author: StorageReference(jon))
    try await storage.set(note, in: notes)  // one commit, because notes and people are in one database

    let draft = Note(id: UUID(), title: "Draft", author: StorageReference(id: samID))  // Sam is not changed
    print(draft)
}

// MARK: Batches

func collectingChanges(_ storage: StorageRouter) async throws {
    try await storage.batch { (changes: inout StorageBatch) in
        changes.set(640, for: .width)
        changes.remove(.title)
    }

    do {
        try await storage.batch { $0.set(640, for: .width) }
    } catch StorageError.incompatibleSchema {
        // A later release of the program has stored one of the values. All values are unchanged.
    }

    try await storage.batch { $0.set("123456", for: .oneTimeCode, lifetime: .seconds(300)) }

    do {
        try await storage.batch { $0.remove(.title) }
    } catch StorageError.residueRemains {
        await storage.sweep()  // the title is removed; this deletes the older copy that remains
    }
}

// MARK: Stored values

func inspecting(_ storage: StorageRouter) async throws {
    if let stored = try await storage.storedValue(for: .rates) {
        print(stored.modifiedAt?.formatted() ?? "unknown", stored.schemaVersion ?? 1, stored.isExpired)
    }
}
