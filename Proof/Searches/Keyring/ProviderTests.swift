#if Keyring && os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// Tests with real keyrings other than gnome-keyring. `Scripts/prove providers` installs and runs them.
    @Suite(.inTurn, .timeLimit(.minutes(5)), .tags(.keyring))
    struct ProviderTests {
        @Test func `KeePassXC stores, lists, replaces and removes items, also across a restart`() async throws {
            let provider = try await KeePassXC()
            let probe = try provider.probe()
            try await probe.expect("watch", "watching")
            try await probe.expect("get a", "absent")
            try await probe.expect("put a one", "applied untilPowerLoss")
            try await probe.expect("create a", "conflict value one")
            try await probe.expect("put b two", "applied untilPowerLoss")
            try await probe.expect("get a", "value one")
            try await probe.expect("change", "changed")
            try await probe.expect("put a three", "applied untilPowerLoss")
            try await probe.expect("list", "list [\"a\", \"b\"]")
            try await probe.expect("delete b", "applied untilPowerLoss")
            try await probe.expect("get b", "absent")
            // KeePassXC writes its file a moment after a change. If it were killed at once, the last changes would be
            // lost.
            try await Task.sleep(for: .seconds(3))
            await provider.kill()
            try await probe.expect("get a", "unavailable unavailable")
            try await provider.start()
            try await probe.expect("get a", "value three")
            try await probe.expect("get b", "absent")
            try await probe.expect("put b four", "applied untilPowerLoss")
            try await probe.expect("get b", "value four")
            _ = await probe.end()
            await provider.kill()
        }

        @Test func `KWallet stores, lists, replaces and removes items, also across a restart`() async throws {
            let provider = try await KWallet()
            let probe = try provider.probe()
            try await probe.expect("watch", "watching")
            try await probe.expect("get a", "absent")
            try await probe.expect("put a öne", "applied untilPowerLoss")
            try await probe.expect("create a", "conflict value öne")
            try await probe.expect("put b two", "applied untilPowerLoss")
            try await probe.expect("get a", "value öne")
            try await probe.expect("change", "changed")
            try await probe.expect("put a thrée", "applied untilPowerLoss")
            try await probe.expect("list", "list [\"a\", \"b\"]")
            try await probe.expect("delete b", "applied untilPowerLoss")
            try await probe.expect("get b", "absent")
            try await provider.restart()
            // After each restart, the first request on the old connection is of another kind: a read, a replacement,
            // or a new item.
            try await probe.expect("get a", "value thrée")
            try await probe.expect("get b", "absent")
            try await provider.restart()
            try await probe.expect("put a four", "applied untilPowerLoss")
            try await provider.restart()
            try await probe.expect("create b", "applied untilPowerLoss")
            try await probe.expect("list", "list [\"a\", \"b\"]")
            try await probe.expect("get a", "value four")
            _ = await probe.end()
        }

        @Test func `no session with KWallet loses a write or reads a wrong value`() async throws {
            let provider = try await KWallet()
            // In about one of a hundred sessions, KWallet derives another key than the library, or refuses the
            // session.
            for number in 0..<300 {
                let probe = try provider.probe()
                #expect(try await probe.ask("put a \(number)").outcome == "applied untilPowerLoss")
                #expect(try await probe.ask("create b\(number)").outcome == "applied untilPowerLoss")
                #expect(try await probe.ask("get a").outcome == "value \(number)")
                _ = await probe.end()
            }
        }
    }
#endif
