// Keys say what a value is called, where it lives, who owns it and where it used to live.
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
        name: "api-token", domain: .keychain, owner: "Network", description: "What the service knows us by"
    ).moved(
        from: StorageKey(name: "apiToken", domain: .userDefaults, owner: "Network", description: "The token, as version 1 kept it"))
}

struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.width), .key(.apiToken)] }
}
