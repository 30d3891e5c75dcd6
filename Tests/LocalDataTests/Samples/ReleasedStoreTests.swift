#if SQLite
    import Foundation
    import LocalData
    import LocalDataBackup
    import LocalDataTesting
    import TestSupport
    import Testing

    /// Stores that a release of this library wrote. Each later state of the library opens them.
    ///
    /// `LOCALDATA_RECORD=1 Scripts/test --filter ReleasedStoreTests` records a release: a golden store in `Fixtures/Releases`
    /// and a backup in `Fixtures/Backups`. It changes no release that is recorded. `0.1` was recorded before the first
    /// release.
    @Suite(.inTurn) struct ReleasedStoreTests {
        private static let release = "0.1.0"
        private static let releases = "../Fixtures/Releases"
        /// Opens the database `private` and the backup. It is public: for tests only.
        private static let passphrase = "the passphrase of the golden stores"

        struct Keys: StorageKeyCatalog {
            var allKeys: [AnyStorageKey]
            init(_ keys: AnyStorageKey...) { allKeys = keys }
        }

        struct Note: Codable, Hashable {
            var title: String
            var stars: Int?
        }
        struct Heading: Codable, Hashable { var heading: String }
        struct Person: Codable, Identifiable {
            var id: String
            var age: Int
        }

        struct Human: Codable, Identifiable {
            var id: String
            var age: Int
        }

        private func key<Value>(
            _ name: String, _ domain: StorageDomain = .userDefaults, _ type: Value.Type = Value.self, security: SecurityPolicy = .automatic
        ) -> StorageKey<Value> {
            StorageKey(name: name, domain: domain, security: security, owner: "Tests", description: "A value")
        }

        private let database = StorageDomain.encryptedSQLite(database: "main")

        /// The keys of a program of the first release, with values of every kind.
        private var keys: Keys {
            Keys(
                .key(key("text", .userDefaults, String.self)), .key(key("number", .userDefaults, Int.self)),
                .key(key("real", .userDefaults, Double.self)), .key(key("date", .userDefaults, Date.self)),
                .key(key("note", .userDefaults, Note.self)), .key(listed),
                .key(key("sealed", .userDefaults, String.self, security: .encrypted)),
                .key(key("pin", .userDefaults, String.self, security: .encrypted(.keychain))), .key(token),
                .key(key("text", database, String.self)), .key(key("note", database, Note.self)), .key(lasting),
                .key(key("hidden", .encryptedSQLite(database: "private"), String.self)),
                .key(moved), .key(removed), .key(contested), .key(kept), .key(evolved), .key(backed), .collection(people))
        }

        private var listed: StorageKey<[String]> {
            StorageKey(name: "tags", domain: .userDefaults(suite: "other"), serializer: .plist, owner: "Tests", description: "Tags")
        }
        private var token: StorageKey<String> { key("token", .keychain).witnessed() }
        /// A key whose value expires after 200 years.
        private var lasting: StorageKey<String> { key("lasting", database).expiring(after: .seconds(200 * 365 * 86_400)) }
        /// A key whose value the release had already moved from a legacy location.
        private var moved: StorageKey<String> { key("moved", database).moved(from: key("old moved")) }
        /// A key with a legacy location whose value the release removed. The older copy must not return.
        private var removed: StorageKey<String> { key("removed", database).moved(from: key("old removed")) }
        /// A key whose older value is in the quarantine.
        private var contested: StorageKey<String> { key("contested", database).moved(from: key("old contested")) }
        /// A key whose legacy location is kept up to date for an earlier release.
        private var kept: StorageKey<String> {
            key("kept", database).moved(
                from: key("old kept"), keeping: .untilReleased, options: MigrationOptions(keepsWeakerCopy: true))
        }
        private var evolved: StorageKey<Heading> {
            key("evolved", database).evolving(Evolution.from(Note.self).to { Heading(heading: $0.title) })
        }
        /// A key whose value was converted, with a copy of the bytes of version 1.
        private var backed: StorageKey<Heading> {
            key("backed", database).evolving(Evolution.from(Note.self).to { Heading(heading: $0.title) }.keepingBackup())
        }
        private var people: StorageCollection<Person> {
            StorageCollection("people", domain: database, owner: "Tests", description: "People")
        }

        private func configure(_ configuration: inout StorageConfiguration) {
            configuration.databaseKeySources["private"] = .passphrase("private")
            configuration.passphrase = { _ in Self.passphrase }
            configuration.scryptCost = ScryptCost(logN: 14)
        }

        private func fill(_ storage: StorageRouter) async throws {
            for (age, name) in ["Sam", "Ada", "Żaneta"].enumerated() {
                try await storage.set(
                    Person(id: name, age: age), in: people, syncStatus: .notSynced, attributes: ["initial": String(name.prefix(1))])
            }
            try await storage.remove("Sam", in: people)
            try await storage.set("Grüße, 世界", for: key("text", .userDefaults))
            try await storage.set(-42, for: key("number", .userDefaults))
            try await storage.set(0.1, for: key("real", .userDefaults))
            try await storage.set(Date(timeIntervalSinceReferenceDate: 700_000_000.5), for: key("date", .userDefaults))
            try await storage.set(Note(title: "a", stars: 5), for: key("note", .userDefaults))
            try await storage.set(["x", "y"], for: listed)
            try await storage.set("secret", for: key("sealed", .userDefaults, security: .encrypted))
            try await storage.set("in a seal", for: key("pin", .userDefaults, security: .encrypted(.keychain)))
            try await storage.set("in the keyring", for: token)
            try await storage.set("in a row", for: key("text", database))
            try await storage.set(Note(title: "b"), for: key("note", database))
            try await storage.set("for two centuries", for: lasting)
            try await storage.set("under a passphrase", for: key("hidden", .encryptedSQLite(database: "private")))
            try await storage.set("from an older place", for: key("old moved"))
            _ = try await storage.get(moved)
            try await storage.set("removed", for: removed)
            try await storage.remove(removed)
            try await storage.set("newer", for: contested)
            try await storage.set("older", for: key("old contested"))
            try await storage.registerCatalog(Keys(.key(contested)), migrateImmediately: true).requireComplete()
            try await storage.set("in both locations", for: kept)
            // The values have version 1. The first one is converted when it is read; the second one is converted here.
            try await storage.set(Note(title: "of version 1"), for: key("evolved", database))
            try await storage.set(Note(title: "with a backup"), for: key("backed", database))
            _ = try await storage.get(backed)
        }

        @Test func `this state of the library reads the stores of every release`() async throws {
            if FixtureMismatch.isRecording, !FileManager.default.fileExists(atPath: fixture("Releases/\(Self.release)")) {
                try await GoldenStore.record(Self.release, of: keys, in: Self.releases, configure: configure, fill)
            }
            try await GoldenStore.replay(
                keys, in: Self.releases,
                check: { release, storage in
                    let (gone, heading) = (try await storage.value(for: removed), try await storage.get(evolved))
                    #expect(gone == nil)
                    #expect(heading == Heading(heading: "of version 1"))
                    let version = try await storage.storedValue(for: evolved)?.schemaVersion
                    #expect(version == 2)
                    if release != "0.1" { try await checkFirstRelease(storage) }
                }, configure: configure)
        }

        /// Checks the metadata of the stores of 0.1.0: expected values do not show it.
        private func checkFirstRelease(_ storage: StorageRouter) async throws {
            var found: [String] = []
            for try await person in storage.storedRecords(in: people, .attribute("initial", "A")) { found.append(person.id) }
            #expect(found == ["Ada"])
            // The type of the records may have another name by now.
            let renamed = StorageCollection<Human>("people", domain: database, owner: "Tests", description: "People")
            let (human, count) = (try await storage.get("Ada", in: renamed), try await storage.count(in: renamed))
            #expect(try await storage.get("Ada", in: people).age == human.age)
            #expect(try await storage.count(in: people) == count)
            let expiry = try await storage.storedValue(for: lasting)?.expiresAt
            #expect(expiry.map { $0 > Date(timeIntervalSince1970: 4_000_000_000) } == true)
            let mirror = try await storage.value(for: key("old kept", .userDefaults, String.self))
            #expect(mirror == "in both locations")
            let displaced = try await storage.quarantine.values()
            #expect(displaced.map(\.key) == ["old contested"])
            #expect(try await storage.verifyIntegrity(of: database)?.isSound == true)
            // The second launch converts the restored bytes again.
            let restored = try await storage.restoreBackup(for: backed)
            #expect(restored == 1)
        }

        @Test func `this state of the library restores the backups of every release`() async throws {
            let backup = URL(filePath: fixture("Backups/\(Self.release)"))
            let secret = BackupKey.passphrase(Self.passphrase)
            if FixtureMismatch.isRecording, !FileManager.default.fileExists(atPath: backup.path) {
                try FileManager.default.createDirectory(at: backup.deletingLastPathComponent(), withIntermediateDirectories: true)
                let folder = try TemporaryDirectory()
                let router = StorageRouter(configuration: vaults(folder))
                for key in backedUp { try await router.set("\(key.name) of \(Self.release)", for: key) }
                try await router.backup(to: backup, openedBy: [secret], including: backedUp.map(\.domain))
                try await router.shutdown()
            }
            let folder = try TemporaryDirectory()
            try await StorageRouter.restore(from: backup, with: secret, into: vaults(folder))
            let router = StorageRouter(configuration: vaults(folder))
            for key in backedUp { #expect(try await router.get(key) == "\(key.name) of \(Self.release)") }
            try await router.shutdown()
        }

        /// The values in the backup, one in each kind of store.
        private var backedUp: [StorageKey<String>] {
            [
                textKey("plain", .userDefaults), textKey("sealed", .userDefaults, .encrypted), textKey("row", database),
                textKey("vault", .keychain),
            ]
        }

        private func vaults(_ folder: TemporaryDirectory) -> StorageConfiguration {
            var configuration = StorageConfiguration(root: URL(filePath: folder.path), applicationID: "golden")
            configuration.userDefaultsName = "golden"
            configuration.keychain = .sealedVault(.configured)
            return configuration
        }

        @Test func `a replay opens a recorded store with any file permissions and does not change its files`() async throws {
            let folder = try TemporaryDirectory()
            try await GoldenStore.record("1.0", of: keys, in: folder.path, configure: configure, fill)
            let before = try contents(of: folder.path)
            #expect(before.keys.contains { $0.hasSuffix("main.sqlite") || $0.contains("databases/main") }, "\(before.keys.sorted())")
            // Version control does not keep private permissions.
            for path in before.keys { try setPermissions(0o644, of: path) }
            try await GoldenStore.replay(keys, in: folder.path, configure: configure)
            #expect(try contents(of: folder.path) == before)
        }

        private func contents(of folder: String) throws -> [String: Data] {
            var contents: [String: Data] = [:]
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
                let path = "\(folder)/\(name)"
                if let data = FileManager.default.contents(atPath: path) { contents[path] = data }
            }
            return contents
        }

        /// Returns a path below `Tests/LocalDataTests/Fixtures`.
        private func fixture(_ path: String) -> String {
            URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures/\(path)").path
        }
    }
#endif
