// A read that moves a value, and the failures in which nothing is lost.
// snippet.hide
import LocalData

extension StorageKey where Value == String {
    static let apiToken = StorageKey(name: "api-token", domain: .keychain)
        .moved(from: StorageKey(name: "apiToken", domain: .userDefaults))
}

let storage = StorageRouter(configuration: .inMemory())
try await storage.set("abc", for: StorageKey<String>(name: "apiToken", domain: .userDefaults))
// snippet.show
do {
    let token = try await storage.get(.apiToken)  // moved if it was still at the legacy location
    print(token.count)
} catch StorageError.locked {
    print("The keyring is locked. The older value is unchanged; unlock the keyring, then read again.")
} catch StorageError.weakerProtection {
    print("The new store protects the value less than the old one. Nothing was moved.")
} catch StorageError.migrationFailed {
    print("A transformation failed. The older value is unchanged.")
} catch StorageError.notFound {
    print("No location has a value. This is proven, not assumed.")
}
