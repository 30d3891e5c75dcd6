#if Keyring && os(Linux)
    import Foundation
    import Synchronization

    /// Runs the simulated Secret portal of `Tests/Fixtures/secret-portal` on a bus.
    package final class SmallSecretPortal: Sendable {
        package let keyring: PrivateKeyring
        private let running = Mutex<RunningProgram?>(nil)

        /// Starts the portal.
        /// - Parameters:
        ///   - keyring: The keyring whose bus the portal uses; nil for a new bus.
        ///   - hasSecrets: Whether the portal has the interface for secrets.
        package init(on keyring: PrivateKeyring? = nil, hasSecrets: Bool = true) async throws {
            self.keyring = if let keyring { keyring } else { try await offPool { try PrivateKeyring(.noDaemon) } }
            try await start(hasSecrets: hasSecrets)
        }

        /// Starts the portal, also after it has ended. It then has new secrets, until a command sets them.
        package func start(hasSecrets: Bool = true) async throws {
            let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            let script = tests.appending(path: "Fixtures/secret-portal/portal.py").path
            let program = try RunningProgram(
                "/usr/bin/python3", ["-B", script] + (hasSecrets ? [] : ["none"]), environment: keyring.environment, keeping: keyring)
            guard try await program.line() == "ready" else { throw ProgramFailure("portal.py did not answer") }
            running.withLock { $0 = program }
        }

        /// Sends a command to the portal, and returns its answer.
        @discardableResult
        package func tell(_ command: String) async throws -> String {
            guard let program = running.withLock(\.self) else { throw ProgramFailure("the portal was not started") }
            return try await program.ask(command)
        }

        /// Kills the portal.
        package func kill() async {
            let program = running.withLock { running in
                defer { running = nil }
                return running
            }
            await program?.kill()
        }

        /// Sends a signal to the portal, such as SIGSTOP or SIGCONT.
        package func signal(_ number: Int32) { running.withLock { $0?.signal(number) } }

        /// Starts a worker process that uses the portal.
        package func probe() throws -> RunningProgram {
            try RunningProgram(
                worker: "keyring", ["probe", keyring.file("probe.lock"), ""], environment: keyring.environment, keeping: keyring)
        }
    }
#endif
