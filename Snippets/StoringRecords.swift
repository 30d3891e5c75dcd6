// Many values of one type, each with its own id.
// snippet.hide
import LocalData
import LocalDataBackup

func check(_ holds: Bool, _ line: Int = #line) { if !holds { fatalError("line \(line)") } }

// snippet.show
struct Note: Codable, Sendable, Identifiable {
    var id: String
    var text: String
}

let editor = StorageKeyGroup(owner: "Editor", domain: .encryptedSQLite(database: "documents"))
let notes: StorageCollection<Note> = editor.collection("notes", "The user's notes")
// snippet.hide

struct EditorKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.collection(notes)] }
}

var configuration = StorageConfiguration.inMemory()
configuration.passphrase = { _ in "only for this snippet" }
let storage = StorageRouter(configuration: configuration)
try await storage.registerCatalog(EditorKeys())
// snippet.show

try await storage.set([Note(id: "a", text: "Milk"), Note(id: "b", text: "Bread")], in: notes)  // one commit for both
try await storage.update("a", in: notes) { $0?.text = "Oat milk" }
let bread = try await storage.value("b", in: notes)  // nil if there is none
try await storage.remove("b", in: notes)

for try await note in storage.records(in: notes) { print(note.text) }  // a page at a time; throws for a damaged record
// snippet.hide
check(bread?.text == "Bread")
check(try await storage.count(in: notes) == 1)
check(try await storage.get("a", in: notes).text == "Oat milk")

// snippet.show
let setAside = DamagePolicy.report { record, reason in
    print("\(record): \(reason.message)")
    try await storage.setAside(record)  // into the quarantine; damagedData(_:) exports it, removeDamaged(_:) removes it
}
for try await note in storage.records(in: notes, onDamage: setAside) { print(note.text) }
// snippet.hide

// snippet.show
// Queries use attributes beside a record: its sync status, texts of your own, the time of its last change.
try await storage.set(Note(id: "c", text: "Tea"), in: notes, syncStatus: .notSynced, attributes: ["shelf": "kitchen"])
let waiting = try await storage.count(in: notes, .syncStatus(.notSynced).and(.attribute("shelf", "kitchen")))
for try await stored in storage.storedRecords(in: notes, .syncStatus(.notSynced)) { print(stored.id, stored.attributes) }
// snippet.hide
check(waiting == 1)

// snippet.show
// Each record has a key, like a single value: observe it, or change it in a batch with other records.
for try await note in storage.values(for: notes.key("c")) {
    print(note?.text ?? "gone")
    // snippet.hide
    break
    // snippet.show
}
try await storage.batch { batch in
    batch.remove("a", in: notes)
    try batch.set(Note(id: "d", text: "Apples"), in: notes)
}
// snippet.hide
check(try await storage.count(in: notes) == 2)

// snippet.show
// Removes every record.
for try await stored in storage.storedRecords(in: notes) { try await storage.remove(notes.key(stored.id)) }
// snippet.hide
check(try await storage.count(in: notes) == 0)

struct Tag: Codable, Sendable, Hashable { var word: String }
// snippet.show
// Records without an id are found by their content; the same content is stored once.
let tags = StorageCollection<Tag>.contentAddressed(
    "tags", domain: .encryptedSQLite(database: "documents"), owner: "Editor", description: "Words that notes are filed under")
try await storage.set([Tag(word: "home"), Tag(word: "home")], in: tags)
// snippet.hide
check(try await storage.count(in: tags) == 1)
