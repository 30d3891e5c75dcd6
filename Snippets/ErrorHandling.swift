// A launch that continues without the values of a locked keyring, and stops at a failure.
// snippet.hide
import LocalData

struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [] }
}

let storage = StorageRouter(configuration: .inMemory())
// snippet.show
let report = try await storage.registerCatalog(AppKeys(), migrateImmediately: true)
do {
    try report.requireComplete()
} catch StorageError.locked {
    print("\(report.blocked.count) values wait for the keyring. Unlock it, then sweep again.")
} catch StorageError.residueRemains {
    print("Every value is in its place; older copies remain, and the next sweep tries again.")
} catch let error as StorageError {
    print(error.message)  // for example, there is no keyring
}
