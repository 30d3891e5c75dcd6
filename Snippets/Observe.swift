// Observing a key: the current value first, then the value after every change.
// snippet.hide
import LocalData

let group = StorageKeyGroup(owner: "Window", domain: .memory())

extension StorageKey where Value == Int {
    static let width: Self = group.key("width", "The window's width in points", default: 800)
}

let storage = StorageRouter(configuration: .inMemory())
try await storage.set(900, for: .width)
// snippet.show
for try await width in storage.values(for: .width) {
    print(width ?? 800)  // nil means that the value is absent
    // snippet.hide
    break
    // snippet.show
}
