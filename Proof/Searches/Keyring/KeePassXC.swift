#if Keyring && os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// KeePassXC without a window. Its database offers all of its entries to the Secret Service.
    final class KeePassXC: Keeper {
        let name = "KeePassXC"
        let keyring: PrivateKeyring
        private var program: RunningProgram?

        init() async throws {
            keyring = try await offPool { try PrivateKeyring(.noDaemon) }
            let folder = keyring.file(".config/keepassxc")
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
            let settings = """
                [General]
                ConfigVersion=2
                UpdateCheckMessageShown=true
                [FdoSecrets]
                Enabled=true
                ShowNotification=false
                ConfirmAccessItem=false
                ConfirmDeleteItem=false
                """
            try settings.write(toFile: folder + "/keepassxc.ini", atomically: false, encoding: .utf8)
            let content = """
                <?xml version="1.0" encoding="UTF-8" standalone="yes"?>
                <KeePassFile><Meta><CustomData><Item><Key>FDO_SECRETS_EXPOSED_GROUP</Key>
                <Value>{01234567-89ab-cdef-0123-456789abcdef}</Value></Item></CustomData></Meta>
                <Root><Group><UUID>ASNFZ4mrze8BI0VniavN7w==</UUID><Name>Root</Name></Group></Root></KeePassFile>
                """
            try content.write(toFile: keyring.file("content.xml"), atomically: false, encoding: .utf8)
            let made = try await run(
                "keepassxc-cli", ["import", "-p", keyring.file("content.xml"), database], environment: environment, input: "pw\npw\n")
            try #require(made.status == 0, "\(made)")
            try await start()
        }

        private var database: String { keyring.file("secrets.kdbx") }

        private var environment: [String: String] { keyring.environment.merging(["QT_QPA_PLATFORM": "offscreen"]) { $1 } }

        func start() async throws {
            let program = try RunningProgram("keepassxc", ["--pw-stdin", database], environment: environment)
            try program.send("pw")
            self.program = program
            let up = try await run(
                "gdbus", ["wait", "--session", "--timeout", "60", "org.freedesktop.secrets"], environment: environment)
            try #require(up.status == 0, "\(up)")
            // The database opens a moment after the service has appeared.
            let probe = try probe()
            while try await probe.ask("status").outcome != "status ready" {
                try await Task.sleep(for: .milliseconds(100))
            }
            _ = await probe.end()
        }

        /// Waits until the changes are on the disk. KeePassXC writes its file a moment after a change.
        func settle() async throws { try await Task.sleep(for: .seconds(3)) }

        /// Locks the database by starting KeePassXC again without the password. To lock an open database, KeePassXC
        /// would ask the user.
        func lock() async throws {
            await kill()
            program = try RunningProgram("keepassxc", [database], environment: environment)
            let probe = try probe()
            while try await probe.ask("status").outcome != "status locked" {
                try await Task.sleep(for: .milliseconds(100))
            }
            _ = await probe.end()
        }

        func startOpen() async throws { try await start() }

        func kill() async { await program?.kill() }

        func probe() throws -> RunningProgram {
            try RunningProgram(
                worker: "keyring", ["probe", keyring.file("probe.lock")], environment: keyring.environment, keeping: keyring)
        }
    }
#endif
