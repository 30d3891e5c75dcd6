#if Keyring && os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// Tests of the secret that a portal gives to an application.
    /// A simulated portal gives every kind of answer that a real portal can give.
    @Suite(.slow("uses a real keyring"), .inTurn, .timeLimit(.minutes(5)), .tags(.keyring, .process))
    struct SecretPortalTests {
        private static let secret = String(repeating: "5ec2e7", count: 20)

        @Test func `the secret of a portal arrives complete and is the same each time`() async throws {
            let portal = try await SmallSecretPortal()
            try await portal.tell("secret \(Self.secret)")
            let probe = try portal.probe()
            for way in ["well", "early", "forged", "well"] {
                try await portal.tell("answers \(way)")
                try await probe.expect("portal 120000", "secret \(Self.secret)")
            }
            #expect(try await portal.tell("requests") == "4")
            #expect(try await portal.tell("closed") == "0")
        }

        @Test func `the secret differs for another application and for a portal that lost its secret`() async throws {
            let portal = try await SmallSecretPortal()
            let probe = try portal.probe()
            let first = try await probe.ask("portal 120000").outcome
            try await portal.tell("app org.example.two")
            let other = try await probe.ask("portal 120000").outcome
            try await portal.tell("forget")
            let new = try await probe.ask("portal 120000").outcome
            try await portal.tell("app org.example.one")
            #expect(try await probe.ask("portal 120000").outcome == first)
            #expect(Set([first, other, new]).count == 3)
            #expect([first, other, new].allSatisfy { $0.hasPrefix("secret ") && $0.count == "secret ".count + 128 })
        }

        @Test(arguments: [16, 17, 64, 4_095, 4_096])
        func `a secret of 16 to 4096 bytes is accepted`(count: Int) async throws {
            let portal = try await SmallSecretPortal()
            try await portal.tell("long \(count)")
            try await portal.probe().expect("portal 120000", "secret \(String(repeating: "00", count: count))")
        }

        @Test(arguments: [0, 1, 15, 4_097, 65_536, 50_000_000])
        func `a secret that is too short or too long is refused at once`(count: Int) async throws {
            let portal = try await SmallSecretPortal()
            try await portal.tell("long \(count)")
            let probe = try portal.probe()
            // A request that waited for its deadline would exceed the time limit of the suite.
            try await probe.expect("portal 600000", "threw failed notApplied")
            try await portal.tell("secret \(Self.secret)")
            try await probe.expect("portal 120000", "secret \(Self.secret)")
        }

        @Test(arguments: [("closed", "promptDismissed"), ("ended", "unavailable"), ("refused", "accessDenied")])
        func `a request that the user closes, or that the portal ends or refuses, fails with the error for that reason`(
            way: String, code: String
        ) async throws {
            let portal = try await SmallSecretPortal()
            try await portal.tell("secret \(Self.secret)")
            let probe = try portal.probe()
            try await portal.tell("answers \(way)")
            try await probe.expect("portal 120000", "threw \(code) notApplied")
            try await portal.tell("answers well")
            try await probe.expect("portal 120000", "secret \(Self.secret)")
        }

        @Test func `a request without an answer ends at its deadline and is closed`() async throws {
            let portal = try await SmallSecretPortal()
            try await portal.tell("secret \(Self.secret)")
            try await portal.tell("answers hangs")
            let probe = try portal.probe()
            let answer = try await probe.ask("portal 500")
            #expect(answer.outcome == "threw timedOut notApplied")
            #expect((500..<millisecondsOfBus).contains(answer.number("ms") ?? 0), "\(answer)")
            while try await portal.tell("closed") != "1" { try await Task.sleep(for: .milliseconds(5)) }
            try await probe.expect("portal-leave 200", "threw cancelled")
            try await portal.tell("answers well")
            try await probe.expect("portal 120000", "secret \(Self.secret)")
        }

        @Test func `a request to a stopped portal ends at its deadline, and a later request succeeds`() async throws {
            let portal = try await SmallSecretPortal()
            try await portal.tell("secret \(Self.secret)")
            let probe = try portal.probe()
            portal.signal(SIGSTOP)
            let answer = try await probe.ask("portal 500")
            #expect(answer.outcome == "threw timedOut notApplied")
            #expect((answer.number("ms") ?? .max) < millisecondsOfBus, "\(answer)")
            portal.signal(SIGCONT)
            try await probe.expect("portal 120000", "secret \(Self.secret)")
        }

        @Test(arguments: ["half-dies", "silent-dies"])
        func `an incomplete secret from a portal that exited is refused`(way: String) async throws {
            let portal = try await SmallSecretPortal()
            try await portal.tell("answers \(way)")
            let probe = try portal.probe()
            try await probe.expect("portal 600000", "threw unavailable notApplied")
            try await portal.start()
            try await portal.tell("secret \(Self.secret)")
            try await probe.expect("portal 120000", "secret \(Self.secret)")
        }

        @Test func `if the portal or its backend for secrets is missing, the error says what to install`() async throws {
            let portal = try await SmallSecretPortal(hasSecrets: false)
            let probe = try portal.probe()
            #expect(try await probe.ask("portal-reason").contains("Install a keyring that serves org.freedesktop.impl.portal.Secret"))
            try await probe.expect("portal 120000", "threw unavailable notApplied")
            await portal.kill()
            #expect(try await probe.ask("portal-reason").contains("Install xdg-desktop-portal"))
            try await probe.expect("portal 120000", "threw unavailable notApplied")
            portal.keyring.killBus()
            try await probe.expect("portal 120000", "threw unavailable notApplied")
        }
    }
#endif
