import Hummingbird
import ServiceLifecycle

/// A store of sessions and API tokens. A change is durable when its function returns, as far as the store can promise that.
protocol SessionStore: Sendable {
    /// Creates a session.
    /// - Returns: False if there is a session with this id.
    func create(_ id: String, user: String) async throws -> Bool
    /// Returns the user of a session; nil if there is no such session.
    func user(of id: String) async throws -> String?
    /// Ends a session. If there is no such session, it does nothing.
    func end(_ id: String) async throws

    /// Stores the token of a user, and replaces the token that the user has.
    func set(token: String, of user: String) async throws
    /// Returns the token of a user; nil if there is none.
    func token(of user: String) async throws -> String?
    /// Removes the token of a user. If there is none, it does nothing.
    func removeToken(of user: String) async throws

    /// Returns the health of the store.
    func health() async -> HealthReport
    /// The services that the store needs while the server runs.
    var services: [any Service] { get }
}

extension SessionStore {
    func health() async -> HealthReport { HealthReport(isHealthy: true) }
    var services: [any Service] { [] }
}

/// The answer of the health check.
struct HealthReport: ResponseEncodable, Sendable {
    struct Store: Encodable, Sendable {
        var domain: String
        var status: String
        /// The code of the last error of this process.
        var lastError: String?
    }

    var isHealthy: Bool
    var stores: [Store] = []
    /// The number of keys that are not migrated yet.
    var pendingKeys: Int?
}
