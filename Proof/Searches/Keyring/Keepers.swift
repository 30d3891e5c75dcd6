#if Keyring && os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// A real program that stores secrets, on a separate bus.
    protocol Keeper: AnyObject {
        var name: String { get }
        var keyring: PrivateKeyring { get }
        /// Starts the program with its stored secrets, and returns when they are unlocked.
        func startOpen() async throws
        /// Kills the program, and waits until it has ended.
        func kill() async
        /// Returns when all changes are in the program's files.
        func settle() async throws
        /// Locks the default collection.
        func lock() async throws
    }

    extension Keeper {
        func lock() async throws { try keyring.lock(try keyring.defaultCollection()) }

        /// Starts a test program that uses the keyring.
        func anyProbe() throws -> RunningProgram {
            try RunningProgram(
                worker: "keyring", ["probe", keyring.file("probe.lock")], environment: keyring.environment, keeping: keyring)
        }
    }

    /// gnome-keyring.
    final class GnomeKeyring: Keeper {
        let name = "gnome-keyring"
        let keyring: PrivateKeyring

        init() async throws { keyring = try await offPool { try PrivateKeyring() } }

        func startOpen() async throws { try await offPool { [keyring] in try keyring.startDaemon(password: PrivateKeyring.password) } }
        func kill() async { keyring.killDaemon() }
        /// gnome-keyring writes its files before it answers.
        func settle() async throws {}
    }

    /// pass_secret_service, which keeps each secret in a file that GnuPG encrypts.
    final class PassSecretService: Keeper {
        let name = "pass_secret_service"
        let keyring: PrivateKeyring
        private let folder: String
        private var program: RunningProgram?

        /// The folder into which pip installed the program.
        private static var folder: String? { ProcessInfo.processInfo.environment["LOCALDATA_PASS_SECRET_SERVICE"] }

        init() async throws {
            folder = try #require(Self.folder, "Scripts/prove providers installs pass_secret_service and names its folder")
            keyring = try await offPool { try PrivateKeyring(.noDaemon) }
            let files = FileManager.default
            try files.createDirectory(
                atPath: keyring.file("gpg"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            for (program, arguments) in [
                ("gpg", ["--batch", "--passphrase", "", "--quick-gen-key", "tests@localhost", "default", "default", "never"]),
                ("pass", ["init", "tests@localhost"]),
            ] {
                let result = try await run(program, arguments, environment: environment)
                try #require(result.status == 0, "\(result)")
            }
            try await startOpen()
        }

        deinit {
            // GnuPG's agent would continue to run after the test.
            let end = Process()
            end.executableURL = URL(filePath: "/usr/bin/gpgconf")
            end.arguments = ["--homedir", keyring.file("gpg"), "--kill", "all"]
            try? end.run()
            end.waitUntilExit()
        }

        private var environment: [String: String] {
            keyring.environment.merging(["GNUPGHOME": keyring.file("gpg"), "PASSWORD_STORE_DIR": keyring.file("store")]) { $1 }
        }

        func startOpen() async throws {
            let script = testsFolder.appending(path: "Fixtures/secret-service/pass.py").path
            program = try RunningProgram(
                "/usr/bin/python3", ["-B", script, folder, "--path", keyring.file("store")], environment: environment)
            let up = try await run("gdbus", ["wait", "--session", "--timeout", "60", "org.freedesktop.secrets"], environment: environment)
            try #require(up.status == 0, "\(up)")
        }

        func kill() async { await program?.kill() }
        /// pass_secret_service writes its files before it answers.
        func settle() async throws {}
    }
#endif
