import Foundation

/// A location, stored as JSON data in the property list.
struct Place: Codable {
    var name: String
    var latitude: Double
    var longitude: Double
}

/// The account, stored as JSON data. It contains a second copy of the token.
struct Account: Codable {
    var user: String
    var token: String
}

/// The data of the old program, in `~/.config/weather.plist`.
struct Preferences {
    private let defaults: UserDefaults

    init?() {
        guard let defaults = UserDefaults(suiteName: "weather") else { return nil }
        self.defaults = defaults
    }

    /// Writes the data of a user who has used the program for some time.
    func fill(token: String, hut: String) throws {
        defaults.set("Trondheim", forKey: "city")
        defaults.set(true, forKey: "showsAlerts")
        defaults.set(1, forKey: "launches")
        defaults.set(Date(timeIntervalSince1970: 1_700_000_000), forKey: "lastRefresh")
        defaults.set(["Bergen", "Tromsø", "Ålesund"], forKey: "recentCities")
        defaults.set(try JSONEncoder().encode(Place(name: "Cabin", latitude: 63.41, longitude: 10.39)), forKey: "home")

        // The new program uses other names or types for these values: a number stored as text, and a name in two parts.
        defaults.set("42", forKey: "refreshMinutes")
        defaults.set("Kari", forKey: "firstName")
        defaults.set("Nordmann", forKey: "lastName")

        // Secrets that should not be stored in a property list.
        defaults.set(token, forKey: "apiToken")
        defaults.set(try JSONEncoder().encode(Account(user: "kari", token: token)), forKey: "account")
        defaults.set(Journal.text(hut: hut), forKey: "journal")

        guard defaults.synchronize() else { throw CocoaError(.fileWriteUnknown) }
    }

    /// The whole journal.
    var journal: String? { defaults.string(forKey: "journal") }

    /// The stored values for display, without secrets.
    var lines: [(name: String, value: String)] {
        [
            ("city", defaults.string(forKey: "city") ?? "–"),
            ("showsAlerts", defaults.object(forKey: "showsAlerts") == nil ? "–" : "\(defaults.bool(forKey: "showsAlerts"))"),
            ("launches", defaults.object(forKey: "launches") == nil ? "–" : "\(defaults.integer(forKey: "launches"))"),
            ("lastRefresh", (defaults.object(forKey: "lastRefresh") as? Date)?.ISO8601Format() ?? "–"),
            ("recentCities", defaults.stringArray(forKey: "recentCities")?.joined(separator: ", ") ?? "–"),
            ("home", decoded(Place.self, "home").map { "\($0.name) (\($0.latitude), \($0.longitude))" } ?? "–"),
            ("refreshMinutes", defaults.string(forKey: "refreshMinutes") ?? "–"),
            ("name", [defaults.string(forKey: "firstName"), defaults.string(forKey: "lastName")].map { $0 ?? "–" }.joined(separator: " ")),
            ("apiToken", defaults.string(forKey: "apiToken").map(masked) ?? "–"),
            ("account", decoded(Account.self, "account").map { "\($0.user), \(masked($0.token))" } ?? "–"),
            ("journal", journal.map { "\($0.utf8.count) bytes" } ?? "–"),
        ]
    }

    private func decoded<Value: Decodable>(_ type: Value.Type, _ name: String) -> Value? {
        defaults.data(forKey: name).flatMap { try? JSONDecoder().decode(type, from: $0) }
    }

    private func masked(_ token: String) -> String { "••••••••  (\(token.count) characters)" }
}
