#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime
    import Glibc
    import KeyringBackend
    import TestSupport
    import Testing

    /// A store of a test's own, under a service that nobody else uses, in the keyring that this process shares.
    struct KeyringFixture {
        let keyring: PrivateKeyring
        let service = "test-\(UInt64.random(in: .min ... .max))"

        init() throws { keyring = try .shared() }

        /// A store over the fixture's service; two of them share nothing but the keyring.
        func store(_ style: KeyringStyle = .localData, service: String? = nil) -> SecretServiceStore {
            SecretServiceStore(
                service: service ?? self.service, style: style, lockFile: keyring.file("locks/\(self.service).lock"),
                deadline: .seconds(30),
                keyringsDirectory: keyring.keyringsDirectory)
        }

        /// The attributes of a house item.
        func attributes(_ name: String, namespace: String = "values") -> [String: String] {
            ["application": "LocalData", "service": service, "namespace": namespace, "account": name]
        }

        /// Runs secret-tool on the shared keyring.
        func secretTool(_ arguments: [String], input: String = "") async throws -> ProgramResult {
            try await run("secret-tool", arguments, environment: keyring.environment, input: input)
        }
    }

    extension [String: String] {
        /// The arguments of secret-tool that name these attributes.
        var arguments: [String] { flatMap { [$0.key, $0.value] } }
    }

    /// A keyring of a test's own with a program that uses it, for tests that break it.
    struct ProbeFixture {
        let keyring: PrivateKeyring
        let service = "probe"

        init(_ beginning: PrivateKeyring.Beginning = .unlocked, isActivated: Bool = false) async throws {
            keyring = try await offPool { try PrivateKeyring(beginning, isActivated: isActivated) }
        }

        /// Starts the program.
        func probe(changing environment: [String: String?] = [:]) throws -> RunningProgram {
            var all = keyring.environment
            for (name, value) in environment { all[name] = value }
            return try RunningProgram(
                worker: "keyring", [service, keyring.file("probe.lock"), keyring.keyringsDirectory], environment: all, keeping: keyring)
        }
    }

    extension RunningProgram {
        /// Gives the probe a command, and expects an answer, whatever time it took.
        func expect(_ command: String, _ outcome: String, from location: SourceLocation = #_sourceLocation) async throws {
            let found = try await ask(command).outcome
            #expect(found == outcome, "\(command)", sourceLocation: location)
        }
    }

    extension String {
        /// The answer of the probe without the time it took.
        var outcome: String { split(separator: " ").filter { !$0.hasPrefix("ms=") }.joined(separator: " ") }

        /// A number of the probe's answer.
        func number(_ name: String) -> Int? {
            split(separator: " ").first { $0.hasPrefix("\(name)=") }.flatMap { Int($0.dropFirst(name.count + 1)) }
        }
    }
#endif
