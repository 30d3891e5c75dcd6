#if Keyring && os(Linux)
    import TestSupport
    import Testing

    /// Tests of behaviour in which other services differ from gnome-keyring.
    /// A simulated Secret Service reproduces that behaviour. A worker process, the probe, makes the calls.
    /// Tests with a `ProbeFixture` use a real gnome-keyring instead.
    @Suite(.slow("uses a real keyring"), .inTurn, .timeLimit(.minutes(5)), .tags(.keyring, .process))
    struct SmallServiceTests {
        // MARK: Prompts

        @Test func `a store works if every change needs a prompt and items have extra attributes`() async throws {
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

        @Test func `a change whose prompt the user closes is reported as locked, and nothing is changed`() async throws {
            let service = try await SmallSecretService([.prompts, .closes])
            let probe = try service.probe()
            let attributes = ["application": "LocalData", "service": "probe", "namespace": "values", "account": "a"]
            _ = try await service.add("theirs", attributes)
            try await probe.expect("delete a", "locked")
            try await probe.expect("create b", "locked")
            #expect(try await service.items().map(\.secret) == ["theirs"])
        }

        @Test func `a change fails if the service exits with its prompt open, and the next call gets an answer`() async throws {
            let service = try await SmallSecretService([.prompts, .dies])
            let probe = try service.probe()
            try await probe.expect("create a", "failed unavailable unknown")
            try await probe.expect("create a", "failed unavailable notApplied")
            try await service.start()
            try await probe.expect("get a", "absent")
        }

        @Test func `an unlock fails if the service exits with its prompt open, and the next unlock succeeds`() async throws {
            let service = try await SmallSecretService([.dies])
            let probe = try service.probe()
            try await service.tell("lock main")
            try await probe.expect("unlock", "threw unavailable notApplied")
            try await service.start()
            try await probe.expect("unlock", "unlocked")
            try await probe.expect("put a one", "applied untilPowerLoss")
        }

        @Test func `an item in another collection than the default one is reported as locked until that collection is unlocked`()
            async throws
        {
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

        @Test func `beside a locked collection that is not the default one, all readable names are listed`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            try await probe.expect("put b one", "applied untilPowerLoss")
            let attributes = ["application": "LocalData", "service": "probe", "namespace": "values", "account": "a"]
            _ = try await service.add("theirs", attributes, in: "other")
            try await service.tell("lock other")
            try await probe.expect("names", "names [\"a\", \"b\"] nameless 0")
            try await probe.expect("get a", "locked")
            // The list that other parts rely on stays complete or refused.
            try await probe.expect("list", "threw locked notApplied")
            try await service.tell("lock main")
            try await probe.expect("names", "threw locked notApplied")
        }

        @Test func `a record in an item with further attributes is not read from a service that is not gnome-keyring`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            try await probe.expect("put a one", "applied untilPowerLoss")
            let record = try #require(try await service.items().first)
            var attributes = record.attributes
            attributes["account"] = "b"
            attributes["further"] = "1"
            _ = try await service.add(record.secret, attributes)
            try await probe.expect("get b", "absent")
            try await probe.expect("get a", "value one")
        }

        @Test func `a service that would prompt during a search is not searched while it is locked`() async throws {
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

        @Test func `another program that adds, changes or removes an item causes a notification without polling`() async throws {
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

        @Test func `changes in a locked keyring are reported after it is unlocked`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            try await probe.expect("watch", "watching")
            try await service.tell("lock main")
            async let change = probe.ask("change")
            _ = try await service.add("theirs", ["any": "thing"])
            // The store learns of the change, but reports none while the keyring is locked.
            // Wait until it has asked the service for the state of the keyring.
            while try await service.calls("ReadAlias") < 3 { try await Task.sleep(for: .milliseconds(5)) }
            try await service.tell("unlock main")
            let answer = try await change
            #expect(answer.outcome == "changed" && (answer.number("ms") ?? 0) > 0, "\(answer)")
        }

        @Test func `changes by other programs in gnome-keyring are reported, even after it was restarted and unlocked`() async throws {
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

        @Test func `after the bus was restarted, a store reports changes by other programs again once a call has reached the bus`()
            async throws
        {
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

        @Test func `a value with a NUL byte is kept whole by a service that cuts texts at NUL`() async throws {
            let service = try await SmallSecretService([.cut])
            let probe = try service.probe()
            try await probe.expect("put-hex a 610062", "applied untilPowerLoss")
            try await probe.expect("get a", "value a\0b")
        }

        @Test func `a write whose value cannot be read back for verification has an unknown outcome`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            try await service.tell("fail GetSecrets")
            try await probe.expect("create a", "failed failed unknown")
            try await probe.expect("get a", "value \u{1}")
        }

        // MARK: Transport

        @Test func `a service without encrypted transport gets no secrets unless that is allowed explicitly`() async throws {
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

        @Test func `the description of a keyring names the service, the collection and the transport, even if the transport is refused`()
            async throws
        {
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
        func `a session that the service lost is opened again, and nothing is written twice`(
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
            // KWallet creates the item before it looks up the session. The lost session therefore leaves an empty item.
            try await service.tell("sessions")
            try await probe.expect("create b", "applied untilPowerLoss")
            try await probe.expect("list", "list [\"a\", \"b\"]")
            try await service.tell("sessions")
            try await probe.expect("delete a", "applied untilPowerLoss")
            try await probe.expect("get a", "absent")
            #expect(try await service.items().count == 1)
        }

        @Test func `setting all values aside and restoring them makes no duplicates, even if the service loses its sessions`() async throws
        {
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
        func `no item of another program is lost if the service restarts and renumbers its items between a read and a change`(
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

        @Test func `the precondition of a change is checked again if the service restarts during the change`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            try await service.tell("restart SearchItems")
            try await probe.expect("create a", "applied untilPowerLoss")
            try await service.tell("restart GetSecrets")
            try await probe.expect("create a", "conflict value \u{1}")
            #expect(try await service.items().count == 1)
        }

        @Test func `a service that gives up its bus name while it still runs gets no more calls`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            try await probe.expect("put a one", "applied untilPowerLoss")
            try await service.tell("leave GetSecrets")
            try await probe.expect("get a", "value one")
            // The signal about the name arrives a moment after the service has left it.
            while try await probe.ask("get a").outcome == "value one" {}
            try await probe.expect("get a", "unavailable unavailable")
            try await probe.expect("delete a", "failed unavailable notApplied")
            #expect(try await service.items().count == 1)
            try await service.start()
            try await probe.expect("get a", "absent")
        }

        @Test func `opening an encrypted session is retried once`() async throws {
            let service = try await SmallSecretService()
            let probe = try service.probe()
            try await service.tell("fail OpenSession")
            try await probe.expect("put a one", "applied untilPowerLoss")
            let other = try service.probe()
            try await service.tell("fail OpenSession")
            try await other.expect("get a", "value one")
        }

        @Test(arguments: ["wrong", "noise"])
        func `a value that was corrupted by a session with a wrong encryption key is neither kept nor read`(
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
