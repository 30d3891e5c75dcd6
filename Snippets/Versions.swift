// A stored type changes: a chain of versions converts stored values to the current shape.
// snippet.hide
import Foundation
import LocalData

func check(_ holds: Bool, _ line: Int = #line) { if !holds { fatalError("line \(line)") } }

let settings = StorageKeyGroup(owner: "Settings", domain: .userDefaults)
let editor = StorageKeyGroup(owner: "Editor", domain: .encryptedSQLite(database: "editor"))
var configuration = StorageConfiguration.inMemory()
configuration.passphrase = { _ in "only for this snippet" }
let storage = StorageRouter(configuration: configuration)

// snippet.show
struct PersonV1: Codable, Sendable { var fullName: String }

struct Person: Codable, Sendable {
    var firstName: String
    var lastName: String
    var nickname: String
}

let person: StorageKey<Person> = settings.key("person", "The person who signs reports")
    .evolving(
        Evolution.from(PersonV1.self)  // version 1, and values without a version
            .to { old in  // version 2
                let names = old.fullName.split(separator: " ").map(String.init)
                return ["firstName": names.first ?? "", "lastName": names.dropFirst().joined(separator: " ")]
            }
            .to { document in  // version 3: no Swift type of version 2 is needed
                document["nickname"] = document["firstName"]
            })
// snippet.hide
try await storage.set(PersonV1(fullName: "John Snow"), for: settings.key("person", "The person who signs reports"))
let john = try await storage.get(person)
check(john.nickname == "John" && john.lastName == "Snow")
check(person.schemaVersion == 3)
check(try await storage.storedValue(for: person)?.schemaVersion == 3)

// snippet.show
struct Note: Codable, Sendable, Identifiable {
    var id: String
    var title: String
    var stars: Int
    var token: UUID
}

let notes: StorageCollection<Note> = editor.collection("notes", "The user's notes")
    .evolving(
        Evolution.from(version: 1)
            .to { note in
                note.rename("name", to: "title")
                note.add("stars", default: "0")
                note["place.city"] = nil
            }
            .to { note, context in
                try note.convert("stars", to: .integer)  // throws if the text is not a number: the record stays unchanged
                note["token"] = .string(context.identity.uuidString)  // a step may run again, so it derives the identity
            }
            .keepingBackup())  // the earlier bytes stay in the same store
// snippet.hide
let old: StorageCollection<StoredDocument> = StorageCollection(
    "notes", domain: editor.domain, owner: "Editor", description: "The user's notes", typeTag: "Note", id: { $0["id"]?.string ?? "" })
try await storage.set(
    [
        StoredDocument(["id": "a", "name": "Milk", "place": ["city": "Graz"]]), StoredDocument(["id": "b", "name": "Bread", "stars": "3"]),
    ], in: old)
check(try await storage.get("a", in: notes).stars == 0)
check(try await storage.get("b", in: notes).stars == 3)

// snippet.show
// To withdraw a faulty release, restore the older bytes. The newer bytes become a backup.
let restored = try await storage.restoreBackup(for: notes.key("a"))  // 1, the version; nil if there is no backup
// snippet.hide
check(restored == 1)
check(try await storage.storedValue(for: old.key("a"))?.value["name"] == "Milk")
check(try await storage.storedValue(for: old.key("a"))?.schemaVersion == 1)

// snippet.show
// One block for every stored version: it gets the version, the old document, and the new document to fill.
let block = Evolution.from(version: 1).enumerating(to: 3) { storedVersion, old, new in
    new["title"] = storedVersion == 1 ? old["name"] : old["label"]
    new["name"] = nil
    new["label"] = nil
}
// snippet.hide
check(block.version == 3)

// snippet.show
// A shortcut: it replaces the steps between two versions.
let shorter = Evolution.from(version: 1)
    .to { $0.rename("name", to: "label") }
    .to { $0.rename("label", to: "title") }
    .shortcut(from: 1, to: 3) { $0.rename("name", to: "title") }
// snippet.hide
check(shorter.version == 3)

let shelf: StorageCollection<Note> = editor.collection("shelf", "Notes on the shelf")
struct NoteList: Codable, Sendable { var notes: [Note] }
// snippet.show
// A list under one key becomes the records of a collection, in one commit.
let list: StorageKey<NoteList> = settings.key("notes", "All notes in version 1")
let records = shelf.moved(from: list) { $0.notes }
// snippet.hide
try await storage.set(NoteList(notes: [Note(id: "x", title: "Tea", stars: 1, token: UUID())]), for: list)
check(try await storage.get("x", in: records).title == "Tea")
check(try await storage.value(for: list) == nil)

struct EditorKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(person), .collection(notes), .collection(records)] }
}
// snippet.show
// Lists the migrations, and says which are still needed. A chain has one migration for each earlier version.
try await storage.registerCatalog(EditorKeys())
for migration in try await storage.migrations() {
    print(migration.id, migration.lastWorked.map { "last worked \($0)" } ?? "never worked", "\(migration.pending) wait")
    if migration.isSafeToDelete { print("… and no value on this machine needs it") }
}
// snippet.hide
check(try await storage.migrations().first { $0.id == "notes:Evolution:1" }?.pending == 1)
