#if Keyring && os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// A program that keeps secrets, as it really is, on a bus of its own.
    protocol Keeper: AnyObject {
        var name: String { get }
        var keyring: PrivateKeyring { get }
        /// Starts it, with what it kept, and returns when it is open.
        func startOpen() async throws
        /// Kills it, and waits until it is gone.
        func kill() async
        /// Returns when what it was given is in its files.
        func settle() async throws
        /// Locks the default collection.
        func lock() async throws
    }

    extension Keeper {
        func lock() async throws { try keyring.lock(try keyring.defaultCollection()) }

        /// Starts a program that uses it.
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
        /// It writes its files before it answers.
        func settle() async throws {}
    }

    /// pass_secret_service, which keeps each secret in a file that GnuPG encrypts.
    final class PassSecretService: Keeper {
        let name = "pass_secret_service"
        let keyring: PrivateKeyring
        private let folder: String
        private var program: RunningProgram?

        /// Where pip has installed it.
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
            // GnuPG's agent goes on running unless it is ended here.
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
            let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .appending(path: "Fixtures/secret-service/pass.py").path
            program = try RunningProgram(
                "/usr/bin/python3", ["-B", script, folder, "--path", keyring.file("store")], environment: environment)
            let up = try await run("gdbus", ["wait", "--session", "--timeout", "60", "org.freedesktop.secrets"], environment: environment)
            try #require(up.status == 0, "\(up)")
        }

        func kill() async { await program?.kill() }
        /// It writes its files before it answers.
        func settle() async throws {}
    }
#endif
