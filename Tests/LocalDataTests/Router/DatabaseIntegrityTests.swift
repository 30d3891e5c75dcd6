#if SQLite
    import MemoryBackend
    import BackendContract
    import Foundation
    import LocalData
    import LocalDataBackup
    import TestSupport
    import Testing

    /// Integrity checks of whole databases, and the refusal of older files, through the router.
    ///
    /// A freshness anchor is a record of a database's latest state, stored outside the database file. A vault is an
    /// encrypted database that replaces the keyring.
    @Suite(.inTurn) struct DatabaseIntegrityTests {
        private let stage: Stage
        private let main = StorageDomain.encryptedSQLite(database: "main")
        private let name = textKey("name", .encryptedSQLite(database: "main"))
        private let keyring = InMemoryStore()

        init() throws { stage = try Stage() }

        private var path: String { stage.path(ofDatabase: "main") }

        @Test func `an older vault is refused if the configuration names a freshness anchor for its service`() async throws {
            let key = textKey("name", .keychain)
            let vault = stage.root.path + "/data/vaults/v-\(stage.service).sqlite"
            func launch(_ place: FreshnessAnchorPlace? = nil) -> StorageRouter {
                stage.launch {
                    $0.keychain = .sealedVault(.configured)
                    $0.vaultFreshnessAnchors[$0.applicationID] = place ?? .file(stage.root.appending(path: "elsewhere/anchor").path)
                }
            }
            let router = launch()
            try await router.set("1", for: key)
            try await router.shutdown()
            let saved = try Data(contentsOf: URL(filePath: vault))
            let again = launch()
            try await again.remove(key)
            try await again.shutdown()
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: vault + suffix) }
            try writeFile(saved, to: vault)
            let refused = launch()
            await expectRefusal(.rolledBack) { _ = try await refused.get(key) }
            await expectRefusal(.rolledBack) { try await refused.set("3", for: key) }
            try await refused.acceptOlderFile(of: .keychain)
            #expect(try await refused.get(key) == "1")
            try await refused.shutdown()
            // The vault replaces the keyring, so there is no keyring that could store the anchor of the vault.
            let unwired = launch(.keychain())
            await expectRefusal(.unavailable, saying: "vaultFreshnessAnchors") { _ = try await unwired.get(key) }
            try await unwired.shutdown()
        }

        private func restore(_ saved: Data) throws {
            for suffix in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + suffix) }
            try writeFile(saved, to: path)
        }

        @Test func `a removed row is detected, and the remaining contents can be accepted`() async throws {
            let router = stage.launch()
            #expect(try await router.verifyIntegrity(of: main) == nil)
            for number in 0..<3 { try await router.set("\(number)", for: textKey("\(number)", main)) }
            let sound = try #require(try await router.verifyIntegrity(of: main))
            #expect(sound.isSound && sound.rows == 3 && sound.commits == 3)
            try await router.shutdown()
            try PlainDatabase(path: path).execute("DELETE FROM records WHERE id = (SELECT min(id) FROM records)")
            let later = stage.launch()
            let report = try #require(try await later.verifyIntegrity(of: main) { #expect($0.checked <= $0.total) })
            #expect(!report.isSound && report.rows == 2 && report.expectedRows == 3 && !report.areRowsWhole)
            try await later.acceptContents(of: main)
            #expect(try await later.verifyIntegrity(of: main)?.isSound == true)
            await expectRefusal(.unsupported) { _ = try await later.verifyIntegrity(of: .userDefaults(suite: "plain")) }
            await expectRefusal(.unsupported) { try await later.acceptOlderFile(of: main) }
            try await later.shutdown()
        }

        @Test(arguments: [true, false]) func `an older file is refused if the configuration names a freshness anchor`(
            inKeyring: Bool
        ) async throws {
            func launch() -> StorageRouter {
                stage.launch {
                    $0.freshnessAnchors["main"] = inKeyring ? .keychain() : .file(stage.root.appending(path: "elsewhere/anchor").path)
                    $0.useBackend(for: .keychain) { _ in keyring }
                }
            }
            let router = launch()
            try await router.set("1", for: name)
            try await router.shutdown()
            let saved = try Data(contentsOf: URL(filePath: path))
            let again = launch()
            try await again.set("2", for: name)
            try await again.remove(name)
            try await again.shutdown()
            // Restore the older file. The removed value must not return.
            try restore(saved)
            let refused = launch()
            await expectRefusal(.rolledBack) { _ = try await refused.get(name) }
            await expectRefusal(.rolledBack) { try await refused.set("3", for: name) }
            await expectRefusal(.rolledBack) { _ = try await refused.exists(name) }
            if case .ready = await refused.status(of: main) { Issue.record("an older file is ready") }
            #expect(try Data(contentsOf: URL(filePath: path)) == saved)
            try await refused.acceptOlderFile(of: main)
            #expect(try await refused.get(name) == "1")
            try await refused.shutdown()
            let last = launch()
            #expect(try await last.get(name) == "1")
            #expect(try await last.verifyIntegrity(of: main)?.commits == 4)
            try await last.shutdown()
        }
    }
#endif
