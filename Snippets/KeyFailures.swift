// Mistakes in keys and catalogs, and what the router does about them.
// snippet.hide
import LocalData

let window = StorageKeyGroup(owner: "Window", domain: .userDefaults)

extension StorageKey where Value == Int {
    static let width: Self = window.key("width", "The window's width in points", default: 800)
}

let storage = StorageRouter(configuration: .inMemory())
try await storage.set(900, for: .width)

// snippet.show
// The name has a value of another type. The stored bytes stay.
let text: StorageKey<String> = window.key("width", "The width as a text")
do { print(try await storage.get(text)) } catch StorageError.undecodable { print("This is no text.") }

// Two keys of one catalog have the same slot. No key of the catalog is registered.
struct WindowKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.width), .key(text)] }
}
do {
    try await storage.registerCatalog(WindowKeys())
} catch let error as StorageError where error.code == .duplicateKey {
    for problem in error.catalogProblems { print("\(problem.message) \(problem.remedy)") }
}
// snippet.hide
guard try await storage.get(.width) == 900 else { fatalError() }
