// Queries for records by their content.
// snippet.hide
import Foundation
import LocalData
import LocalDataQueries

func check(_ holds: Bool, _ line: Int = #line) { if !holds { fatalError("line \(line)") } }

// snippet.show
struct Note: Codable, Sendable, Identifiable {
    var id: String
    var tag: String
    var date: Date
    var text: String
}

let editor = StorageKeyGroup(owner: "Editor", domain: .encryptedSQLite(database: "documents"))
let notes: StorageCollection<Note> = editor.collection("notes", "The user's notes").attribute("tag", \.tag)
// snippet.hide

struct EditorKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.collection(notes)] }
}

var configuration = StorageConfiguration.inMemory()
configuration.passphrase = { _ in "only for this snippet" }
let storage = StorageRouter(configuration: configuration)
try await storage.registerCatalog(EditorKeys())
let day = Date(timeIntervalSinceReferenceDate: 0)
for number in 0..<120 {
    let note = Note(id: "n\(number)", tag: number % 2 == 0 ? "work" : "home", date: day + Double(number), text: "Note")
    try await storage.set(note, in: notes)
}

// snippet.show
// A label lookup in an encrypted database: reads only the notes with the tag.
let work = try await storage.records(in: notes, where: \.tag == "work", orderedBy: .descending(\.date), limit: 50)
let isAnyLeft = try await storage.exists(in: notes, where: \.tag == "work")
let count = try await storage.count(in: notes, where: \.tag == "work")

// Reads the notes with the tag, and checks the date of each.
let recent = try await storage.records(in: notes, where: \.tag == "work" && \.date >= day)

// Scans: each reads all notes.
let either = try await storage.records(in: notes, where: \.tag == "work" || \.tag == "home")
let long = try await storage.first(in: notes, where: .matching { $0.text.count > 1_000 }, orderedBy: .ascending(\.date))
// snippet.hide
check(work.count == 50 && work.first?.id == "n118" && isAnyLeft && count == 60 && recent.count == 60 && either.count == 120 && long == nil)

// snippet.show
var page = try await storage.page(in: notes, where: \.tag == "work", size: 25)
while let cursor = page.cursor {
    page = try await storage.page(in: notes, where: \.tag == "work", size: 25, after: cursor)
}
// snippet.hide
check(page.records.count <= 25)

// snippet.show
try await storage.removeAll(in: notes, where: \.date < day + 60)  // returns how many
try await storage.clear(notes)  // removes every record
// snippet.hide
check(try await storage.count(in: notes, where: .all) == 0)
