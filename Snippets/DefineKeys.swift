// Keys say what a value is called, where it lives, who owns it and where it used to live.
// snippet.hide
import Foundation
// snippet.show
import LocalData

extension StorageKey where Value == String {
    static let apiToken = StorageKey(
        name: "api-token", domain: .keychain(service: "com.example.app"), owner: "Network", description: "What the service knows us by"
    ).moved(
        from: StorageKey(name: "apiToken", domain: .userDefaults, owner: "Network", description: "The token, as version 1 kept it"))
}

let window = StorageKeyGroup(owner: "Window", domain: .userDefaults)

extension StorageKey where Value == Int {
    static let width: Self = window.key("width", "The window's width in points", default: 800)
}

struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.apiToken), .key(.width)] }
}
