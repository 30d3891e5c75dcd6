// The calls of the library GarageStorage, and the corresponding calls of LocalData.
// snippet.hide
import Foundation
import LocalData

func check(_ holds: Bool, _ line: Int = #line) { if !holds { fatalError("line \(line)") } }

// snippet.show
struct Address: Codable, Sendable {  // anonymous: stored within its owner
    var street: String
    var city: String
}

final class Person: StoredEntity {  // identified: stored once; others refer to it
    let id: String
    let address: Address?
    let importantDates: [Date]
    let brother: StorageReference<Person>?
    let siblings: [StorageReference<Person>]

    init(id: String, address: Address? = nil, dates: [Date] = [], brother: Person? = nil, siblings: [Person] = []) {
        self.id = id
        self.address = address
        importantDates = dates
        self.brother = brother.map { StorageReference($0) }
        self.siblings = siblings.map { StorageReference($0) }
    }

    static let collection: StorageCollection<Person> = garage.collection("people", "People the user knows")
}

let garage = StorageKeyGroup(owner: "People", domain: .encryptedSQLite(database: "garage"))  // Garage(named:)
// snippet.hide

var configuration = StorageConfiguration.inMemory()
configuration.passphrase = { _ in "only for this snippet" }
let storage = StorageRouter(configuration: configuration)
// snippet.show

let nick = Person(id: "Nick")
let sam = Person(id: "Sam", address: Address(street: "Ring 1", city: "Graz"), brother: nick, siblings: [nick, Person(id: "Emily")])

try await storage.set(sam, in: Person.collection)  // park(_:), with Nick and Emily, in one commit
let found = try await storage.get("Sam", in: Person.collection)  // retrieve(_:identifier:)
let brother = try await storage.resolve(found.brother)  // nil without a brother; a required reference throws an error with its id
for try await person in storage.records(in: Person.collection) { print(person.id) }  // retrieveAll(_:)
try await storage.remove("Emily", in: Person.collection)  // delete(_:): the records that she refers to stay
// snippet.hide
check(brother?.id == "Nick" && found.address?.city == "Graz" && found.siblings.count == 2)
check(try await storage.count(in: Person.collection) == 2)

// snippet.show
try await storage.set(nick, in: Person.collection, syncStatus: .notSynced)  // setSyncStatus(_:for:)
let status = try await storage.storedValue("Nick", in: Person.collection)?.syncStatus  // syncStatus(for:)
for try await stored in storage.storedRecords(in: Person.collection, .syncStatus(.notSynced)) {  // retrieveAll(withStatus:)
    print(stored.id, stored.modifiedAt ?? .distantPast)
}

try await storage.batch { batch in  // isAutosaveEnabled = false … save()
    for number in 1...100 { try batch.set(Person(id: "Guest \(number)"), in: Person.collection) }
}
// snippet.hide
check(status == .notSynced)
check(try await storage.count(in: Person.collection) == 102)

struct OldContact: Codable, Sendable, Identifiable {
    var id: String
    var name: String
}
let oldContacts = StorageCollection<OldContact>(
    "contacts", domain: .encryptedSQLite(database: "garage"), owner: "People", description: "Contacts", typeTag: "MyAppContact")
try await storage.set([OldContact(id: "a", name: "Ada"), OldContact(id: "b", name: "Ben")], in: oldContacts, syncStatus: .synced)

// snippet.show
struct Contact: Codable, Sendable, Identifiable {
    var id: String
    var name: String
}

// The type has a new name. It reads the older records, which keep the tag of the old type. This call gives them the new tag.
let contacts: StorageCollection<Contact> = garage.collection("contacts", "Contacts")
let result = try await storage.migrateAll(from: "MyAppContact", to: contacts)
print(result.records ?? 0)  // a second run: 0
// snippet.hide
check(result.records == 2)
check(try await storage.count(in: contacts) == 2)
check(try await storage.storedValue("a", in: contacts)?.syncStatus == .synced)

// snippet.show
// May the call of migrateAll be removed? This says when it last migrated a record, and how many records on this machine still need it.
let migration = try await storage.migration(from: "MyAppContact", to: contacts)
if migration.isSafeToDelete { print("Last needed \(migration.lastWorked?.formatted() ?? "never")") }
// snippet.hide
check(migration.isSafeToDelete && migration.lastWorked != nil)

// snippet.show
// Or declare a tag: then the collection has only the records with this tag, whatever the name of the Swift type is.
let members = StorageCollection<Contact>(
    "members", domain: garage.domain, owner: "People", description: "Members", typeTag: "MyAppMember")

// A property that was once stored as JSON within a text.
struct Place: Codable, Sendable, Identifiable {
    var id: String
    @Migratable var address: Address
    @Migratable var former: Address?
}
// snippet.hide
check(members.typeTag == "MyAppMember")
let places: StorageCollection<Place> = garage.collection("places", "Places")
let oldPlaces = StorageCollection<StoredDocument>(
    "places", domain: garage.domain, owner: "People", description: "Places", typeTag: "Place", id: { $0["id"]?.string ?? "" })
try await storage.set(StoredDocument(["id": "x", "address": #"{"street":"Ring 1","city":"Graz"}"#]), in: oldPlaces)
check(try await storage.get("x", in: places).address.city == "Graz")
