import LocalData

/// The list of version 1, `~/.config/weather.plist`.
let preferences = StorageKeyGroup(owner: "Weather", domain: .userDefaults(suite: "weather"))

extension StorageKey where Value == String {
    static let city: Self = preferences.key("city", "The first city to show", default: "Oslo")
}
