#if Keyring && os(Linux)
    import BackendContract
    import Foundation
    import TestSupport

    /// The small Secret Service of `Tests/Fixtures/secret-service` on a bus of its own, with the quirks of others than gnome-keyring.
    final class SmallSecretService: Sendable {
        /// What it does otherwise than gnome-keyring; `service.py` describes each.
        enum Quirk: String {
            case plain, attributes, prompts, closes, dies, late, cut
        }

        let keyring: PrivateKeyring
        private let program: RunningProgram

        init(_ quirks: [Quirk] = []) async throws {
            keyring = try await offPool { try PrivateKeyring(.noDaemon) }
            program = try Self.start(quirks, on: keyring)
            guard try await program.line() == "ready" else { throw ProgramFailure("service.py did not answer") }
        }

        private static func start(_ quirks: [Quirk], on keyring: PrivateKeyring) throws -> RunningProgram {
            let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .appending(path: "Fixtures/secret-service/service.py").path
            return try RunningProgram(
                "/usr/bin/python3", ["-B", script] + quirks.map(\.rawValue), environment: keyring.environment, keeping: keyring)
        }

        /// Lets it do what a command says.
        @discardableResult
        func tell(_ command: String) async throws -> String { try await program.ask(command) }

        /// An item as the service has it.
        struct Item: Decodable {
            let path: String
            let attributes: [String: String]
            let secret: String
        }

        /// Every item, of every program.
        func items() async throws -> [Item] { try JSONDecoder().decode([Item].self, from: Data(try await tell("items").utf8)) }

        /// Makes an item as another program does.
        /// - Returns: Its object path.
        func add(_ secret: String, _ attributes: [String: String], in collection: String = "main") async throws -> String {
            let told = try JSONSerialization.data(withJSONObject: ["attributes": attributes, "secret": secret] as [String: Any])
            return try await tell("add \(collection) \(String(decoding: told, as: UTF8.self))")
        }

        /// How often a method was called.
        func calls(_ method: String) async throws -> Int { Int(try await tell("calls \(method)")) ?? 0 }

        /// Starts a program that uses it.
        func probe(_ more: [String] = []) throws -> RunningProgram {
            try RunningProgram(
                Program.built("KeyringProbe"), ["probe", keyring.file("probe.lock"), ""] + more, environment: keyring.environment,
                keeping: keyring)
        }
    }
#endif
