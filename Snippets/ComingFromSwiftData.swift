// The calls of SwiftData or ManagedModels, and the corresponding calls of LocalData. This file does not use the macros
// of LocalData.
// snippet.hide
import Foundation
import LocalData

func check(_ holds: Bool, _ line: Int = #line) { if !holds { fatalError("line \(line)") } }

let main = StorageKeyGroup(owner: "Contacts", domain: .encryptedSQLite(database: "main"))
// snippet.show
enum Priority: Int, Codable { case high = 5, medium = 3, low = 1 }

struct Contact: Codable, Sendable, Identifiable {
    struct Address: Codable, Sendable {
        var street: String?
        var city: String?
    }

    var id = UUID()
    var name: String
    var priority: Priority  // stored as 5, 3 or 1
    var privateAddress: Address  // stored whole, as ManagedModels does
    var isSelected = false  // transient: not among the coding keys

    init(name: String, priority: Priority = .medium, city: String? = nil) {  // any initialiser; reads do not use it
        self.name = name
        self.priority = priority
        privateAddress = Address(city: city)
    }

    private enum CodingKeys: CodingKey { case id, name, priority, privateAddress }
}

let contacts: StorageCollection<Contact> = main.collection("contacts", "Contacts of the user")
// snippet.hide

var configuration = StorageConfiguration.inMemory()
configuration.passphrase = { _ in "only for this snippet" }
let storage = StorageRouter(configuration: configuration)
// snippet.show

var kari = Contact(name: "Kari", city: "Oslo")
try await storage.set(kari, in: contacts)  // context.insert(_:) and save()
kari.name = "Kari Nordmann"  // a value: changing it stores nothing
try await storage.set(kari, in: contacts)
try await storage.update(kari.id, in: contacts) { $0?.priority = .high }  // read, change and write as one step
for try await contact in storage.records(in: contacts) { print(contact.name) }  // all records, in no order
let high = try await storage.records(in: contacts).filter { $0.priority == .high }.first { _ in true }
// snippet.hide
check(high?.name == "Kari Nordmann" && high?.privateAddress.city == "Oslo")
check(try await storage.count(in: contacts) == 1)

// snippet.show
// A declared shape: older values get the default, and a renamed property is found under its old name.
struct Note: StorageModel {
    var title: String
    var stars: Int
    var color: String?

    static let attributes = [
        AttributeDescription("title", .string),
        AttributeDescription("stars", .integer, default: 0),
        AttributeDescription("color", .string, isOptional: true, originalName: "colour"),
    ]
}

let note: StorageKey<Note> = main.key("note", "The one note")
// snippet.hide
try await storage.set(StoredDocument(["title": "Milk", "colour": "red"]), for: main.key("note", "The one note"))
let read = try await storage.get(note)
check(read.stars == 0 && read.color == "red")

// snippet.show
// Instead of VersionedSchema and SchemaMigrationPlan: each key or collection has a version and a chain of conversions.
let tasks: StorageCollection<Contact> = main.collection("tasks", "Open tasks")
    .evolving(
        Evolution.from(version: 1)
            .to { $0.add("priority", default: 3) }  // lightweight
            .to { $0["name"] = $0["name"].map { .string($0.string?.capitalized ?? "") } })  // custom
// snippet.hide
check(tasks.schemaVersion == 3)
