import Foundation
import LocalData

extension StorageKey where Value == Int {
    static let width = StorageKey(
        name: "width", domain: .userDefaults, owner: "Window", description: "The window's width in points", defaultValue: 800)
}

func declaring(_ storage: StorageRouter) async throws {
    let draft = StorageKey<String>(name: "draft", domain: .userDefaults, owner: "Editor", description: "The text that is not sent yet")
    do {
        try await storage.set("Hello", for: draft)
    } catch StorageError.invalidName {
        // The name is empty, is longer than 1,024 bytes, or has a control character. The router checks it only now.
    }
}

func migrating() {
    let width = StorageKey<Int>.width.moved(from: StorageKey(name: "w", domain: .userDefaults))
    print(width.hasMigration)  // true

    for migration in width.migrations { print(migration.id) }
}

func resolvingConflicts() {
    let launches = StorageKey<Int>.launches
        .moved(from: StorageKey(name: "starts", domain: .userDefaults))
        .resolvingConflicts(.merge { current, older in (current ?? 0) + older })
    print(launches)
}

struct PersonV1: Codable, Sendable { var fullName: String }
struct PersonV2: Codable, Sendable { var name: String }

func evolving(_ storage: StorageRouter) async throws {
    let author = StorageKey<PersonV2>(name: "author", domain: .userDefaults)
        .evolving(Evolution.from(PersonV1.self).to { old in PersonV2(name: old.fullName) })
    do {
        show(try await storage.get(author).name)
    } catch StorageError.migrationFailed {
        // A step of the chain has failed. The stored value is unchanged.
    }
}

func evolvingDocuments(_ storage: StorageRouter) async throws {
    let author = StorageKey<PersonV2>(name: "author", domain: .userDefaults)
        .evolving(Evolution.from(version: 1).to { document in document.rename("fullName", to: "name") })
    print(author.schemaVersion)  // 2
}

func versioning() {
    // Release 4 stored the width under another name, and as version 2 of its type.
    let older = StorageKey<Int>(name: "window.width", domain: .userDefaults).version(2)
    let width = StorageKey<Int>.width.moved(from: older)
    print(width)
}

func expiring(_ storage: StorageRouter) async throws {
    let session = StorageKey<String>(name: "session", domain: .keychain).expiring(after: .seconds(3_600))
    try await storage.set("abc", for: session)
    let token = try await storage.value(for: session)  // nil after an hour; `get` then throws `notFound`
    print(token as Any)
}

func witnessing(_ storage: StorageRouter) async throws {
    let seed = StorageKey<String>(name: "seed", domain: .keychain).witnessed()
    do {
        signIn(with: try await storage.get(seed))
    } catch StorageError.vanished {
        // The seed was stored once, and its item is gone. Restore the keyring, or accept the loss with `acknowledgeLoss(for:)`.
    }
}

func renaming() {
    let port: LocalDataKey<Int> = StorageKeyGroup(owner: "Server", domain: .userDefaults).key("port", default: 8080)
    print(port)
}

// MARK: Groups

let window = StorageKeyGroup(owner: "Window", domain: .userDefaults)

extension StorageKey where Value == Double {
    static let opacity: Self = window.key("opacity", "The opacity of the window, from 0 to 1", default: 1)
}

func grouping(_ storage: StorageRouter) async throws {
    let secrets = StorageKeyGroup(owner: "Payments", domain: .encryptedSQLite(database: "payments"))
    let sealed = StorageKeyGroup(owner: "Payments", domain: .userDefaults(suite: "payments"), security: .encrypted)

    for tab in 1...3 {
        let url: StorageKey<String> = window.key("tab \(tab)", "The page in tab \(tab)", default: "about:blank")
        show(try await storage.get(url))
    }

    let notes: StorageCollection<Note> = editor.collection("notes", "The user's notes")
    print(secrets, sealed, notes)
}

// MARK: Catalogs

struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.width), .key(.title), .key(.apiToken), .collection(notes)] }
}

enum ProtectedSample {
    struct Secrets: StorageKeyCatalog {
        var allKeys: [AnyStorageKey] { [.key(.apiToken)] }
        var minimumProtection: ProtectionLevel { .keychain }  // a key in plain user defaults refuses the catalog
    }
}

enum RetiredSample {
    struct AppKeys: StorageKeyCatalog {
        var allKeys: [AnyStorageKey] { [.key(.width)] }
        var retiredKeys: [AnyStorageKey] { [.key(.legacyTitle)] }
    }
}

