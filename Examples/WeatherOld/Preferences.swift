import Foundation

/// A place, kept as JSON in a property list's data.
struct Place: Codable {
    var name: String
    var latitude: Double
    var longitude: Double
}

/// Who uses the service, kept as JSON too; the token is in here once more.
struct Account: Codable {
    var user: String
    var token: String
}

/// What the old program keeps, in `~/.config/weather.plist`.
struct Preferences {
    private let defaults: UserDefaults

    init?() {
        guard let defaults = UserDefaults(suiteName: "weather") else { return nil }
        self.defaults = defaults
    }

    /// Writes what somebody who has used the program for a while would have.
    func fill(token: String, hut: String) throws {
        defaults.set("Trondheim", forKey: "city")
        defaults.set(true, forKey: "showsAlerts")
        defaults.set(1, forKey: "launches")
        defaults.set(Date(timeIntervalSince1970: 1_700_000_000), forKey: "lastRefresh")
        defaults.set(["Bergen", "Tromsø", "Ålesund"], forKey: "recentCities")
        defaults.set(try JSONEncoder().encode(Place(name: "Cabin", latitude: 63.41, longitude: 10.39)), forKey: "home")

        // What has another name or shape today: a number kept as text, and a name in two parts.
        defaults.set("42", forKey: "refreshMinutes")
        defaults.set("Kari", forKey: "firstName")
        defaults.set("Nordmann", forKey: "lastName")

        // What should never have been here.
        defaults.set(token, forKey: "apiToken")
        defaults.set(try JSONEncoder().encode(Account(user: "kari", token: token)), forKey: "account")
        defaults.set(Journal.text(hut: hut), forKey: "journal")

        guard defaults.synchronize() else { throw CocoaError(.fileWriteUnknown) }
    }

    /// The journal, whole.
    var journal: String? { defaults.string(forKey: "journal") }

    /// What is kept, for people; nothing secret.
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
