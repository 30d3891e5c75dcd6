import BackendContract
import Foundation
import LocalData
import LocalDataBackup
import TestSupport
import Testing

/// Hostile names, damaged files, wrong permissions and failing keyrings, on real stores.
///
/// Each causes a typed error with a remedy, and leaves all stored data unchanged. A legacy value is a value that an
/// earlier version of the program stored at another location.
///
/// To set a damaged file aside is to move it to the quarantine, the store for displaced data. A sealed value is
/// encrypted with a sealing key. The ledger, a file with notes about past work, records the sealing keys that were
/// used.
@Suite(.inTurn) struct BadInputTests {
    let secret = "correct-horse-battery-staple"

    func key(_ name: String, _ domain: StorageDomain = .userDefaults) -> StorageKey<String> {
        StorageKey(name: name, domain: domain, owner: "Tests", description: "A value")
    }

    // MARK: Names

    @Test func `a hostile name of a value is refused or stored exactly, and other values stay unchanged`() async throws {
        #if Keyring
            let (stage, domains) = (try Stage(keyring: true), [StorageDomain.userDefaults, .keychain])
        #else
            let (stage, domains) = (try Stage(), [StorageDomain.userDefaults])
        #endif
        let router = stage.launch()
        let names = [
            "", "../x", "/etc/passwd", "a\0b", "a\nb", String(repeating: "x", count: 10_000), "🦜", "caf\u{E9}", "cafe\u{301}", ".",
            "LocalData",
        ]
        for domain in domains {
            try await router.set("neighbour", for: key("neighbour", domain))
            for name in names {
                let key = key(name, domain)
                do {
                    try await router.set(secret, for: key)
                    #expect(try await stage.launch().get(key) == secret, "\(name.debugDescription) in \(domain)")
                    try await router.remove(key)
                } catch let error as StorageError {
                    #expect([StorageError.invalidName, StorageError.tooLarge].contains(error.code), "\(error)")
                    await expectRefusal(StorageError.invalidName, StorageError.tooLarge, hiding: [secret]) { _ = try await router.get(key) }
                }
            }
            #expect(try await router.get(key("neighbour", domain)) == "neighbour")
        }
        for refused in ["", "a\0b", "a\nb", String(repeating: "x", count: 10_000)] {
            await expectRefusal(StorageError.invalidName) { try await router.set(secret, for: key(refused)) }
        }
        #expect(try stage.traces(of: secret).isEmpty)
    }

    @Test func `two names that differ only in Unicode normalization never mean the same value`() async throws {
        let stage = try Stage()
        let router = stage.launch()
        try await router.set("composed", for: key("caf\u{E9}"))
        await expectRefusal(StorageError.invalidName) { try await router.set("decomposed", for: key("cafe\u{301}")) }
        #expect(try await router.get(key("caf\u{E9}")) == "composed")
    }

    @Test(arguments: [
        "../x", "/etc/passwd", "a/b", "", ".", "..", "~", "file:x", "a\0b", "a\nb", "cafe\u{301}", String(repeating: "x", count: 300),
    ])
    func `a hostile suite name of user defaults is refused, and no file is created`(suite: String) async throws {
        let stage = try Stage()
        let router = stage.launch()
        try await router.set("neighbour", for: key("neighbour"))
        try await router.set("composed", for: key("a", .userDefaults(suite: "caf\u{E9}")))
        let before = try FileManager.default.subpathsOfDirectory(atPath: stage.directory.path).sorted()
        let hostile = key("a", .userDefaults(suite: suite))
        await expectRefusal(StorageError.invalidName, hiding: [secret]) { try await router.set(secret, for: hostile) }
        await expectRefusal(StorageError.invalidName) { _ = try await router.value(for: hostile) }
        await expectRefusal(StorageError.invalidName) { try await router.remove(hostile) }
        await expectRefusal(StorageError.invalidName) { _ = try await router.value(for: key("b").moved(from: hostile)) }
        #expect(try FileManager.default.subpathsOfDirectory(atPath: stage.directory.path).sorted() == before)
        #expect(try await router.get(key("neighbour")) == "neighbour")
    }

    // MARK: Permissions

    private func permit(_ path: String, _ mode: Int) throws {
        try setPermissions(mode, of: path)
    }

