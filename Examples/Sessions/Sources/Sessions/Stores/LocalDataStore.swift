import Foundation
import Hummingbird
import LocalData
import LocalDataHummingbird
import LocalDataService
import ServiceLifecycle

/// Stores sessions and tokens with LocalData: sealed, in an encrypted database or on a PostgreSQL server.
struct LocalDataStore: SessionStore {
    struct Session: Codable, Sendable {
        var user: String
    }

    /// An API token.
    struct Token: Codable, Identifiable, Sendable {
        /// The user.
        var id: String
        var text: String
    }

    /// The time after which a session expires.
    static let lifetime = Duration.seconds(30 * 86_400)

    private let storage: StorageRouter
    private let sessions: StoragePersistDriver
    private let tokens: StorageCollection<Token>

    /// Creates a store. Nothing is opened.
    init(_ storage: StorageRouter, domain: StorageDomain) {
        self.storage = storage
        sessions = StoragePersistDriver(storage, domain: domain, collection: "sessions")
        // Version 1 stored all tokens in one entry of the user defaults, in plaintext.
        let list = StorageKey<[String: String]>(
            name: "tokens", domain: .userDefaults(suite: Settings.applicationID), description: "The API tokens in version 1")
        tokens = StorageCollection<Token>("tokens", domain: domain, description: "The API tokens by user")
            .moved(from: list) { list in list.map { Token(id: $0.key, text: $0.value) } }
    }

    // MARK: Sessions

    func create(_ id: String, user: String) async throws -> Bool {
        do {
            try await sessions.create(key: id, value: Session(user: user), expires: Self.lifetime)
            return true
        } catch let error as PersistError where error == .duplicate {
            return false
        }
    }

    func user(of id: String) async throws -> String? { try await sessions.get(key: id, as: Session.self)?.user }

    func end(_ id: String) async throws { try await sessions.remove(key: id) }

    // MARK: Tokens

    func set(token: String, of user: String) async throws { try await storage.set(Token(id: user, text: token), in: tokens) }

    func token(of user: String) async throws -> String? { try await storage.value(user, in: tokens)?.text }

    func removeToken(of user: String) async throws { try await storage.remove(user, in: tokens) }

    // MARK: The service

    /// The maintenance, which moves the tokens of version 1 while the server already answers, and the purge of expired
    /// sessions.
    var services: [any Service] {
        let catalog = Catalog(allKeys: [sessions.catalogEntry, .collection(tokens)])
        return [StorageService(storage, catalogs: [catalog]), sessions]
    }

    private struct Catalog: StorageKeyCatalog {
        let id = "sessions"
        let allKeys: [AnyStorageKey]
        // A change of the configuration that stores tokens in plaintext is refused.
        var minimumProtection: ProtectionLevel { .sealed }
    }

    func health() async -> HealthReport {
        let health = await storage.health()
        let stores = health.stores.map { store in
            let status =
                switch store.status {
                case .ready: "ready"
                case .locked: "locked"
                case .absent: "absent"
                case .unavailable(let error): "unavailable: \(error.code)"
                }
            return HealthReport.Store(domain: "\(store.domain)", status: status, lastError: store.lastError.map { "\($0)" })
        }
        return HealthReport(isHealthy: health.isHealthy, stores: stores, pendingKeys: health.pendingKeys)
    }
}
