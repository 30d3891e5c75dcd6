#if Keyring && os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// KWallet without a window. Its wallet is open, as after a login with its PAM module.
    final class KWallet: Keeper {
        let name = "KWallet"
        let keyring: PrivateKeyring
        private var program: RunningProgram?

        init() async throws {
            keyring = try await offPool { try PrivateKeyring(.noDaemon) }
            let settings = """
                [Wallet]
                Enabled=true
                First Use=false
                Launch Manager=false
                Close When Idle=false
                [org.freedesktop.secrets]
                apiEnabled=true
                """
            try FileManager.default.createDirectory(atPath: keyring.file(".config"), withIntermediateDirectories: true)
            try settings.write(toFile: keyring.file(".config/kwalletrc"), atomically: false, encoding: .utf8)
            try String(repeating: "k", count: 56).write(toFile: keyring.file("wallet-key"), atomically: false, encoding: .utf8)
            // The first start creates the wallet. KWallet offers it to the Secret Service only after the next start.
            try await start()
            try await eventually { FileManager.default.fileExists(atPath: self.keyring.file("data/kwalletd/kdewallet.kwl")) }
            try await restart()
        }

        private var environment: [String: String] { keyring.environment.merging(["QT_QPA_PLATFORM": "offscreen"]) { $1 } }

        private func start() async throws {
            let script = testsFolder.appending(path: "Fixtures/secret-service/kwallet.py").path
            program = try RunningProgram("/usr/bin/python3", ["-B", script, keyring.file("wallet-key")], environment: environment)
            let up = try await run("gdbus", ["wait", "--session", "--timeout", "60", "org.freedesktop.secrets"], environment: environment)
            try #require(up.status == 0, "\(up)")
        }

        /// Waits until the changes are on the disk. If KWallet is killed, it loses the changes of the last two seconds.
        func settle() async throws { try await Task.sleep(for: .seconds(8)) }

        func kill() async { await program?.kill() }

        /// Waits until KWallet has written its file, kills KWallet, and starts it again. Returns when the wallet is
        /// open.
        func restart() async throws {
            try await settle()
            await kill()
            try await startOpen()
        }

        func startOpen() async throws {
            try await start()
            // The wallet is open, but KWallet's Secret Service notices this only at an unlock request. It shows no
            // prompt.
            let probe = try probe()
            try await eventually { try await probe.ask("unlock").outcome == "unlocked" }
            _ = await probe.end()
        }

        private func eventually(_ isSo: () async throws -> Bool) async throws {
            while try await !isSo() { try await Task.sleep(for: .milliseconds(100)) }
        }

        func probe() throws -> RunningProgram {
            try RunningProgram(
                worker: "keyring", ["probe", keyring.file("probe.lock")], environment: keyring.environment, keeping: keyring)
        }
    }
#endif
