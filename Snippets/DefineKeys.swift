// A key declares the name of a value, its store, its owner and its legacy locations.
// snippet.hide
import Foundation
// snippet.show
import LocalData

let window = StorageKeyGroup(owner: "Window", domain: .userDefaults)

extension StorageKey where Value == Int {
    static let width: Self = window.key("width", "The window's width in points", default: 800)
}

extension StorageKey where Value == String {
    static let apiToken = StorageKey(
        name: "api-token", domain: .keychain, owner: "Network", description: "The token for the service"
    ).moved(
        from: StorageKey(name: "apiToken", domain: .userDefaults, owner: "Network", description: "The token in version 1"))
}

struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.width), .key(.apiToken)] }
}
