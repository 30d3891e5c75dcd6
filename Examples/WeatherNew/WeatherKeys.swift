import Foundation
import LocalData

/// Everything the weather program keeps. A launch registers this catalog, which brings each value to its place.
struct WeatherKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] {
        [
            .key(.apiToken), .key(.account), .key(.journal),
            .key(.city), .key(.showsAlerts), .key(.launches), .key(.lastRefresh), .key(.recentCities), .key(.home),
            .key(.refreshInterval), .key(.observer),
        ]
    }
}

/// The old program's property list, `~/.config/weather.plist`: still where preferences are kept.
private let preferences = StorageKeyGroup(owner: "Weather", domain: .userDefaults(suite: "weather"))

// MARK: Secrets: to the keyring

extension StorageKey where Value == String {
    static let apiToken = StorageKey(
        name: "api-token", domain: .keychain(service: "weather"), owner: "Weather", description: "What the weather service knows us by"
    ).moved(from: preferences.key("apiToken", "The token, as the old program kept it"))
}

struct Account: Codable, Sendable {
    var user: String
    var token: String
}

extension StorageKey where Value == Account {
    static let account = StorageKey(
        name: "account", domain: .keychain(service: "weather"), owner: "Weather", description: "Who uses the service"
    ).moved(from: preferences.key("account", "The account, as the old program kept it"))
}

// MARK: Documents: to an encrypted database, whose key is in the keyring

extension StorageKey where Value == String {
    static let journal = StorageKey(
        name: "journal", domain: .encryptedSQLite(database: "documents"), owner: "Weather", description: "What was written down on the way"
    ).moved(from: preferences.key("journal", "The journal, as the old program kept it"))
}

// MARK: Preferences: adopted where they are, under the names they have

extension StorageKey where Value == String {
    static let city: Self = preferences.key("city", "The city that is shown first", default: "Oslo")
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
    static let recentCities: Self = preferences.key("recentCities", "The cities looked at lately", default: [])
}

struct Place: Codable, Sendable {
    var name: String
    var latitude: Double
    var longitude: Double
}

extension StorageKey where Value == Place {
    static let home: Self = preferences.key("home", "Where home is")
}

// MARK: Preferences with another name or shape

extension StorageKey where Value == Int {
    /// The old program kept a text: "42".
    static let refreshInterval: Self = preferences.key("refreshInterval", "Minutes between two forecasts", default: 60)
        .moved(from: preferences.key("refreshMinutes", "The minutes, as text")) { (text: String) in
            guard let minutes = Int(text) else { throw NotANumber() }
            return minutes
        }
}

/// The text is no number: the migration fails, the text stays, and the report says so.
struct NotANumber: Error {}

extension StorageKey where Value == String {
    /// The old program kept two names.
    static let observer: Self = preferences.key("observer", "The name that reports are signed with")
        .merged(
            from: StorageKey<String>.firstName, StorageKey<String>.lastName,
            by: { (first: String?, last: String?) in [first, last].compactMap(\.self).joined(separator: " ") })

    private static let firstName: Self = preferences.key("firstName", "The first name")
    private static let lastName: Self = preferences.key("lastName", "The last name")
}
