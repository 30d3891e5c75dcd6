// The first service: a counter in an encrypted database, which survives kill -9.
import LocalData

let shop = StorageKeyGroup(owner: "Shop", domain: .encryptedSQLite(database: "shop"))

extension StorageKey where Value == Int {
    static let requests: Self = shop.key("requests", "How many requests were served")
}

struct ShopKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.requests)] }
}
// snippet.hide

func count() async throws {
    // snippet.show
    let storage = StorageRouter(configuration: .service(applicationID: "com.example.shop", version: "1.0"))
    while true {
        let served = try await storage.update(.requests, default: 0) { served in
            served += 1
            return served
        }
        print(served)  // stored durably before it is printed
    }
    // snippet.hide
}

func start(_ storage: StorageRouter) async throws {
    // snippet.show
    do {
        try await storage.registerCatalog(ShopKeys(), migrateImmediately: true).requireComplete()
    } catch let error as StorageError where error.code == .encryptionKeyMissing || error.code == .encryptionKeyMismatch {
        print(error.message)  // the data is intact: bring the key back. Never delete the database
        throw error
    } catch let error as StorageError where error.code == .noSpace || error.code == .timedOut {
        print(error.message)  // the values can still be read: answer requests, and sweep again later
    }
    // snippet.hide
}

_ = (count, start)
