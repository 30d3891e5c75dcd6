// The first program: a number in user defaults, and a token that version 1 kept there and version 2 keeps in the keyring.
import LocalData

extension StorageKey where Value == Int {
    static let launches = StorageKey(name: "launches", domain: .userDefaults)
}

// snippet.hide
extension StorageKey where Value == String {
    static let apiToken = StorageKey(name: "api-token", domain: .keychain)
        .moved(from: StorageKey(name: "apiToken", domain: .userDefaults))
}

func first() async throws {
    // snippet.show
    let storage = StorageRouter(configuration: .xdg(applicationID: "com.example.notes", version: "1.0"))
    let launches = try await storage.update(.launches, default: 0) { launches in
        launches += 1
        return launches
    }
    print("This is launch \(launches).")
    // snippet.hide
}

// snippet.show
struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.launches), .key(.apiToken)] }
}
// snippet.hide

func second(_ storage: StorageRouter) async throws {
    // snippet.show
    let report = try await storage.registerCatalog(AppKeys(), migrateImmediately: true)
    for row in report.moved { print("\(row.key): \(row.from) → \(row.to)") }

    do {
        let token = try await storage.get(.apiToken)
        print("The token has \(token.count) characters.")
    } catch StorageError.notFound {
        print("Log in first.")  // proven: there is no token, not here and not where version 1 kept it
    } catch StorageError.locked {
        print("Unlock your keyring to log in.")  // nothing was changed; the token of version 1 is still there
    } catch let error as StorageError where error.code == .unavailable {
        print(error.message)  // there is no session bus or no keyring; nothing was changed
    }
    // snippet.hide
}

_ = (first, second)
