#if Keyring && os(Linux)
    import TestSupport
    import Testing

    /// What others than gnome-keyring do otherwise, shown by the small Secret Service of the tests.
    @Suite(.slow("uses a real keyring"), .inTurn, .timeLimit(.minutes(5)), .tags(.keyring, .process))
    struct SmallServiceTests {
        // MARK: Prompts

        @Test func `where every change is made by a prompt, and items have further attributes, a store works as ever`() async throws {
            let service = try await SmallSecretService([.attributes, .prompts])
            let probe = try service.probe()
            try await probe.expect("get a", "absent")
            try await probe.expect("put a one", "applied untilPowerLoss")
            try await probe.expect("create a", "conflict value one")
            try await probe.expect("put a two", "applied untilPowerLoss")
            try await probe.expect("get a", "value two")
            try await probe.expect("create b", "applied untilPowerLoss")
            try await probe.expect("list", "list [\"a\", \"b\"]")
            try await probe.expect("delete a", "applied untilPowerLoss")
            try await probe.expect("get a", "absent")
            #expect(try await service.items().map { $0.attributes["account"] } == ["b"])
        }

        @Test func `a change whose prompt is closed is locked, and nothing is changed`() async throws {
            let service = try await SmallSecretService([.prompts, .closes])
            let probe = try service.probe()
            let attributes = ["application": "LocalData", "service": "probe", "namespace": "values", "account": "a"]
            _ = try await service.add("theirs", attributes)
            try await probe.expect("delete a", "locked")
            try await probe.expect("create b", "locked")
            #expect(try await service.items().map(\.secret) == ["theirs"])
        }

        @Test func `a service that dies with a prompt open ends the change, and the next one is answered`() async throws {
            let service = try await SmallSecretService([.prompts, .dies])
            let probe = try service.probe()
            try await probe.expect("create a", "failed unavailable unknown")
            try await probe.expect("create a", "failed unavailable notApplied")
            try await service.start()
            try await probe.expect("get a", "absent")
        }

        @Test func `a service that dies with a prompt open ends the unlocking, and the next one is answered`() async throws {
            let service = try await SmallSecretService([.dies])
            let probe = try service.probe()
            try await service.tell("lock main")
            let answer = try await probe.ask("unlock")
            #expect(answer.outcome == "threw unavailable notApplied")
            #expect((answer.number("ms") ?? .max) < 3_500, "\(answer)")
            try await service.start()
            try await probe.expect("unlock", "unlocked")
            try await probe.expect("put a one", "applied untilPowerLoss")
        }

        @Test func `an item in a locked collection beside the default one is locked until that one is unlocked`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            let attributes = ["application": "LocalData", "service": "probe", "namespace": "values", "account": "a"]
            _ = try await service.add("theirs", attributes, in: "other")
            try await service.tell("lock other")
            for command in ["get a", "put a two", "create a", "delete a"] { try await probe.expect(command, "locked") }
            try await probe.expect("list", "threw locked notApplied")
            try await probe.expect("put b one", "applied untilPowerLoss")
            try await probe.expect("unlock", "unlocked")
            try await probe.expect("get a", "native")
            try await probe.expect("list", "list [\"a\", \"b\"]")
            try await probe.expect("delete a", "applied untilPowerLoss")
            try await probe.expect("get a", "absent")
        }

        @Test func `a service that would ask for a password when it is searched is not searched while it is locked`() async throws {
            let service = try await SmallSecretService([.asks])
            let probe = try service.probe()
            let attributes = ["application": "LocalData", "service": "probe", "namespace": "values", "account": "a"]
            _ = try await service.add("theirs", attributes, in: "other")
            try await service.tell("lock main")
            try await service.tell("lock other")
            for command in ["get a", "put a two", "create b", "delete a"] { try await probe.expect(command, "locked") }
            try await probe.expect("list", "threw locked notApplied")
            #expect(try await service.calls("SearchItems") == 0)
            try await probe.expect("unlock", "unlocked")
            try await probe.expect("get a", "native")
            try await probe.expect("get b", "absent")
        }

        // MARK: Signals

        @Test func `what another program makes, changes or removes is noticed without asking for it`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            try await probe.expect("watch", "watching")
            let calls = try await service.calls("SearchItems")
            let attributes = ["application": "LocalData", "service": "probe", "namespace": "values", "account": "a"]
            let item = try await service.add("theirs", attributes)
            try await probe.expect("change", "changed")
            try await service.tell("change \(item) more")
            try await probe.expect("change", "changed")
            try await service.tell("remove \(item)")
            try await probe.expect("change", "changed")
            #expect(try await service.calls("SearchItems") == calls)
        }

        @Test func `a locked keyring's changes are told once it is unlocked`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            try await probe.expect("watch", "watching")
            try await service.tell("lock main")
            async let change = probe.ask("change")
            _ = try await service.add("theirs", ["any": "thing"])
            // Locked, it is looked at and nothing is told.
            for _ in 0..<1_000 where try await service.calls("ReadAlias") < 3 { try await Task.sleep(for: .milliseconds(5)) }
            try await service.tell("unlock main")
            let answer = try await change
            #expect(answer.outcome == "changed" && (answer.number("ms") ?? 0) > 0, "\(answer)")
        }

        @Test func `another program's change is noticed with gnome-keyring, after its restart and its unlocking too`() async throws {
            let fixture = try await ProbeFixture()
            let (probe, other) = (try fixture.probe(), try fixture.probe())
            try await probe.expect("watch", "watching")
            for command in ["put a one", "put a two", "delete a"] {
                try await other.expect(command, "applied durable")
                try await probe.expect("change", "changed")
            }
            try await offPool { try fixture.keyring.restartDaemon(password: nil) }
            try await offPool { try fixture.keyring.unlock() }
            try await probe.expect("change", "changed")
            try await other.expect("put a three", "applied durable")
            try await probe.expect("change", "changed")
        }

        @Test func `a watch whose bus died goes on with the next call that reaches one`() async throws {
            let fixture = try await ProbeFixture()
            let (probe, other) = (try fixture.probe(), try fixture.probe())
            try await probe.expect("watch", "watching")
            fixture.keyring.killBus()
            try await offPool {
                try fixture.keyring.startBus()
                try fixture.keyring.startDaemon(password: PrivateKeyring.password)
            }
            try await probe.expect("get a", "absent")
            try await probe.expect("change", "changed")
            try await other.expect("put a one", "applied durable")
            try await probe.expect("change", "changed")
        }

        // MARK: Content

        @Test func `a service that cuts texts at a NUL keeps values with one whole`() async throws {
            let service = try await SmallSecretService([.cut])
            let probe = try service.probe()
            try await probe.expect("put-hex a 610062", "applied untilPowerLoss")
            try await probe.expect("get a", "value a\0b")
        }

        @Test func `what a service does not give back right after it took it does not count as kept`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            try await service.tell("fail GetSecrets")
            try await probe.expect("create a", "failed failed unknown")
            try await probe.expect("get a", "value \u{1}")
        }

        // MARK: Transport

        @Test func `a service that takes secrets only as they are gets none, unless that is allowed by name`() async throws {
            let service = try await SmallSecretService([.plain])
            let probe = try service.probe()
            try await probe.expect("put a one", "failed untrusted notApplied")
            try await probe.expect("get a", "absent")
            #expect(try await service.items().isEmpty)
            #expect(try await service.calls("CreateItem") == 0)
            let allowing = try service.probe(["--allow-plain"])
            try await allowing.expect("put a one", "applied untilPowerLoss")
            try await allowing.expect("get a", "value one")
            try await probe.expect("get a", "unavailable untrusted")
            try await probe.expect("put a two", "failed untrusted notApplied")
            #expect(try await service.calls("GetSecrets") == 2, "what was written is read back, and read")
            #expect(try await probe.ask("status").contains("allowsUnencryptedKeychainTransport"))
            #expect(try await allowing.ask("status").outcome == "status ready")
        }

        @Test func `who keeps the secrets, where, and how they get there is told, also of what is refused`() async throws {
            let collection = "/org/freedesktop/secrets/collection/main"
            for (quirks, algorithm) in [([], "dh-ietf1024-sha256-aes128-cbc-pkcs7"), ([SmallSecretService.Quirk.plain], "plain")] {
                let service = try await SmallSecretService(quirks)
                let told = try await service.probe().ask("keyring").outcome
                #expect(told.hasPrefix("python3") && told.hasSuffix(" \(collection) \(algorithm)"), "\(told)")
            }
            let fixture = try await ProbeFixture()
            let told = try await fixture.probe().ask("keyring").outcome
            #expect(told == "gnome-keyring-daemon \(PrivateKeyring.collection) dh-ietf1024-sha256-aes128-cbc-pkcs7")
        }

        // MARK: Sessions

        @Test(arguments: [[], [SmallSecretService.Quirk.late]])
        func `a session that the service forgot is opened anew, and nothing is written twice`(
            quirks: [SmallSecretService.Quirk]
        ) async throws {
            let service = try await SmallSecretService(quirks)
            let probe = try service.probe()
            try await probe.expect("put a one", "applied untilPowerLoss")
            try await service.tell("sessions")
            try await probe.expect("get a", "value one")
            try await service.tell("sessions")
            try await probe.expect("put a two", "applied untilPowerLoss")
            try await probe.expect("get a", "value two")
            // KWallet makes the item before it looks for the session: it is there, and empty.
            try await service.tell("sessions")
            try await probe.expect("create b", "applied untilPowerLoss")
            try await probe.expect("list", "list [\"a\", \"b\"]")
            try await service.tell("sessions")
            try await probe.expect("delete a", "applied untilPowerLoss")
            try await probe.expect("get a", "absent")
            #expect(try await service.items().count == 1)
        }

        @Test func `what is set aside and put back over a session that the service forgot is there once`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            for name in ["a", "b"] { try await probe.expect("put \(name) one", "applied untilPowerLoss") }
            try await probe.expect("copy", "copied 2")
            try await service.tell("sessions")
            try await probe.expect("set-aside", "moved")
            try await probe.expect("list", "list []")
            try await service.tell("sessions")
            try await probe.expect("put-back", "restored")
            try await probe.expect("list", "list [\"a\", \"b\"]")
            try await probe.expect("get b", "value one")
            #expect(try await service.items().count == 4)
        }

        // MARK: Restarts

        @Test(arguments: ["SearchItems", "GetSecrets"])
        func `a service that starts anew between a look and a change, and numbers its items anew, loses no other's item`(
            method: String
        ) async throws {
            for command in ["delete a", "put a two"] {
                let service = try await SmallSecretService()
                let probe = try service.probe()
                try await probe.expect("put a one", "applied untilPowerLoss")
                _ = try await service.add("theirs", ["any": "thing"])
                try await service.tell("restart \(method)")
                try await probe.expect(command, "applied untilPowerLoss")
                let items = try await service.items()
                #expect(items.filter { $0.attributes["any"] == "thing" }.map(\.secret) == ["theirs"], "\(command)")
                try await probe.expect("get a", command == "delete a" ? "absent" : "value two")
                #expect(items.count == (command == "delete a" ? 1 : 2), "\(command)")
                try await probe.expect("list", command == "delete a" ? "list []" : "list [\"a\"]")
            }
        }

        @Test func `a condition is judged anew where the service started anew`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            try await service.tell("restart SearchItems")
            try await probe.expect("create a", "applied untilPowerLoss")
            try await service.tell("restart GetSecrets")
            try await probe.expect("create a", "conflict value \u{1}")
            #expect(try await service.items().count == 1)
        }

        @Test func `a service that gives its name back while it goes on is not asked any more`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            try await probe.expect("put a one", "applied untilPowerLoss")
            try await service.tell("leave GetSecrets")
            try await probe.expect("get a", "value one")
            try await probe.expect("get a", "unavailable unavailable")
            try await probe.expect("delete a", "failed unavailable notApplied")
            #expect(try await service.items().count == 1)
            try await service.start()
            try await probe.expect("get a", "absent")
        }

        @Test func `a session that could not be opened is opened once more`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            try await service.tell("fail OpenSession")
            try await probe.expect("put a one", "applied untilPowerLoss")
            let other = try service.probe()
            try await service.tell("fail OpenSession")
            try await other.expect("get a", "value one")
        }

        @Test(arguments: ["wrong", "noise"]) func `what a session with a wrong key leaves is neither kept nor read`(
            key: String
        ) async throws {
            let service = try await SmallSecretService([.late])
            var probe = try service.probe()
            try await service.tell(key)
            try await probe.expect("create a", "applied untilPowerLoss")
            for command in ["put a two", "create b", "put a three"] {
                probe = try service.probe()
                try await service.tell(key)
                try await probe.expect(command, "applied untilPowerLoss")
            }
            probe = try service.probe()
            try await service.tell(key)
            try await probe.expect("get a", "value three")
            #expect(try await service.items().allSatisfy { $0.secret.hasPrefix("LD1:") })
            #expect(try await service.items().count == 2)
        }
    }
#endif
