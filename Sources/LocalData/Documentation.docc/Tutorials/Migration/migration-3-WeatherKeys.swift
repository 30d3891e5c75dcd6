import LocalData

/// All keys of the program. A sweep migrates their values.
struct WeatherKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.city), .key(.apiToken)] }
}

/// The list of version 1, `~/.config/weather.plist`.
let preferences = StorageKeyGroup(owner: "Weather", domain: .userDefaults(suite: "weather"))

extension StorageKey where Value == String {
    static let city: Self = preferences.key("city", "The first city to show", default: "Oslo")
}

// MARK: Secrets, in the keyring

let secrets = StorageKeyGroup(owner: "Weather", domain: .keychain)

extension StorageKey where Value == String {
    static let apiToken: Self = secrets.key("api-token", "The token for the weather service")
        .moved(from: preferences.key("apiToken", "The token of version 1"))
}
