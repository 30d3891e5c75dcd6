import Foundation
import LocalData

/// All keys of the weather program. Each launch registers this catalog and migrates its values.
struct WeatherKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] {
        [
            .key(.apiToken), .key(.account), .key(.journal),
            .key(.city), .key(.showsAlerts), .key(.launches), .key(.lastRefresh), .key(.recentCities), .key(.home),
            .key(.refreshInterval), .key(.observer),
        ]
    }
}

/// The old program's property list, `~/.config/weather.plist`: preferences are still stored there.
private let preferences = StorageKeyGroup(owner: "Weather", domain: .userDefaults(suite: "weather"))

// MARK: Secrets: to the keyring

extension StorageKey where Value == String {
    static let apiToken = StorageKey(
        name: "api-token", domain: .keychain(service: "weather"), owner: "Weather", description: "The token for the weather service"
    ).moved(from: preferences.key("apiToken", "The token of the old program"))
}

struct Account: Codable, Sendable {
    var user: String
    var token: String
}

extension StorageKey where Value == Account {
    static let account = StorageKey(
        name: "account", domain: .keychain(service: "weather"), owner: "Weather", description: "The account for the service"
    ).moved(from: preferences.key("account", "The account of the old program"))
}

// MARK: Documents: to an encrypted database, whose key is in the keyring

extension StorageKey where Value == String {
    static let journal = StorageKey(
        name: "journal", domain: .encryptedSQLite(database: "documents"), owner: "Weather", description: "The user's journal"
    ).moved(from: preferences.key("journal", "The journal of the old program"))
}

// MARK: Preferences: adopted in place, under their old names

extension StorageKey where Value == String {
    static let city: Self = preferences.key("city", "The first city to show", default: "Oslo")
}

extension StorageKey where Value == Bool {
    static let showsAlerts: Self = preferences.key("showsAlerts", "Whether to warn of storms", default: false)
}

extension StorageKey where Value == Int {
    static let launches: Self = preferences.key("launches", "How often the program was started", default: 0)
}

extension StorageKey where Value == Date {
    static let lastRefresh: Self = preferences.key("lastRefresh", "When a forecast was last fetched")
}

extension StorageKey where Value == [String] {
    static let recentCities: Self = preferences.key("recentCities", "Recently viewed cities", default: [])
}

struct Place: Codable, Sendable {
    var name: String
    var latitude: Double
    var longitude: Double
}

extension StorageKey where Value == Place {
    static let home: Self = preferences.key("home", "The home address")
}

// MARK: Preferences with another name or shape

extension StorageKey where Value == Int {
    /// The old program stored this number as text: "42".
    static let refreshInterval: Self = preferences.key("refreshInterval", "Minutes between two forecasts", default: 60)
        .moved(from: preferences.key("refreshMinutes", "The minutes as text")) { (text: String) in
            guard let minutes = Int(text) else { throw NotANumber() }
            return minutes
        }
}

/// The stored text is not a number. The migration then fails, the text is kept, and the report contains the error.
struct NotANumber: Error {}

extension StorageKey where Value == String {
    /// The old program stored the first and the last name separately.
    static let observer: Self = preferences.key("observer", "The name that signs reports")
        .merged(
            from: StorageKey<String>.firstName, StorageKey<String>.lastName,
            by: { (first: String?, last: String?) in [first, last].compactMap(\.self).joined(separator: " ") })

    private static let firstName: Self = preferences.key("firstName", "The first name")
    private static let lastName: Self = preferences.key("lastName", "The last name")
}
