// Reading, writing, updating and removing a value.
// snippet.hide
import LocalData

let group = StorageKeyGroup(owner: "Window", domain: .memory())

extension StorageKey where Value == Int {
    static let width: Self = group.key("width", "The window's width in points", default: 800)
}

extension StorageKey where Value == String {
    static let title: Self = group.key("title", "The window's title")
}

let storage = StorageRouter(configuration: .inMemory())
// snippet.show
let width = try await storage.get(.width)  // 800, the key's default; nothing was written
let title = try await storage.value(for: .title)  // nil: the default is not applied, absence is proven

try await storage.set("Weather", for: .title)  // durable when it returns
try await storage.update(.width, default: 800) { $0 += 100 }  // one step, also between processes
try await storage.remove(.title)  // deletes older copies too

do {
    _ = try await storage.get(.title)
} catch StorageError.notFound {
    print("There is no title.")
}
// snippet.hide
print(width, title as Any)
