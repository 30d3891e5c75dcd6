import LocalData

/// All keys of the program. A sweep migrates their values.
struct WeatherKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.city), .key(.apiToken), .key(.journal), .key(.refreshInterval)] }
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

// MARK: Documents, in an encrypted database whose key is in the keyring

let documents = StorageKeyGroup(owner: "Weather", domain: .encryptedSQLite(database: "documents"))

extension StorageKey where Value == String {
    static let journal: Self = documents.key("journal", "The user's journal", default: "")
        .moved(from: preferences.key("journal", "The journal of version 1"))
}

// MARK: Another type

/// The text of version 1 is not a number. The migration then fails, and the text stays.
struct NotANumber: Error {}

extension StorageKey where Value == Int {
    static let refreshInterval: Self = preferences.key("refreshInterval", "Minutes between two forecasts", default: 60)
        .moved(from: preferences.key("refreshMinutes", "The minutes as text, in version 1")) { (text: String) in
            guard let minutes = Int(text) else { throw NotANumber() }
            return minutes
        }
}
