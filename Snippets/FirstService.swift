// The first service: a counter in an encrypted database, which survives kill -9.
// snippet.hide
import Foundation
// snippet.show
import LocalData

let shop = StorageKeyGroup(owner: "Shop", domain: .encryptedSQLite(database: "shop"))

extension StorageKey where Value == Int {
    static let requests: Self = shop.key("requests", "How many requests were served")
}

struct ShopKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.requests)] }
}
// snippet.hide

func configure() -> StorageRouter {
    // snippet.show
    var configuration = StorageConfiguration.service(applicationID: "com.example.shop", version: "1.0")
    configuration.keySource = .credential("documents-key")  // provided by systemd or Kubernetes
    let storage = StorageRouter(configuration: configuration)
    // snippet.hide
    return storage
}

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
    let report = try await storage.registerCatalog(ShopKeys(), migrateImmediately: true)
    for row in report.failed + report.blocked {
        print("\(row.key): \(row.message ?? "")")
        if row.errorCode == .encryptionKeyMissing || row.errorCode == .encryptionKeyMismatch {
            exit(78)  // the data is intact: bring the key back. Never delete the database
        }
    }
    // After noSpace or timedOut, values can still be read: answer requests, and sweep again later.
    // snippet.hide
}

_ = (configure, count, start)