    @Test func `a folder that cannot be entered is an error and not an empty store`() async throws {
        let stage = try Stage()
        try await stage.launch().set(secret, for: key("a", .userDefaults(suite: "shared")))
        let nobody = try stage.workerAsNobody()
        for command in ["read shared a", "write shared a x", "read other a", "write other a x"] {
            let answer = try await nobody.ask(command)
            #expect(answer.contains("accessDenied"), "\(command): \(answer)")
            #expect(!answer.contains(secret))
        }
        #expect(try await stage.launch().get(key("a", .userDefaults(suite: "shared"))) == secret)
    }

    @Test func `an unreadable file is an error, and a read-only file can be read`() async throws {
        let stage = try Stage()
        let value = key("a", .userDefaults(suite: "shared"))
        try await stage.launch().set(secret, for: value)
        for folder in [stage.directory.path, stage.root.path, stage.preferences] { try permit(folder, 0o755) }
        let nobody = try stage.workerAsNobody()
        for command in ["read shared a", "write shared a x"] {
            let answer = try await nobody.ask(command)
            #expect(answer.contains("accessDenied"), "\(command): \(answer)")
        }
        try permit(stage.preferences + "/shared.plist", 0o644)
        #expect(try await nobody.ask("read shared a") == "value \(secret)")
        let refused = try await nobody.ask("write shared a x")
        #expect(refused.contains("accessDenied"), "\(refused)")
        #expect(!refused.contains(secret))
        #expect(try await nobody.ask("read shared a") == "value \(secret)")
        #expect(try await stage.launch().get(value) == secret)
    }

    // MARK: Damaged property lists

    @Test(arguments: ["garbage", "<?xml version=\"1.0\"?><plist><dict><key>a</key>", "bplist00garbage", "<plist><array/></plist>"])
    func `a damaged property list is reported and stays unchanged until the caller sets it aside`(damage: String) async throws {
        let stage = try Stage()
        try await stage.launch().set(secret, for: key("a"))
        let path = stage.preferences + "/standard.plist"
        let damaged = Data((damage + secret).utf8)
        try damaged.write(to: URL(fileURLWithPath: path))
        let router = stage.launch()
        let moving = key("a", .userDefaults(suite: "modern")).moved(from: key("a"))
        for body: () async throws -> Void in [
            { _ = try await router.get(key("a")) }, { _ = try await router.value(for: key("other")) },
            { try await router.set("x", for: key("a")) },
            { try await router.remove(key("a")) }, { _ = try await router.exists(key("a")) },
            { _ = try await router.names(of: .userDefaults) },
            { _ = try await router.get(moving) },
        ] {
            await expectRefusal(StorageError.corrupted, hiding: [secret], body: body)
        }
        #expect(FileManager.default.contents(atPath: path) == damaged)
        let kept = try await router.setAsideDamagedStore(of: .userDefaults)
        #expect(FileManager.default.contents(atPath: kept) == damaged)
        #expect(try await router.value(for: key("a")) == nil)
        try await router.set("new", for: key("a"))
        #expect(try await stage.launch().get(key("a")) == "new")
    }

    @Test func `a damaged property list that was set aside is in quarantine and can be purged`() async throws {
        let stage = try Stage()
        try FileManager.default.createDirectory(atPath: stage.preferences, withIntermediateDirectories: true)
        let damaged = Data("<plist><dict><key>\(secret)".utf8)
        try damaged.write(to: URL(fileURLWithPath: stage.preferences + "/broken-list.plist"))
        let router = stage.launch()
        let broken = StorageDomain.userDefaults(suite: "broken-list")
        await expectRefusal(StorageError.corrupted, hiding: [secret]) { _ = try await router.get(key("a", broken)) }
        let kept = try await router.setAsideDamagedStore(of: broken)
        let entries = try await stage.launch().quarantine.values()
        #expect(entries.map(\.place) == ["\(broken)"] && entries.allSatisfy { !$0.isSealed && $0.key.isEmpty })
        let entry = try #require(entries.first)
        #expect(try await router.audit().quarantine.map(\.id) == [entry.id])
        #expect(try await router.quarantine.data(of: entry) == damaged)
        // Other files in the quarantine folder are not listed.
        for name in ["note.plist", ".x-00112233445566778899aabbccddeeff.plist", "x-00112233445566778899aabbccddeeff.txt"] {
            try writeFile([1], to: stage.root.path + "/data/quarantine/" + name)
        }
        #expect(try await router.quarantine.values().map(\.id) == [entry.id])
        try await router.quarantine.purge(entry)
        #expect(try await router.quarantine.values().isEmpty)
        #expect(!FileManager.default.fileExists(atPath: kept))
        #expect(try stage.traces(of: secret).isEmpty)
        await expectRefusal(StorageError.notFound) { _ = try await router.quarantine.data(of: entry) }
    }

