#if Keyring && os(Linux)
    import Foundation
    import Synchronization

    /// The small Secret portal of `Tests/Fixtures/secret-portal` on a bus.
    package final class SmallSecretPortal: Sendable {
        package let keyring: PrivateKeyring
        private let running = Mutex<RunningProgram?>(nil)

        /// Starts the portal.
        /// - Parameters:
        ///   - keyring: Whose bus it is on; nil for a bus of its own.
        ///   - hasSecrets: Whether it has the interface for secrets.
        package init(on keyring: PrivateKeyring? = nil, hasSecrets: Bool = true) async throws {
            self.keyring = if let keyring { keyring } else { try await offPool { try PrivateKeyring(.noDaemon) } }
            try await start(hasSecrets: hasSecrets)
        }

        /// Starts the portal, after its end too: the secrets are others then, unless it is told them.
        package func start(hasSecrets: Bool = true) async throws {
            let tests = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            let script = tests.appending(path: "Fixtures/secret-portal/portal.py").path
            let program = try RunningProgram(
                "/usr/bin/python3", ["-B", script] + (hasSecrets ? [] : ["none"]), environment: keyring.environment, keeping: keyring)
            guard try await program.line() == "ready" else { throw ProgramFailure("portal.py did not answer") }
            running.withLock { $0 = program }
        }

        /// Lets it do what a command says.
        @discardableResult
        package func tell(_ command: String) async throws -> String {
            guard let program = running.withLock(\.self) else { throw ProgramFailure("the portal was not started") }
            return try await program.ask(command)
        }

        /// Kills it.
        package func kill() async {
            let program = running.withLock { running in
                defer { running = nil }
                return running
            }
            await program?.kill()
        }

        /// Stops it where it stands (SIGSTOP), or lets it go on.
        package func signal(_ number: Int32) { running.withLock { $0?.signal(number) } }

        /// Starts a program that asks it.
        package func probe() throws -> RunningProgram {
            try RunningProgram(
                worker: "keyring", ["probe", keyring.file("probe.lock"), ""], environment: keyring.environment, keeping: keyring)
        }
    }
#endif
