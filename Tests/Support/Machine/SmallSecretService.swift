#if Keyring && os(Linux)
    import Foundation
    import Synchronization

    /// Runs the simulated Secret Service of `Tests/Fixtures/secret-service` on a new bus.
    /// It reproduces the behaviour of services other than gnome-keyring.
    package final class SmallSecretService: Sendable {
        /// A difference from gnome-keyring. `service.py` describes each of them.
        package enum Quirk: String, Sendable {
            case plain, attributes, prompts, closes, dies, late, cut, asks, oo7, exact
        }

        package let keyring: PrivateKeyring
        private let quirks: [Quirk]
        private let running = Mutex<RunningProgram?>(nil)

        /// Starts a bus, and the service on it.
        package init(_ quirks: [Quirk] = []) async throws {
            self.quirks = quirks
            keyring = try await offPool { try PrivateKeyring(.noDaemon) }
            try await start()
        }

        /// The service that behaves as oo7-daemon, which all tests of this process share.
        package static func sharedOo7() async throws -> SmallSecretService { try await sharedTask.value }

        private static let sharedTask = Task {
            let service = try await SmallSecretService([.oo7])
            atexit { SmallSecretService.removeShared() }
            sharedHome.withLock { $0 = service.keyring.environment["HOME"] ?? "" }
            return service
        }
        private static let sharedHome = Mutex("")

        private static func removeShared() {
            let path = sharedHome.withLock(\.self)
            if !path.isEmpty { try? FileManager.default.removeItem(atPath: path) }
        }

        /// Starts the service, also after it has ended. It then has no items, unless it behaves as oo7-daemon.
        package func start() async throws {
            let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            let script = tests.appending(path: "Fixtures/secret-service/service.py").path
            let program = try RunningProgram(
                "/usr/bin/python3", ["-B", script] + quirks.map(\.rawValue), environment: keyring.environment, keeping: keyring)
            guard try await program.line() == "ready" else { throw ProgramFailure("service.py did not answer") }
            running.withLock { $0 = program }
        }

        /// Kills the service, and starts it again.
        package func restart() async throws {
            await running.withLock(\.self)?.kill()
            try await start()
        }

        /// Sends a command to the service, and returns its answer.
        @discardableResult
        package func tell(_ command: String) async throws -> String {
            guard let program = running.withLock(\.self) else { throw ProgramFailure("the service was not started") }
            return try await program.ask(command)
        }

        /// An item of the service.
        package struct Item: Decodable, Sendable {
            package let path: String
            package let attributes: [String: String]
            package let secret: String
        }

        /// Returns the items of all programs.
        package func items() async throws -> [Item] { try JSONDecoder().decode([Item].self, from: Data(try await tell("items").utf8)) }

        /// Adds an item as another program does.
        /// - Returns: The object path of the item.
        package func add(_ secret: String, _ attributes: [String: String], in collection: String = "main") async throws -> String {
            let told = try JSONSerialization.data(withJSONObject: ["attributes": attributes, "secret": secret] as [String: Any])
            return try await tell("add \(collection) \(String(decoding: told, as: UTF8.self))")
        }

        /// Returns how often a method was called.
        package func calls(_ method: String) async throws -> Int { Int(try await tell("calls \(method)")) ?? 0 }

        /// Starts a worker process that uses the service.
        package func probe(_ more: [String] = []) throws -> RunningProgram {
            try RunningProgram(
                worker: "keyring", ["probe", keyring.file("probe.lock"), ""] + more, environment: keyring.environment, keeping: keyring)
        }
    }
#endif
