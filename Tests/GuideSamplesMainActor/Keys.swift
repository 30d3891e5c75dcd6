import LocalData

nonisolated let window = StorageKeyGroup(owner: "Window", domain: .userDefaults)

extension StorageKey where Value == Int {
    nonisolated static let width: Self = window.key("width", "The window's width in points", default: 800)
}

nonisolated struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.width)] }
}

nonisolated struct Place: Codable, Sendable {
    var x: Int
    var y: Int
}

extension StorageKey where Value == Place {
    nonisolated static let place: Self = window.key("place", "Where the window stands")
}
