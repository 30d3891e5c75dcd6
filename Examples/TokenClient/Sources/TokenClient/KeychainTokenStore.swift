import LocalData

/// The interface of an HTTP library for token stores. Its functions are synchronous.
public protocol TokenStore: Sendable {
    func token(for host: String) throws -> String?
    func save(_ token: String?, for host: String) throws
    func hosts() throws -> [String]
}

/// A token store in the keychain. Its functions block the calling thread, so do not call them from an async function.
public struct KeychainTokenStore: TokenStore {
    private let storage: BlockingStorage
    private let tokens: StorageKeyGroup

    /// Creates a token store for one service.
    public init(_ storage: BlockingStorage, service: String) {
        self.storage = storage
        tokens = StorageKeyGroup(owner: "Network", domain: .keychain(service: service))
    }

    /// Returns the token for a host; nil if there is none.
    public func token(for host: String) throws -> String? { try storage.value(for: tokens.key(host)) }

    /// Stores the token for a host; nil removes it.
    public func save(_ token: String?, for host: String) throws {
        let key: StorageKey<String> = tokens.key(host)
        if let token { try storage.set(token, for: key) } else { try storage.remove(key) }
    }

    /// Returns the hosts that have a token.
    public func hosts() throws -> [String] { try storage.keys(of: tokens.domain) }
}
