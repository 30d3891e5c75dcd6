import BackendContract
import LocalData
import Synchronization

/// The keyring of a golden store, in memory: the session's keyring is neither read nor written. Its content is kept in the fixture, sealed.
final class GoldenKeyring: Sendable {
    /// The records of a service, by their stored names.
    typealias Service = [String: [UInt8]]

    private struct State {
        var services: [String: Service]
        var backends: [String: any StorageBackend] = [:]
    }

    private let state: Mutex<State>

    /// Creates a keyring with the content of another one.
    init(_ services: [String: Service] = [:]) { state = Mutex(State(services: services)) }

    /// Everything that the keyring holds.
    var services: [String: Service] { state.withLock(\.services) }

    /// Replaces the session's keyring in a configuration. A vault, or a backend that the program plugs in, stays.
    func replaceKeyring(in configuration: inout StorageConfiguration) {
        guard configuration.keychain == .session, !configuration.plugsIn(.keychain) else { return }
        configuration.useBackend(for: .keychain) { [self] in backend(of: $0) }
    }

    /// The one store of a service: values and sealing keys share it.
    private func backend(of service: String) -> any StorageBackend {
        state.withLock { state in
            if let backend = state.backends[service] { return backend }
            let backend = ByteStoreBackend(Items(keyring: self, service: service))
            state.backends[service] = backend
            return backend
        }
    }

    /// The items of one service.
    private struct Items: ByteStore {
        let keyring: GoldenKeyring
        let service: String

        var identity: BackendIdentity { BackendIdentity(kind: "golden-keychain", store: service) }
        var capabilities: BackendCapabilities { BackendCapabilities(durability: .durable, protection: .keychain) }

        func read(_ name: String) -> [UInt8]? { keyring.state.withLock { $0.services[service]?[name] } }
        func write(_ bytes: [UInt8], _ name: String) { keyring.state.withLock { $0.services[service, default: [:]][name] = bytes } }
        func delete(_ name: String) { keyring.state.withLock { $0.services[service]?[name] = nil } }
        func list() -> [String] { keyring.state.withLock { $0.services[service]?.keys.sorted() ?? [] } }
    }
}
