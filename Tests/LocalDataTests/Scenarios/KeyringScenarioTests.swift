#if Keyring
    import BackendContract
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// Migrations, observation and locking with real stores: a property list and a keyring. A sweep migrates all values
    /// of a catalog.
    @Suite(.inTurn, .slow("starts programs"), .tags(.scenario, .keyring)) struct KeyringScenarioTests {
        func legacy(_ name: String = "old_key_name") -> StorageKey<String> {
            StorageKey(name: name, domain: .userDefaults(suite: nil), security: .none, owner: "Tests", description: "The old token")
        }

        func modern(_ stage: Stage) -> StorageKey<String> {
            StorageKey(name: "modern_token", domain: .keychain(service: stage.service), owner: "Tests", description: "The token").moved(
                from: legacy())
        }

        @Test func `get moves a value from the property list into the keyring`() async throws {
            let stage = try Stage(keyring: true)
            let router = stage.launch()
            // A long token, because the random names and digests in other files may contain a short one by chance.
            let token = "abc, and nothing else looks like this"
            try await router.set(token, for: legacy())
            #expect(try stage.propertyList()["old_key_name"] as? String == token)

            #expect(try await router.get(modern(stage)) == token)

            #expect(try stage.propertyList()["old_key_name"] == nil)
            #expect(try await router.exists(modern(stage)))
            let seen = try await run(
                "secret-tool", ["search", "service", stage.service], environment: try #require(stage.keyring).environment)
            #expect(seen.stdout.contains("modern_token") || seen.stderr.contains("modern_token"))
            #expect(try stage.traces(of: token).isEmpty)
            // A second get does not read the legacy location: a value that an old program writes there now is ignored.
            try await router.set("from an old program", for: legacy())
            #expect(try await router.get(modern(stage)) == token)
        }

        @Test func `a native string of UserDefaults is read unchanged`() async throws {
            let stage = try Stage(keyring: true)
            try stage.writePropertyList(["old_key_name": "\"quoted\" & <native>", "other": 7])
            #expect(try await stage.launch().get(modern(stage)) == "\"quoted\" & <native>")
            #expect(try stage.propertyList()["old_key_name"] == nil)
            #expect(try stage.propertyList()["other"] as? Int == 7)
        }

        @Test func `a string that another process stored with UserDefaults is moved into the keyring`() async throws {
            let stage = try Stage(keyring: true)
            try FileManager.default.createDirectory(atPath: stage.preferences, withIntermediateDirectories: true)
            var environment = ProcessInfo.processInfo.environment
            environment["XDG_CONFIG_HOME"] = stage.preferences
            #expect(try await stage.worker(environment).run("foundation", "old_key_name", "abc") == "done")
            try #require(try stage.propertyList()["old_key_name"] as? String == "abc")
            let router = stage.launch()
            #expect(try await router.get(modern(stage)) == "abc")
            #expect(try stage.propertyList()["old_key_name"] == nil)
            #expect(try await router.exists(modern(stage)))
        }

        @Test func `if the keyring and the legacy location have a value, get returns the keyring value and keeps the other`() async throws {
            let stage = try Stage(keyring: true)
            let router = stage.launch()
            try await router.set("modern", for: modern(stage))
            try await router.set("legacy", for: legacy())
            #expect(try await router.get(modern(stage)) == "modern")
            #expect(try await router.get(legacy()) == "legacy")
        }

        @Test(.timeLimit(.minutes(2))) func `observers receive every change of a value in the keyring once`() async throws {
            let stage = try Stage(keyring: true)
            let key = StorageKey<String>(
                name: "watched", domain: .keychain(service: stage.service), owner: "Tests", description: "A token that two programs use")
            // The two routers share only the keyring, like two processes.
            let (router, other) = (stage.launch(), stage.launch())
            var values = router.values(for: key).makeAsyncIterator()
            #expect(try await values.next() == .some(nil))
            try await other.set("one", for: key)
            #expect(try await values.next() == "one")
            try await other.set("two", for: key)
            #expect(try await values.next() == "two")
            try await router.set("own", for: key)
            #expect(try await values.next() == "own")
            try await other.remove(key)
            #expect(try await values.next() == .some(nil))
            try await other.set("again", for: key)
            #expect(try await values.next() == "again")
            try await router.shutdown()
            try await other.shutdown()
        }

        @Test func `while the keyring is locked the legacy value stays, and after unlocking it moves`() async throws {
            let stage = try Stage()
            let keyring = try PrivateKeyring(.unlocked)
            let worker = try stage.worker(keyring.environment)
            _ = try await worker.run("seed", "old_key_name", "precious")
            try keyring.lock()
            let refused = try await worker.run("get")
            #expect(refused.contains("locked"), "\(refused)")
            #expect(try stage.propertyList()["old_key_name"] as? String == "precious")
            try keyring.unlock()
            #expect(try await worker.run("get") == "value precious")
            #expect(try stage.propertyList()["old_key_name"] == nil)
        }

        @Test func `a sweep is blocked while the keyring is locked, and the next sweep after unlocking completes`() async throws {
            let stage = try Stage()
            let keyring = try PrivateKeyring(.unlocked)
            let worker = try stage.worker(keyring.environment)
            _ = try await worker.run("seed", "old_key_name", "precious")
            try keyring.lock()
            #expect(try await worker.run("status") == "locked")
            let report = try await worker.run("launch")
            #expect(report == "moved 0 blocked 1 failed 0 complete no: locked", "\(report)")
            try keyring.unlock()
            #expect(try await worker.run("launch") == "moved 1 blocked 0 failed 0 complete yes")
            #expect(try await worker.run("get") == "value precious")
        }
    }
#endif
