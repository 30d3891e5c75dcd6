// A launch migrates every key of a catalog, and reports what it did.
// snippet.hide
import LocalData

let window = StorageKeyGroup(owner: "Window", domain: .memory())

extension StorageKey where Value == Int {
    static let width: Self = window.key("width", "The window's width in points", default: 800)
}

struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.width)] }
}

try StorageRouter.bootstrap(.inMemory())
// snippet.show
let report = try await StorageRouter.shared.registerCatalog(AppKeys(), migrateImmediately: true)

for row in report.moved { print("\(row.key): \(row.from) → \(row.to), \(row.bytes) bytes") }
for row in report.blocked { print("\(row.key) waits for its store: \(row.message ?? "")") }

// If the program needs all of its values, require them.
try report.requireComplete()
