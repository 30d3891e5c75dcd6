import LocalData

nonisolated let window = StorageKeyGroup(owner: "Window", domain: .userDefaults)

extension StorageKey where Value == Int {
    nonisolated static let width: Self = window.key("width", "The window's width in points", default: 800)
}

nonisolated struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.width)] }
}
