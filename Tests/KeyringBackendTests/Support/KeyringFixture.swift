#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime
    import Glibc
    import KeyringBackend
    import TestSupport
    import Testing

    /// The program that keeps the items of a test.
    enum KeyringProgram: CaseIterable, CustomTestStringConvertible {
        /// The real gnome-keyring.
        case gnome
        /// A simulated oo7-daemon.
        case oo7

        var testDescription: String { "\(self)" }

        /// The attributes that the program adds to an item.
        var added: [String: String] { self == .gnome ? [:] : ["xdg:content-type": "text/plain"] }
    }

    /// Makes stores for one test in the keyring that all tests of this process share.
    /// A random service name keeps the test's items apart from those of other tests.
    struct KeyringFixture {
        let keyring: PrivateKeyring
        let connection: SecretServiceConnection
        let service = "test-\(UInt64.random(in: .min ... .max))"

        init() throws {
            keyring = try .shared()
            connection = .shared
        }

        init(_ keeper: KeyringProgram) async throws {
            switch keeper {
            case .gnome: try self.init()
            case .oo7: self.init(try await SmallSecretService.sharedOo7())
            }
        }

        /// Makes a fixture for a service. The service must outlive the fixture.
        init(_ service: SmallSecretService) {
            keyring = service.keyring
            connection = SecretServiceConnection(runtime: .live, address: service.keyring.address)
        }

        /// Makes a store for the fixture's service. Two stores share only the keyring.
        func store(_ style: KeyringStyle = .localData, service: String? = nil) -> SecretServiceStore {
            SecretServiceStore(
                service: service ?? self.service, style: style, lockFile: keyring.file("locks/\(self.service).lock"),
                deadline: .seconds(300),
                keyringsDirectory: keyring.keyringsDirectory, connection: connection)
        }

        /// Returns the attributes of an item in the LocalData format.
        func attributes(_ name: String, namespace: String = "values") -> [String: String] {
            ["application": "LocalData", "service": service, "namespace": namespace, "account": name]
        }

        /// Runs `secret-tool` on the keyring.
        /// D-Bus ends a call after 25 seconds. A slow machine can exceed them, so the command is run again then.
        /// - Throws: ``ProgramFailure`` if the item was not stored.
        func secretTool(_ arguments: [String], input: String = "") async throws -> ProgramResult {
            var result: ProgramResult
            var left = 10
            repeat {
                result = try await run("secret-tool", arguments, environment: keyring.environment, input: input)
                left -= 1
            } while left > 0 && ["Timeout was reached", "NoReply"].contains { result.stderr.contains($0) }
            if arguments.first == "store", result.status != 0 { throw ProgramFailure("secret-tool: \(result.stderr)") }
            return result
        }
    }

    extension [String: String] {
        /// These attributes as arguments of `secret-tool`.
        var arguments: [String] { flatMap { [$0.key, $0.value] } }
    }

    /// A private keyring with a worker process that uses it, for tests that break the keyring.
    struct ProbeFixture {
        let keyring: PrivateKeyring
        let service = "probe"

        init(_ beginning: PrivateKeyring.Beginning = .unlocked, isActivated: Bool = false) async throws {
            keyring = try await offPool { try PrivateKeyring(beginning, isActivated: isActivated) }
        }

        /// Starts the worker process.
        func probe(changing environment: [String: String?] = [:]) throws -> RunningProgram {
            var all = keyring.environment
            for (name, value) in environment { all[name] = value }
            return try RunningProgram(
                worker: "keyring", [service, keyring.file("probe.lock"), keyring.keyringsDirectory], environment: all, keeping: keyring)
        }
    }

    extension RunningProgram {
        /// Sends a command to the worker and expects this answer. The elapsed time in the answer is ignored.
        func expect(_ command: String, _ outcome: String, from location: SourceLocation = #_sourceLocation) async throws {
            let found = try await ask(command).outcome
            #expect(found == outcome, "\(command)", sourceLocation: location)
        }
    }

    /// A call that took less time did not wait for D-Bus, which ends a call after 25 seconds, or for the deadline of a store.
    let millisecondsOfBus = 20_000

    extension String {
        /// The answer of the worker without its elapsed time.
        var outcome: String { split(separator: " ").filter { !$0.hasPrefix("ms=") }.joined(separator: " ") }

        /// Returns a named number from the answer of the worker, such as `ms=5`.
        func number(_ name: String) -> Int? {
            split(separator: " ").first { $0.hasPrefix("\(name)=") }.flatMap { Int($0.dropFirst(name.count + 1)) }
        }
    }
#endif