enum NamedSample {
    struct WeatherKeys: StorageKeyCatalog {
        var id: String { "AppKeys" }  // the name of the type in release 1
        var allKeys: [AnyStorageKey] { [.key(.width)] }
    }
}

func erasing() {
    let keys: [AnyStorageKey] = [.key(.width), .key(.apiToken), .collection(notes)]
    for key in keys { print(key.name, key.domain, key.owner ?? "no owner", key.hasMigration) }

    let token = AnyStorageKey.key(.apiToken)

    let records = AnyStorageKey.collection(notes)
    print(token, records)
}

// MARK: Domains and locations

func choosing() {
    let width = StorageKey<Int>(name: "width", domain: .userDefaults)  // a setting
    let token = StorageKey<String>(name: "token", domain: .keychain)  // a secret
    let draft = StorageKey<String>(name: "draft", domain: .encryptedSQLite(database: "editor"))  // private data
    let cursor = StorageKey<Int>(name: "cursor", domain: .memory())  // only for this run

    let kind = StorageDomain.encryptedSQLite(database: "editor").kind
    print(kind, kind == .encryptedSQLite)  // encryptedSQLite true

    let shared = StorageDomain.userDefaults(suite: "com.example.shared")  // the file com.example.shared.plist

    let mail = StorageDomain.keychain(service: "com.example.mail")  // also for another program of the same user

    let archive = StorageKey<String>(name: "index", domain: .encryptedSQLite(database: "archive"))

    let scratch = StorageKey<[String]>(name: "undo", domain: .memory("editor"), defaultValue: [])

    let remote = StorageKey<String>(name: "motd", domain: .custom("etcd", scope: "cluster-1"))

    let place = StoragePlace(.userDefaults(suite: "main"), "token")
    print(place)  // userDefaults(main)/token
    print(width, token, draft, cursor, shared, mail, archive, scratch, remote)
}

func choosingABackend(_ storage: StorageRouter, _ remote: StorageKey<String>) async throws {
    do {
        try await storage.set("Hello", for: StorageKey(name: "motd", domain: .custom("etcd", scope: "cluster-1")))
    } catch StorageError.unavailable {
        // The configuration has no backend of this kind: see `useBackend(for:_:)`.
    }
}

// MARK: Legacy locations

func moving(_ storage: StorageRouter) async throws {
    let token = StorageKey<String>(name: "api-token", domain: .keychain)
        .moved(from: StorageKey(name: "apiToken", domain: .userDefaults))
    do {
        signIn(with: try await storage.get(token))  // the first call moves the token to the keyring
    } catch StorageError.locked {
        // The keyring is locked. The token is still in the user defaults.
    }

    let timeout = StorageKey<Int>(name: "timeout", domain: .userDefaults)
        .moved(from: StorageKey<String>(name: "timeoutText", domain: .userDefaults)) { text in
            guard let seconds = Int(text) else { throw CocoaError(.formatting) }  // `migrationFailed`; the text stays
            return seconds
        }

    let both = StorageKey<String>(name: "api-token", domain: .keychain(service: "com.example.notes"))
        .moved(from: StorageKey(name: "token", domain: .keychain(service: "notes")), keeping: .until(version: "3.0"))

    let size = StorageKey<[Int]>(name: "size", domain: .userDefaults)
        .moved(from: StorageKey<Int>(name: "width", domain: .userDefaults), keeping: .for(days: 30)) { width in
            [width, 600]
        } down: { size in
            size.first ?? 800
        } merge: { older, newer in
            [older[0], newer.last ?? 600]  // release 1 has changed the width, and does not have the height
        }

    let backupFolder = StorageKey<String>(name: "backup.folder", domain: .userDefaults)
        .copied(from: StorageKey(name: "export.folder", domain: .userDefaults))

    let limit = StorageKey<Double>(name: "limit", domain: .userDefaults)
        .copied(from: StorageKey<Int>(name: "quota", domain: .userDefaults)) { quota in Double(quota) }

    let fullName = StorageKey<String>(name: "fullName", domain: .userDefaults)
        .merged(
            from: StorageKey<String>(name: "first", domain: .userDefaults), StorageKey<String>(name: "last", domain: .userDefaults)
        ) { first, last in
            guard let first, let last else { return nil }  // wait for the other value
            return "\(first) \(last)"
        }
    print(timeout, both, size, backupFolder, limit, fullName)
}
