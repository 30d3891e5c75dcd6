// The calls of the library Cache, and the corresponding calls of LocalData.
// snippet.hide
import Foundation
import LocalData

func check(_ holds: Bool, _ line: Int = #line) { if !holds { fatalError("line \(line)") } }

struct User: Codable, Sendable { var name: String }

var configuration = StorageConfiguration.inMemory()
configuration.passphrase = { _ in "only for this snippet" }
let storage = StorageRouter(configuration: configuration)
// snippet.show
let cache = StorageKeyGroup(owner: "Cache", domain: .encryptedSQLite(database: "cache"))

func user(_ name: String) -> StorageKey<User> { cache.key(name, "A user from the service").expiring(after: .seconds(7_200)) }

try await storage.set(User(name: "Sam"), for: user("sam"))  // setObject(_:forKey:)
try await storage.set(User(name: "Ada"), for: user("ada"), lifetime: .seconds(60))  // setObject(_:forKey:expiry:)
let sam = try await storage.get(user("sam"))  // object(ofType:forKey:): throws notFound
let maybe = try await storage.value(for: user("kim"))  // nil instead
let entry = try await storage.storedValue(for: user("ada"))  // entry(ofType:forKey:): expiresAt, isExpired, and the expired value
let isThere = try await storage.exists(user("sam"))  // existsObject(ofType:forKey:)
try await storage.remove(user("sam"))  // removeObject(forKey:)
let names = try await storage.names(of: cache.domain)  // every key, also of other programs
// snippet.hide
check(sam.name == "Sam" && maybe == nil && isThere)
check(entry?.value.name == "Ada" && entry?.isExpired == false && entry?.expiresAt != nil)
check(names == ["ada"])

struct CacheKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.collection(users)] }
}

struct CachedUser: Codable, Sendable, Identifiable {
    var id: String
    var name: String
}
// snippet.show

// Store many values of one kind as records. You can list and count them, and a sweep deletes those that have expired.
let users = StorageCollection<CachedUser>("users", domain: cache.domain, owner: "Cache", description: "Data from the service")
    .expiring(after: .seconds(7_200))
try await storage.set(CachedUser(id: "sam", name: "Sam"), in: users)
try await storage.registerCatalog(CacheKeys(), migrateImmediately: true)  // removeExpiredObjects()
for try await stored in storage.storedRecords(in: users) { try await storage.remove(users.key(stored.id)) }  // removeAll()
// snippet.hide
check(try await storage.count(in: users) == 0)

// snippet.show
struct Person: Codable, Sendable {
    var firstName: String
    var lastName: String
}

struct Alien: Codable, Sendable {
    var firstName: String
    var lastName: String
}

// As in Cache, the name of the type does not matter: a stored Person is read as an Alien.
try await storage.set(Person(firstName: "John", lastName: "Snow"), for: cache.key("person", "A person"))
let alien: StorageKey<Alien> = cache.key("person", "A person")
// snippet.hide
check(try await storage.get(alien).firstName == "John")
try await storage.remove(alien)

// snippet.show
struct Person1: Codable, Sendable { var fullName: String }
typealias Person2 = Person

func split(_ person: Person1) throws -> Person2 {
    let parts = person.fullName.split(separator: " ").map(String.init)
    return Person2(firstName: parts.first ?? "", lastName: parts.dropFirst().joined(separator: " "))
}

// By hand: read the old type, make the new one, store it under the same key.
let before: StorageKey<Person1> = cache.key("person", "A person")
let after: StorageKey<Person2> = cache.key("person", "A person")
// snippet.hide
try await storage.set(Person1(fullName: "John Snow"), for: before)
// snippet.show
do {
    _ = try await storage.get(after)
} catch StorageError.undecodable {  // the bytes stay
    try await storage.set(split(storage.get(before)), for: after)
}
// snippet.hide
check(try await storage.get(after).firstName == "John")
try await storage.set(Person1(fullName: "John Snow"), for: before)

// snippet.show
// Or declare the conversion once, at the key. `get` then converts the value, and deletes the old bytes after a durable, verified write.
let person = after.moved(from: before, split)
// snippet.hide
check(try await storage.get(person).lastName == "Snow")
let chainKey: StorageKey<Person2> = cache.key("chained", "A person")
// snippet.show
// Or give each shape a version. Versions also distinguish two shapes if values of each can be decoded as the other.
let versioned = chainKey.evolving(Evolution.from(Person1.self).to(split))
// snippet.hide
try await storage.set(Person1(fullName: "John Snow"), for: cache.key("chained", "A person"))
check(try await storage.get(versioned).lastName == "Snow")

// snippet.show
// Cache's document asks for a migration block like Realm's. This block runs once for each stored object with an earlier version.
let people = StorageCollection<StoredDocument>(
    "people", domain: cache.domain, owner: "Cache", description: "People", id: { $0["id"]?.string ?? "" }
)
.evolving(
    Evolution.from(version: 1).enumerating { oldVersion, old, new in
        new["fullName"] = .string("\(old["firstName"]?.string ?? "") \(old["lastName"]?.string ?? "")")
        new["firstName"] = nil
        new["lastName"] = nil
    })
// snippet.hide
let oldPeople = StorageCollection<StoredDocument>(
    "people", domain: cache.domain, owner: "Cache", description: "People", id: { $0["id"]?.string ?? "" })
try await storage.set(StoredDocument(["id": "1", "firstName": "John", "lastName": "Snow"]), in: oldPeople)
check(try await storage.get(people.key("1"))["fullName"] == "John Snow")
