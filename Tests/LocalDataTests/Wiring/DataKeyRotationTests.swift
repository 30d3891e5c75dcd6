#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import LocalDataBackup
    import Synchronization
    import TestSupport
    import Testing

    /// A rotation replaces the data key of a database (the key that encrypts its rows) while programs use the database.
    /// A vault is an encrypted database that replaces the keyring.
    @Suite(.inTurn) struct DataKeyRotationTests {
        private let stage: Stage

        init() throws { stage = try Stage() }

        private func launch() -> StorageRouter { stage.launch { $0.keychain = .sealedVault(.configured) } }

        @Test(arguments: [StorageDomain.encryptedSQLite(database: "main"), .keychain])
        func `after a rotation, all programs continue with the new data key of a database or vault`(_ domain: StorageDomain) async throws {
            let router = launch()
            let keys = (0..<5).map { textKey("key \($0)", domain) }
            for key in keys { try await router.set("value of \(key.name)", for: key) }
            let recovery = try await router.addRecoveryKey(to: domain)
            let other = launch()
            #expect(try await other.get(keys[0]) == "value of key 0")
            let steps = Mutex<[KeyRotationProgress]>([])
            #expect(try await router.rotateDataKey(of: domain) { step in steps.withLock { $0.append(step) } } == 5)
            #expect(steps.withLock { $0.last.map { [$0.done, $0.total] } } == [5, 5])
            for router in [router, other, launch()] {
                for key in keys { #expect(try await router.get(key) == "value of \(key.name)") }
            }
            try await other.set("new", for: keys[1])
            #expect(try await router.get(keys[1]) == "new")
            try await router.shutdown()
            try await other.shutdown()
            try FileManager.default.removeItem(atPath: stage.root.path + "/data/sealing-key")
            let recovered = launch()
            try await recovered.recover(domain, with: recovery)
            #expect(try await recovered.get(keys[1]) == "new")
        }

        @Test func `after a rotation, the copy that a release window keeps at the legacy location causes no conflict`() async throws {
            let old = textKey("old", .encryptedSQLite(database: "main"))
            let router = launch()
            try await router.set("first", for: old)
            let new = textKey("new", .encryptedSQLite(database: "other")).moved(from: old, keeping: .until(version: "9"))
            #expect(try await router.get(new) == "first")
            try await router.set("second", for: new)
            for domain in [old.domain, new.domain] { #expect(try await router.rotateDataKey(of: domain) > 0) }
            #expect(try await launch().get(new) == "second")
            #expect(try await launch().get(old) == "second")
            try await launch().set("third", for: new)
            #expect(try await launch().get(old) == "third")
            #expect(try await launch().quarantine.values().isEmpty)
        }

        @Test func `a rotation is refused for a domain without a data key, a missing database and a locked router`() async throws {
            let router = launch()
            for (domain, code) in [
                (StorageDomain.userDefaults(suite: "list"), StorageError.unsupported),
                (.encryptedSQLite(database: "none"), StorageError.unavailable),
            ] {
                let error = await #expect(throws: StorageError.self) { try await router.rotateDataKey(of: domain) }
                #expect(error?.code == code, "\(String(describing: error))")
            }
            try await router.lock()
            let error = await #expect(throws: StorageError.self) { try await router.rotateDataKey(of: .encryptedSQLite(database: "none")) }
            #expect(error?.code == StorageError.locked)
        }
    }
#endif
