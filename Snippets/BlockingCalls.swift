// A token store for another library that can only call synchronous functions.
import Foundation
import LocalData

// snippet.show
/// A library's interface for stores of tokens. Its functions cannot await.
protocol TokenStore {
    func token(for host: String) throws -> String?
    func save(_ token: String, for host: String) throws
    func hosts() throws -> [String]
}

struct KeychainTokenStore: TokenStore {
    let storage: BlockingStorage
    let tokens = StorageKeyGroup(owner: "Network", domain: .keychain(service: "com.example.tokens"))

    func token(for host: String) throws -> String? { try storage.value(for: key(host)) }
    func save(_ token: String, for host: String) throws { try storage.set(token, for: key(host)) }
    func hosts() throws -> [String] { try storage.keys(of: .keychain(service: "com.example.tokens")) }

    private func key(_ host: String) -> StorageKey<String> { tokens.key(host, "The token for \(host)") }
}
// snippet.hide

let store = KeychainTokenStore(storage: BlockingStorage(StorageRouter(configuration: .inMemory())))
await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
    Thread.detachNewThread {
        do {
            try store.save("secret", for: "example.com")
            guard try store.token(for: "example.com") == "secret", try store.hosts() == ["example.com"] else { fatalError("not stored") }
        } catch { fatalError("\(error)") }
        continuation.resume()
    }
}
