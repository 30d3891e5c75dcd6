import BackendContract
import BackendRuntime
import KeyringBackend
import LocalData

/// Reads keyring items of other programs, which their attributes identify.
struct KeyringImport: ImportReader {
    let items: [String: [String: String]]
    let location: String
    /// The items count as protected, even if their keyring has no password. So no migration moves them to a store that protects
    /// less, unless its options allow it.
    let protection = ProtectionLevel.keychain
    #if Keyring && os(Linux)
        private let reader: KeyringItemReader
    #endif

    init(_ items: [String: [String: String]], _ configuration: StorageConfiguration) {
        self.items = items
        location = "the keyring items \(items.keys.sorted().joined(separator: ", "))"
        #if Keyring && os(Linux)
            reader = KeyringItemReader(
                deadline: configuration.deadlines.keychain, allowsPlainTransport: configuration.allowsUnencryptedKeychainTransport,
                runtime: configuration.runtime)
        #endif
    }

    func read(_ names: [String], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        let known = names.filter { items[$0] != nil }
        var probes: [String: StorageProbe] = [:]
        #if Keyring && os(Linux)
            for (name, probe) in zip(known, try await reader.read(known.compactMap { items[$0] })) { probes[name] = probe }
        #else
            for name in known { probes[name] = .unavailable(Self.missing) }
        #endif
        return names.map { probes[$0] ?? .absent }
    }

    func names() async throws(BackendError) -> [String] {
        var found: [String] = []
        for (name, probe) in zip(items.keys, try await read(Array(items.keys), .fresh)) {
            switch probe {
            case .absent, .tombstone: continue
            case .value, .corrupt: found.append(name)
            case .locked: throw BackendError(.locked, "The keyring is locked. Unlock it and try again.")
            case .unavailable(let error): throw error
            }
        }
        return found
    }

    func status() async -> BackendStatus {
        #if Keyring && os(Linux)
            await reader.status()
        #else
            .unavailable(Self.missing)
        #endif
    }

    #if !(Keyring && os(Linux))
        private static var missing: BackendError {
            BackendError(.unavailable, "This build has no keyring (trait Keyring, Linux only). Build with the trait.")
        }
    #endif
}
