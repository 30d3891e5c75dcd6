// Errors say what happened, whether anything was changed, and what to do.
// snippet.hide
import LocalData

extension StorageKey where Value == String {
    static let apiToken = StorageKey(name: "api-token", domain: .keychain)
}

extension StorageKey where Value == [String] {
    static let orders = StorageKey(name: "orders", domain: .encryptedSQLite(database: "shop"))
}

var configuration = StorageConfiguration.inMemory()
configuration.passphrase = { _ in "only for this snippet" }
let storage = StorageRouter(configuration: configuration)
// snippet.show
/// Returns the token, or nil if the program must continue without it for now.
func token() async throws -> String? {
    do {
        return try await storage.get(.apiToken)
    } catch let error as StorageError {
        switch error.code {
        case .notFound: return nil  // proven: no location has a value
        case .locked, .unavailable, .timedOut: return nil  // nothing was changed: read again later
        case .undecodable, .corrupted: throw error  // the bytes stay; a person decides
        default: throw error  // later versions may add codes
        }
    }
}

/// Adds an order, also if the answer of the store is lost.
func add(_ order: String) async throws {
    do {
        try await storage.update(.orders, default: []) { $0.append(order) }
    } catch let error as StorageError where error.outcome == .unknown {
        guard try await storage.value(for: .orders)?.contains(order) != true else { return }  // it was stored
        throw error
    }
}
// snippet.hide
try await add("tea")
guard try await token() == nil, try await storage.get(.orders) == ["tea"] else { fatalError("wrong") }
