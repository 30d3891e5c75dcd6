// The ready-made migrations.
// snippet.hide
import Foundation
import LocalData

let old = StorageKeyGroup(owner: "Settings", domain: .userDefaults(suite: "old"))
let new = StorageKeyGroup(owner: "Settings", domain: .userDefaults(suite: "new"))

struct Address: Codable, Sendable {
    var street: String
    var city: String
}

struct NotANumber: Error {}

// snippet.show
// The value had another name or another store. If `moved` is called twice, the location of the first call is preferred.
let city: StorageKey<String> = new.key("city", "The first city to show")
    .moved(from: old.key("city", "The city, in version 2"))
    .moved(from: old.key("town", "The city, in version 1"))

// The value had another shape.
let interval: StorageKey<Int> = new.key("interval", "Minutes between two updates")
    .moved(from: old.key("intervalText", "The minutes as text")) { (text: String) in
        guard let minutes = Int(text) else { throw NotANumber() }
        return minutes
    }

// Another shape in the same slot: a value that does not decode is transformed in place.
let home: StorageKey<Address> = new.key("home", "The home address")
    .moved(from: new.key("home", "The home address as one line")) { (line: String) in
        Address(street: line, city: "")
    }

// Several values become one. Nil means that a value is absent; returning nil means "not yet".
let observer: StorageKey<String> = new.key("observer", "The name that signs reports")
    .merged(
        from: old.key("firstName", "The first name"), old.key("lastName", "The last name"),
        by: { (first: String?, last: String?) in
            guard let first, let last else { return nil }
            return "\(first) \(last)"
        })
// snippet.hide

// snippet.show
// The source key keeps its value. The copy is made once, and later changes of the source are not copied.
let recipient: StorageKey<String> = new.key("recipient", "Who gets the reports")
    .copied(from: new.key("email", "The address of the account"))
// snippet.hide

// snippet.show
// A chain: reading `second` first runs the migration of `second`, so a value moves first → second → third.
let first: StorageKey<String> = old.key("name.1", "The name, in version 1")
let second: StorageKey<String> = old.key("name.2", "The name, in version 2").moved(from: first)
let third: StorageKey<String> = new.key("name", "The name").moved(from: second)
// snippet.hide

// snippet.show
// Each of these options allows something that the safe default refuses.
let cache: StorageKey<String> = new.key("cache", "The last page")
    .moved(
        from: StorageKey(name: "cache", domain: .keychain, owner: "Settings", description: "The last page, in the keyring"),
        options: MigrationOptions(whenSourceUnavailable: .skip, allowsWeakerProtection: true))
// snippet.hide

// snippet.show
// The policy for a legacy location that holds another value than the destination.
let recent: StorageKey<[String]> = new.key("recent", "Recently viewed cities")
    .moved(from: old.key("recent", "The cities, in version 1"))
    .resolvingConflicts(.merge { mine, older in (mine ?? []) + older.filter { !(mine ?? []).contains($0) } })
// snippet.hide

// snippet.show
// A condition: the migration runs only if the program version that completed the last sweep is below 3.0.
let theme = StorageKey<String>(
    name: "theme", domain: .userDefaults(suite: "new"), owner: "Settings", description: "The colours",
    migration: { key in
        let legacy: StorageKey<String> = old.key("skin", "The colours, before 3.0")
        return AnyStorageMigration(ConditionalMigration(SimpleLegacyMigration(destinationKey: key, sourceKey: legacy), below: "3.0"))
    })
// snippet.hide

let storage = StorageRouter(configuration: .inMemory())
try await storage.set("John", for: first)
print(try await storage.get(third))
for key in [AnyStorageKey.key(city), .key(interval), .key(home), .key(observer), .key(cache), .key(recent), .key(theme)] { print(key.name) }
