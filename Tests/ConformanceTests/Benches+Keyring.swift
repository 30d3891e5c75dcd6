import BackendConformance
import BackendContract

#if Keyring && os(Linux)
    import BackendRuntime
    import KeyringBackend
    import Synchronization
    import TestSupport

    /// The benches of the keyring backend, with a real daemon.
    /// A bench makes the stores on which rules for backends are checked.
    let keyringBenches: [LawBench] = [.keyring]

    extension LawBench {
        /// Each store has a unique service in the keyring of the test process.
        /// A reopened store has a new connection, as in a new process.
        static let keyring = LawBench(
            name: "keyring", capabilities: KeyringServices.store("capabilities", .shared, directory: "").capabilities, scale: 0.2,
            makeStore: { try KeyringServices.newStore() },
            reopen: {
                try KeyringServices.store(KeyringServices.service(of: $0), SecretServiceConnection(runtime: .live))
            },
            writeForeign: { try await KeyringServices.write($2, at: $1, in: $0) },
            changeBehindMetadata: { try await KeyringServices.write($2, at: $1, in: $0) },
            corrupt: { store, address in
                let line = try await KeyringServices.secret(at: address, in: store)
                try await KeyringServices.write(String(line.dropLast(8)), at: address, in: store)
            })
    }

    /// The services that the benches made, and access to their items with secret-tool.
    private enum KeyringServices {
        private static let names = Mutex<[BackendIdentity: String]>([:])

        static func newStore() throws -> SecretServiceStore {
            let service = "law-\(UInt64.random(in: .min ... .max))"
            let store = try store(service, .shared)
            names.withLock { $0[store.identity] = service }
            return store
        }

        static func store(_ service: String, _ connection: SecretServiceConnection) throws -> SecretServiceStore {
            store(
                service, connection, directory: try PrivateKeyring.shared().keyringsDirectory,
                lock: try PrivateKeyring.shared().file("law.lock"))
        }

        static func store(
            _ service: String, _ connection: SecretServiceConnection, directory: String, lock: String = ""
        ) -> SecretServiceStore {
            SecretServiceStore(
                service: service, lockFile: lock, deadline: .seconds(240), keyringsDirectory: directory, connection: connection)
        }

        static func service(of store: any StorageBackend) throws -> String {
            guard let service = names.withLock({ $0[store.identity] }) else { throw WrongStore() }
            return service
        }

        private static func attributes(_ address: StorageAddress, _ store: any StorageBackend) throws -> [String] {
            [
                "application", "LocalData", "service", try service(of: store), "namespace",
                address.namespace == .values ? "values" : "n:\(address.namespace)", "account", address.name,
            ]
        }

        static func write(_ text: String, at address: StorageAddress, in store: any StorageBackend) async throws {
            let result = try await run(
                "secret-tool", ["store", "--label=foreign"] + attributes(address, store), environment: PrivateKeyring.shared().environment,
                input: text)
            guard result.status == 0 else { throw ProgramFailure("secret-tool store: \(result.stderr)") }
        }

        static func secret(at address: StorageAddress, in store: any StorageBackend) async throws -> String {
            try await run("secret-tool", ["lookup"] + attributes(address, store), environment: PrivateKeyring.shared().environment).stdout
        }
    }
#else
    /// A build without the keyring has no keyring bench.
    let keyringBenches: [LawBench] = []
#endif
