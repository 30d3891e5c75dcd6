import BackendConformance
import BackendContract

#if Keyring && os(Linux)
    import BackendRuntime
    import KeyringBackend
    import Synchronization
    import TestSupport

    /// The benches of the keyring backend, with the real gnome-keyring and with a simulated oo7-daemon.
    /// A bench makes the stores on which rules for backends are checked.
    let keyringBenches: [LawBench] = [
        .keyring("keyring") { KeyringServices.Place(try .shared(), .shared) },
        .keyring("keyring of oo7") {
            let keyring = try await SmallSecretService.sharedOo7().keyring
            return KeyringServices.Place(keyring, SecretServiceConnection(runtime: .live, address: keyring.address), keyring.address)
        },
    ]

    extension LawBench {
        /// Each store has a unique service in a keyring of the test process.
        /// A reopened store has a new connection, as in a new process.
        fileprivate static func keyring(
            _ name: String, in place: @escaping @Sendable () async throws -> KeyringServices.Place
        ) -> LawBench {
            LawBench(
                name: name, capabilities: KeyringServices.capabilities, scale: 0.2,
                makeStore: { try await KeyringServices.newStore(in: place()) },
                reopen: { try KeyringServices.reopened($0) },
                writeForeign: { try await KeyringServices.write($2, at: $1, in: $0) },
                changeBehindMetadata: { try await KeyringServices.write($2, at: $1, in: $0) },
                corrupt: { store, address in
                    let line = try await KeyringServices.secret(at: address, in: store)
                    try await KeyringServices.write(String(line.dropLast(8)), at: address, in: store)
                })
        }
    }

    /// The services that the benches made, and access to their items with secret-tool.
    private enum KeyringServices {
        /// A keyring, and a connection to it.
        struct Place: Sendable {
            let keyring: PrivateKeyring
            let connection: SecretServiceConnection
            /// The address of the bus; nil for the one that the environment names.
            let address: String?

            init(_ keyring: PrivateKeyring, _ connection: SecretServiceConnection, _ address: String? = nil) {
                (self.keyring, self.connection, self.address) = (keyring, connection, address)
            }

            func store(_ service: String) -> SecretServiceStore {
                KeyringServices.store(
                    service, connection, directory: keyring.keyringsDirectory, lock: keyring.file("law.lock"))
            }
        }

        private static let made = Mutex<[BackendIdentity: (service: String, place: Place)]>([:])

        static let capabilities = store("capabilities", .shared, directory: "").capabilities

        static func newStore(in place: Place) throws -> SecretServiceStore {
            let service = "law-\(UInt64.random(in: .min ... .max))"
            let store = place.store(service)
            made.withLock { $0[store.identity] = (service, place) }
            return store
        }

        static func reopened(_ store: any StorageBackend) throws -> SecretServiceStore {
            let (service, place) = try found(store)
            let connection = SecretServiceConnection(runtime: .live, address: place.address)
            return Place(place.keyring, connection, place.address).store(service)
        }

        private static func store(
            _ service: String, _ connection: SecretServiceConnection, directory: String, lock: String = ""
        ) -> SecretServiceStore {
            SecretServiceStore(
                service: service, lockFile: lock, deadline: .seconds(480), keyringsDirectory: directory, connection: connection)
        }

        private static func found(_ store: any StorageBackend) throws -> (service: String, place: Place) {
            guard let found = made.withLock({ $0[store.identity] }) else { throw WrongStore() }
            return found
        }

        private static func attributes(_ address: StorageAddress, _ service: String) -> [String] {
            [
                "application", "LocalData", "service", service, "namespace",
                address.namespace == .values ? "values" : "n:\(address.namespace)", "account", address.name,
            ]
        }

        static func write(_ text: String, at address: StorageAddress, in store: any StorageBackend) async throws {
            let (service, place) = try found(store)
            let result = try await run(
                "secret-tool", ["store", "--label=foreign"] + attributes(address, service), environment: place.keyring.environment,
                input: text)
            guard result.status == 0 else { throw ProgramFailure("secret-tool store: \(result.stderr)") }
        }

        static func secret(at address: StorageAddress, in store: any StorageBackend) async throws -> String {
            let (service, place) = try found(store)
            return try await run("secret-tool", ["lookup"] + attributes(address, service), environment: place.keyring.environment).stdout
        }
    }
#else
    /// A build without the keyring has no keyring bench.
    let keyringBenches: [LawBench] = []
#endif
