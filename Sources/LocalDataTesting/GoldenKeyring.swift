import BackendContract
import LocalData
import Synchronization

/// A keyring in memory that replaces the session's keyring in a golden store, the recorded data of an earlier release.
/// The fixture stores the keyring's content in sealed form.
final class GoldenKeyring: Sendable {
    /// The records of one keyring service, by their stored names.
    typealias Service = [String: [UInt8]]

    private struct State {
        var services: [String: Service]
        var backends: [String: any StorageBackend] = [:]
    }

    private let state: Mutex<State>

    /// Creates a keyring that contains the given records.
    init(_ services: [String: Service] = [:]) { state = Mutex(State(services: services)) }

    /// All records, by service.
    var services: [String: Service] { state.withLock(\.services) }

    /// Makes a configuration use this keyring instead of the session's. A vault or a plugged-in keychain backend is not replaced.
    /// Reason: "A golden store has a keyring in memory" in Docs/Decisions/Tests.md.
    /// An import of keyring items finds none.
    func replaceKeyring(in configuration: inout StorageConfiguration) {
        configuration.providers = configuration.providers.map { $0.withoutSessionKeyring() }
        guard configuration.keychain == .session, !configuration.plugsIn(.keychain) else { return }
        configuration.useBackend(for: .keychain) { [self] in backend(of: $0) }
    }

    /// Returns the backend of a service. The values and the sealing keys of a service share one backend, as they share
    /// one keyring service.
    private func backend(of service: String) -> any StorageBackend {
        state.withLock { state in
            if let backend = state.backends[service] { return backend }
            let backend = ByteStoreBackend(Items(keyring: self, service: service))
            state.backends[service] = backend
            return backend
        }
    }

    /// The byte store of one service.
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