    // MARK: Sealing keys

    private func sealed(_ name: String, suite: String = "sealed") -> StorageKey<String> {
        StorageKey(name: name, domain: .userDefaults(suite: suite), security: .encrypted, owner: "Tests", description: "A sealed value")
    }

    @Test(arguments: [true, false])
    func `a key file that is wrong, damaged or readable by others is refused, and the right file opens the values again`(
        hasLedger: Bool
    ) async throws {
        let stage = try Stage()
        try await stage.launch().set(secret, for: sealed("a"))
        let keyFile = stage.root.path + "/data/sealing-key"
        let right = try String(contentsOfFile: keyFile, encoding: .utf8)
        let material = String(right.split(separator: " ").last?.dropLast() ?? "")
        let stored = FileManager.default.contents(atPath: stage.preferences + "/sealed.plist")
        // The ledger may be missing, because it need not be backed up. So this test also runs without the ledger.
        if !hasLedger { try FileManager.default.removeItem(atPath: stage.root.path + "/state") }
        let other = try Stage()
        try await other.launch().set("x", for: sealed("a"))
        let wrong = try String(contentsOfFile: other.root.path + "/data/sealing-key", encoding: .utf8)
        let forms: [(String, Int, StorageError.Code)] = [
            (wrong, 0o600, StorageError.encryptionKeyMismatch), ("garbage", 0o600, StorageError.encryptionKeyMismatch),
            (String(right.prefix(40)), 0o600, StorageError.encryptionKeyMismatch), ("", 0o600, StorageError.encryptionKeyMismatch),
            (right, 0o644, StorageError.accessDenied),
        ]
        for (text, mode, code) in forms {
            try text.write(toFile: keyFile, atomically: false, encoding: .utf8)
            try permit(keyFile, mode)
            let router = stage.launch()
            await expectRefusal(code, hiding: [secret, material]) { _ = try await router.get(sealed("a")) }
            await expectRefusal(code, hiding: [secret, material]) { try await router.set("new", for: sealed("b")) }
            #expect(try String(contentsOfFile: keyFile, encoding: .utf8) == text)
            #expect(try await !stage.launch().exists(sealed("b")))
        }
        try right.write(toFile: keyFile, atomically: false, encoding: .utf8)
        try permit(keyFile, 0o600)
        #expect(FileManager.default.contents(atPath: stage.preferences + "/sealed.plist") == stored)
        #expect(try await stage.launch().get(sealed("a")) == secret)
    }

    @Test(arguments: [true, false])
    func `a missing sealing key is not replaced by a new key while values exist that are sealed with it`(hasLedger: Bool) async throws {
        let stage = try Stage()
        try await stage.launch().set(secret, for: sealed("a"))
        let keyFile = stage.root.path + "/data/sealing-key"
        let right = try String(contentsOfFile: keyFile, encoding: .utf8)
        try FileManager.default.removeItem(atPath: keyFile)
        if !hasLedger { try FileManager.default.removeItem(atPath: stage.root.path + "/state") }
        let router = stage.launch()
        for body: () async throws -> Void in [
            { _ = try await router.get(sealed("a")) }, { try await router.set("new", for: sealed("a")) },
            { try await router.set("new", for: sealed("b")) },
            { try await router.update(sealed("a")) { $0 = "new" } },
        ] {
            await expectRefusal(StorageError.encryptionKeyMissing, hiding: [secret], body: body)
            #expect(!FileManager.default.fileExists(atPath: keyFile))
        }
        try right.write(toFile: keyFile, atomically: false, encoding: .utf8)
        try permit(keyFile, 0o600)
        #expect(try await stage.launch().get(sealed("a")) == secret)
    }

