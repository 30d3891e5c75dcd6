#if Keyring && os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// Other keepers of secrets than gnome-keyring, as they really are: `Scripts/prove providers` installs and runs them.
    @Suite(
        .inTurn, .timeLimit(.minutes(5)), .tags(.keyring),
        .enabled(if: ProcessInfo.processInfo.environment["LOCALDATA_PROVIDERS"] != nil, "run by Scripts/prove providers"))
    struct ProviderTests {
        /// KeePassXC without a window, with a database that gives all of its entries to the Secret Service.
        private final class KeePassXC {
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
                // The database is opened a moment after the service is there.
                let probe = try probe()
                for _ in 0..<600 where try await probe.ask("status").outcome != "status ready" {
                    try await Task.sleep(for: .milliseconds(100))
                }
                await probe.end()
            }

            func kill() async { await program?.kill() }

            func probe() throws -> RunningProgram {
                try RunningProgram(
                    Program.built("KeyringProbe"), ["probe", keyring.file("probe.lock")], environment: keyring.environment, keeping: keyring
                )
            }
        }

        @Test func `KeePassXC keeps, lists, replaces and removes what it is given, also over its end`() async throws {
            let provider = try await KeePassXC()
            let probe = try provider.probe()
            func expect(_ command: String, _ outcome: String, from location: SourceLocation = #_sourceLocation) async throws {
                let found = try await probe.ask(command).outcome
                #expect(found == outcome, "\(command)", sourceLocation: location)
            }
            try await expect("get a", "absent")
            try await expect("put a one", "applied untilPowerLoss")
            try await expect("create a", "conflict value one")
            try await expect("put b two", "applied untilPowerLoss")
            try await expect("get a", "value one")
            try await expect("put a three", "applied untilPowerLoss")
            try await expect("list", "list [\"a\", \"b\"]")
            try await expect("delete b", "applied untilPowerLoss")
            try await expect("get b", "absent")
            // It writes its file a moment after a change: what came right before its end is lost.
            try await Task.sleep(for: .seconds(3))
            await provider.kill()
            try await expect("get a", "unavailable unavailable")
            try await provider.start()
            try await expect("get a", "value three")
            try await expect("get b", "absent")
            try await expect("put b four", "applied untilPowerLoss")
            try await expect("get b", "value four")
            await probe.end()
            await provider.kill()
        }
    }
#endif