    @Test func `one store can have values that are sealed with two keys, even if the ledger is missing`() async throws {
        let stage = try Stage()
        func keyed(_ name: String, by file: String) -> StorageKey<String> {
            StorageKey(
                name: name, domain: .userDefaults(suite: "sealed"), security: .encrypted(.keyFile(stage.directory.file(file))),
                owner: "Tests",
                description: "A sealed value")
        }
        try await stage.launch().set(secret, for: keyed("a", by: "one"))
        try await stage.launch().set(secret, for: keyed("b", by: "two"))
        let resealed = keyed("a", by: "two").moved(from: keyed("a", by: "one"))
        try FileManager.default.removeItem(atPath: stage.root.path + "/state")
        let router = stage.launch()
        try await router.set(secret, for: keyed("c", by: "one"))
        #expect(try await router.get(resealed) == secret)
        #expect(try await router.get(keyed("b", by: "two")) == secret)
        #expect(try await stage.launch().get(keyed("a", by: "two")) == secret)
    }

    @Test func `two processes that create a key at the same time use the same key`() async throws {
        for _ in 0..<10 {
            let stage = try Stage()
            let workers = [try stage.worker(), try stage.worker()]
            for worker in workers { _ = try await worker.run("status") }
            async let first = workers[0].run("seal", "a", "first")
            async let second = workers[1].run("seal", "b", "second")
            #expect(try await [first, second] == ["done", "done"])
            let router = stage.launch()
            #expect(try await router.get(sealed("a")) == "first")
            #expect(try await router.get(sealed("b")) == "second")
            #expect(try FileManager.default.contentsOfDirectory(atPath: stage.root.path + "/data") == ["sealing-key"])
        }
    }

    #if Keyring
        // MARK: Keyrings

        @Test(.timeLimit(.minutes(5)))
        func `without a session bus, a move to the keyring fails at once, and the legacy value stays`() async throws {
            let stage = try Stage()
            let keyring = try PrivateKeyring(.noDaemon)
            var environment = keyring.environment
            environment["DBUS_SESSION_BUS_ADDRESS"] = nil
            environment["XDG_RUNTIME_DIR"] = try TemporaryDirectory().path
            // A move that waited for its deadline would exceed the time limit of this test.
            environment["WORKER_KEYRING_DEADLINE"] = "600000"
            let worker = try stage.worker(environment)
            _ = try await worker.run("seed", "old_key_name", secret)
            let answer = try await worker.run("get")
            #expect(answer.contains("unavailable"), "\(answer)")
            #expect(!answer.contains(secret))
            #expect(try stage.propertyList()["old_key_name"] as? String == secret)
        }

        @Test func `a keyring without encrypted transport gets no value unless the program allows it`()
            async throws
        {
            let stage = try Stage()
            let service = try await SmallSecretService([.plain])
            let worker = try stage.worker(service.keyring.environment)
            _ = try await worker.run("seed", "old_key_name", secret)
            let answer = try await worker.run("get")
            #expect(answer.contains("untrusted") && answer.contains("allowsUnencryptedKeychainTransport"), "\(answer)")
            #expect(!answer.contains(secret))
            #expect(try stage.propertyList()["old_key_name"] as? String == secret)
            #expect(try await service.items().isEmpty)
            var environment = service.keyring.environment
            environment["WORKER_PLAIN_TRANSPORT"] = "1"
            #expect(try await stage.worker(environment).run("get") == "value \(secret)")
            #expect(try await service.items().count > 0)
        }

        @Test func `a move to a keyring that does not answer fails at the deadline, and the legacy value stays`() async throws {
            let stage = try Stage()
            let keyring = try PrivateKeyring(.unlocked)
            var environment = keyring.environment
            environment["WORKER_KEYRING_DEADLINE"] = "1500"
            let worker = try stage.worker(environment)
            _ = try await worker.run("seed", "old_key_name", secret)
            keyring.stopDaemon()
            let start = ContinuousClock.now
            let answer = try await worker.run("get")
            let elapsed = ContinuousClock.now - start
            #expect(answer.contains("timedOut"), "\(answer)")
            #expect(elapsed > .seconds(1), "\(elapsed)")
            #expect(try stage.propertyList()["old_key_name"] as? String == secret)
            keyring.continueDaemon()
            // This worker, a separate program of the tests, has the default deadline. So the test also succeeds on a
            // slow machine.
            #expect(try await stage.worker(keyring.environment).run("get") == "value \(secret)")
            #expect(try stage.propertyList()["old_key_name"] == nil)
        }
    #endif
}
