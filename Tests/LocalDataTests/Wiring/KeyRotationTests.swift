#if SQLite
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import Sealing
    import Synchronization
    import TestSupport
    import Testing

    /// Rotations of the sealing key. A rotation creates a new key in the key source, such as a key file. Then it
    /// encrypts (seals) everything with the new key that was sealed with the old one.
    ///
    /// The old key is kept until `deleteOlderKeys` finds that no data needs it. A legacy location is where an earlier
    /// version stored a value. The quarantine keeps values that lost a conflict. The ledger has notes about past work.
    @Suite(.slow("goes through real files many times"), .inTurn) struct KeyRotationTests {
        private struct Note: Codable, Identifiable, Equatable, Sendable {
            var id: String
            var text = "note"
        }

        /// A custom key source, which is as secure as a keyring.
        private final class Shelf: CustomKeySource {
            let protection = ProtectionLevel.keychain
            private let key = Mutex<SealingKeyMaterial?>(nil)

            func load() -> SealingKeyMaterial? { key.withLock(\.self) }

            func create(_ new: SealingKeyMaterial) -> SealingKeyMaterial {
                key.withLock { key in
                    key = key ?? new
                    return key ?? new
                }
            }

            func lose() { key.withLock { $0 = nil } }
        }

        private let shelf = Shelf()
        private let stage: Stage
        private let list = textKey("list", .userDefaults(suite: "list"), .encrypted)
        private let late = textKey("late", .userDefaults(suite: "list"), .encrypted)
        private let removed = textKey("removed", .userDefaults(suite: "list"), .encrypted)
        private let row = textKey("row", .encryptedSQLite(database: "main"))
        private let secret = textKey("secret", .keychain)
        private let notes = StorageCollection<Note>(
            "notes", domain: .userDefaults(suite: "notes"), security: .encrypted, owner: "Tests", description: "Notes")
        /// The key from which `copy` gets its value. The migration copies the value, and the original stays.
        private let source = textKey("source", .userDefaults(suite: "source"), .encrypted)
        private let copy: StorageKey<String>

        init() throws {
            stage = try Stage()
            copy = textKey("copy", .userDefaults(suite: "list"), .encrypted).copied(from: source)
        }

        /// Returns the lines of the key file below one of the folders of the test.
        private func lines(_ root: String = "root") throws -> [Substring] {
            let path = stage.directory.file(root) + "/data/sealing-key"
            return String(decoding: try #require(FileManager.default.contents(atPath: path)), as: UTF8.self).split(separator: "\n")
        }
        private func id(_ line: Substring) -> String { String(line.split(separator: " ")[1]) }

        private func launch(_ root: String = "root", _ files: HookedFiles? = nil) async throws -> StorageRouter {
            var configuration = StorageConfiguration(root: URL(fileURLWithPath: stage.directory.file(root)), applicationID: stage.service)
            configuration.deadlines = stage.configuration.deadlines
            configuration.runtime.isPatient = true
            configuration.keychain = .sealedVault(.configured)
            configuration.customKeySources["shelf"] = shelf
            if let files { configuration.runtime.files = files }
            let router = StorageRouter(configuration: configuration)
            try await router.registerCatalog(
                TestCatalog(.key(list), .key(late), .key(removed), .key(row), .key(secret), .key(copy), .collection(notes)))
            return router
        }

        private func fill(_ router: StorageRouter) async throws {
            for key in [list, removed, row, secret, source] { try await router.set("value of \(key.name)", for: key) }
            try await router.remove(removed)
            for number in 0..<3 { try await router.set(Note(id: "\(number)"), in: notes) }
            #expect(try await router.get(copy) == "value of source")
        }

        private func check(_ router: StorageRouter) async throws {
            for key in [list, row, secret, source] { #expect(try await router.get(key) == "value of \(key.name)") }
            #expect(try await router.value(for: removed) == nil)
            for number in 0..<3 { #expect(try await router.value("\(number)", in: notes) == Note(id: "\(number)")) }
            #expect(try await router.get(copy) == "value of source")
        }

        /// Returns whether a property list names a key id beside a sealed value. The list of keys is not searched.
        private func isNamed(_ id: String) throws -> Bool {
            let all = FileManager.default.enumerator(at: stage.root, includingPropertiesForKeys: nil)
            while let url = all?.nextObject() as? URL {
                guard url.pathExtension == "plist", url.lastPathComponent != "pins.plist",
                    let bytes = FileManager.default.contents(atPath: url.path)
                else { continue }
                if bytes.range(of: Data("1:\(id)".utf8)) != nil { return true }
            }
            return false
        }

        @Test func `after rotateKey, no data needs the old key, and deleteOlderKeys deletes that key`() async throws {
            let router = try await launch()
            try await fill(router)
            let before = try lines()
            let report = try await router.rotateKey()
            #expect(report.isComplete, "\(report.remaining)")
            #expect(report.databases == 2 && report.values == 6 && report.olderKeys == 1, "\(report)")
            #expect(try lines().count == 2)
            #expect(try lines().last == before.first)
            #expect(try !isNamed(id(before[0])))
            try await check(router)
            try await check(try await launch())
            let again = try await router.rotateKey()
            #expect(again.values == 0 && again.databases == 0)
            #expect(try lines().count == 2, "no third key is created while the older key is kept")
            try await router.deleteOlderKeys()
            #expect(try lines().count == 1)
            #expect(try lines().first != before.first)
            try await check(router)
            try await check(try await launch())
            let recipients = try await router.keyRecipients(of: row.domain)
            #expect(recipients.map(\.id) == [id(try lines()[0])])
            // A second rotation creates a third key.
            #expect(try await router.rotateKey().isComplete)
            try await router.deleteOlderKeys()
            try await check(try await launch())
        }

        @Test func `a program that started before a rotation still seals with the old key, which then cannot be deleted`() async throws {
            let (router, other) = (try await launch(), try await launch())
            try await fill(router)
            try await other.set("value of list", for: list)
            _ = try await router.rotateKey()
            // The other program has the old key in memory and continues to use it.
            try await other.set("late", for: late)
            let old = try lines()[1]
            #expect(try isNamed(id(old)))
            let refusal = try await #require(throws: StorageError.self) { try await router.deleteOlderKeys() }
            #expect(refusal.code == StorageError.conflict && refusal.message.contains(id(old)), "\(refusal)")
            // A value that is sealed with the new key makes the program load the key source again.
            try await check(other)
            try await other.set("later", for: late)
            #expect(try !isNamed(id(old)))
            #expect(try await router.rotateKey().isComplete)
            // The other program now seals with the new key. But this router cannot know that, and must expect further
            // values that are sealed with the old key.
            let still = try await #require(throws: StorageError.self) { try await router.deleteOlderKeys() }
            #expect(still.code == StorageError.conflict)
            try await other.rotateKey()
            try await router.deleteOlderKeys()
            #expect(try await other.get(late) == "later")
            for router in [router, other, try await launch()] { try await check(router) }
        }

        @Test func `a value that an ended program sealed with the old key is found, and the old key is not deleted`() async throws {
            let router = try await launch()
            try await fill(router)
            do {
                let other = try await launch()
                try await other.set("value of list", for: list)
                _ = try await router.rotateKey()
                try await other.set("late", for: late)
                try await other.shutdown()
            }
            let error = try await #require(throws: StorageError.self) { try await router.deleteOlderKeys() }
            #expect(error.code == StorageError.conflict && error.message.contains("rotateKey"), "\(error)")
            try await check(router)
            #expect(try await router.rotateKey().values == 1)
            try await router.deleteOlderKeys()
            try await check(try await launch())
            #expect(try await launch().get(late) == "late")
        }

        @Test func `after a rotation, the copies that remain in legacy locations cause no conflict`() async throws {
            let router = try await launch()
            try await fill(router)
            let old = textKey("old", .userDefaults(suite: "old"), .encrypted)
            let new = textKey("new", .encryptedSQLite(database: "main"), .encrypted).moved(from: old, keeping: .untilReleased)
            try await router.set("first", for: old)
            #expect(try await router.get(new) == "first")
            try await router.set("second", for: new)
            try await router.shutdown()
            let program = try await launch()
            try await program.registerCatalog(TestCatalog([.key(new)], id: "Window"))
            #expect(try await program.rotateKey().isComplete)
            try await program.deleteOlderKeys()
            for key in [new, old] { #expect(try await program.get(key) == "second") }
            #expect(await program.sweep().isComplete)
            for key in [new, old] { #expect(try await program.get(key) == "second") }
            try await program.set("third", for: new)
            #expect(try await program.get(old) == "third")
            try await program.set("own", for: copy)
            #expect(try await program.rotateKey().isComplete)
            #expect(await program.sweep().isComplete)
            #expect(try await program.get(copy) == "own")
            #expect(try await program.quarantine.values().isEmpty)
        }

        /// Returns a router with a quarantined value, the catalog of the key of that value, and the quarantine entry.
        private func quarantined(
            security: SecurityPolicy = .encrypted
        ) async throws -> (router: StorageRouter, catalog: TestCatalog, entry: QuarantinedValue) {
            let older = textKey("older", .userDefaults(suite: "older"), .encrypted)
            let key = textKey("key", .userDefaults(suite: "list"), security).moved(from: older)
            let (router, catalog) = (try await launch(), TestCatalog([.key(key)], id: "Quarantine"))
            try await router.registerCatalog(catalog)
            try await router.set("first", for: older)
            #expect(try await router.get(key) == "first")
            try await router.set("conflict", for: older)
            _ = await router.sweep()
            return (router, catalog, try #require(try await router.quarantine.values().first))
        }

        @Test func `a quarantined value is sealed again with the new key and keeps its content`() async throws {
            let (router, _, entry) = try await quarantined()
            let content = try await router.quarantine.data(of: entry)
            let old = try lines()[0]
            let report = try await router.rotateKey()
            #expect(report.isComplete, "\(report)")
            try await router.deleteOlderKeys()
            #expect(try !isNamed(id(old)))
            #expect(try await launch().quarantine.data(of: entry) == content)
        }

        @Test func `a value in an entry that another source has sealed is sealed again with the new key`() async throws {
            // The key file does not protect as well as the custom source, so a key of the custom source seals the entry.
            let (router, _, entry) = try await quarantined(security: .encrypted(.custom("shelf")))
            let content = try await router.quarantine.data(of: entry)
            #expect(content == Data("\"conflict\"".utf8) || content == Data("conflict".utf8), "\(content)")
            let report = try await router.rotateKey()
            #expect(report.isComplete, "\(report)")
            try await router.deleteOlderKeys()
            #expect(try await launch().quarantine.data(of: entry) == content)
        }

        @Test func `an entry that another source has sealed keeps the old key while it cannot be opened`() async throws {
            let (first, catalog, entry) = try await quarantined(security: .encrypted(.custom("shelf")))
            try await first.shutdown()
            shelf.lose()
            let router = try await launch()
            try await router.registerCatalog(catalog)
            let report = try await router.rotateKey()
            #expect(report.remaining.count == 1 && report.remaining[0].contains("quarantine/\(entry.id)"), "\(report.remaining)")
            let refusal = try await #require(throws: StorageError.self) { try await router.deleteOlderKeys() }
            #expect(refusal.code == StorageError.conflict && refusal.message.contains(entry.id), "\(refusal)")
        }

        /// Removes the value of a slot in a property list and damages its metadata.
        private func damage(_ suite: URL, _ name: String) throws {
            var entries = try #require(
                try PropertyListSerialization.propertyList(from: Data(contentsOf: suite), format: nil) as? [String: Any])
            var reserved = try #require(entries["LocalData.metadata"] as? [String: Any])
            var metadata = try #require(reserved["entries"] as? [String: Any])
            #expect(entries.removeValue(forKey: name) != nil && metadata[name] != nil)
            metadata[name] = "damaged"
            reserved["entries"] = metadata
            entries["LocalData.metadata"] = reserved
            try PropertyListSerialization.data(fromPropertyList: entries, format: .xml, options: 0).write(to: suite)
        }

        @Test func `a damaged value may need the old key and keeps it until the value is replaced`() async throws {
            let first = try await launch()
            try await fill(first)
            try await first.shutdown()
            try damage(URL(fileURLWithPath: stage.preferences + "/list.plist"), "list")
            let router = try await launch()
            let report = try await router.rotateKey()
            #expect(report.remaining.count == 1 && report.remaining[0].contains("/list: "), "\(report.remaining)")
            let refusal = try await #require(throws: StorageError.self) { try await router.deleteOlderKeys() }
            #expect(refusal.code == StorageError.conflict && refusal.message.contains("/list"), "\(refusal)")
            try await router.set("value of list", for: list)
            #expect(try await router.rotateKey().isComplete)
            try await router.deleteOlderKeys()
            try await check(try await launch())
        }

        @Test func `a damaged quarantine entry may need the old key, which is kept until the entry is purged`() async throws {
            let (router, catalog, entry) = try await quarantined()
            try await router.shutdown()
            try damage(stage.root.appendingPathComponent("data/quarantine/quarantine.plist"), entry.id)
            let next = try await launch()
            try await next.registerCatalog(catalog)
            let report = try await next.rotateKey()
            #expect(report.remaining.count == 1 && report.remaining[0].contains("quarantine/\(entry.id)"), "\(report.remaining)")
            let refusal = try await #require(throws: StorageError.self) { try await next.deleteOlderKeys() }
            #expect(refusal.code == StorageError.conflict && refusal.message.contains(entry.id), "\(refusal)")
            let listed = try await next.quarantine.values()
            #expect(listed.map(\.id) == [entry.id] && listed[0].reason.contains("damaged"), "\(listed)")
            let unread = try await #require(throws: StorageError.self) { try await next.quarantine.data(of: listed[0]) }
            #expect(unread.code == StorageError.corrupted)
            try await next.quarantine.purge(listed[0])
            #expect(try await next.quarantine.values().isEmpty)
            try await next.deleteOlderKeys()
        }

        @Test func `a rotation seals many values of a store again in few commits`() async throws {
            let files = HookedFiles()
            let router = try await launch("root", files)
            let many = (0..<70).map { textKey("many \($0)", .userDefaults(suite: "many"), .encrypted) }
            for key in many { try await router.set(key.name, for: key) }
            try await router.registerCatalog(TestCatalog(many.map { .key($0) }, id: "Many"))
            files.arm(nil)
            #expect(try await router.rotateKey().values == many.count)
            #expect((2...3).contains(files.count("rename", "many.plist")), "\(files.operations)")
            try await router.deleteOlderKeys()
            for key in many { #expect(try await launch().get(key) == key.name) }
        }

        @Test func `a superseded legacy copy that a rotation seals again does not count as a new value, even if new legacy values win`()
            async throws
        {
            let old = textKey("old", .userDefaults(suite: "old"), .encrypted)
            let new = textKey("new", .userDefaults(suite: "list"), .encrypted).moved(from: old).resolvingConflicts(.sourceWins)
            let router = try await launch()
            try await router.registerCatalog(TestCatalog([.key(new)], id: "Copies"))
            try await router.set("first", for: old)
            let place = URL(fileURLWithPath: stage.preferences + "/old.plist")
            let bytes = try Data(contentsOf: place)
            #expect(try await router.get(new) == "first")
            try await router.set("second", for: new)
            try await router.shutdown()
            try bytes.write(to: place)
            let next = try await launch()
            try await next.registerCatalog(TestCatalog([.key(new)], id: "Copies"))
            #expect(try await next.rotateKey().isComplete)
            try await next.deleteOlderKeys()
            #expect(try await next.get(old) == "first", "it was sealed again in the same slot")
            #expect(await next.sweep().isComplete)
            #expect(try await next.get(new) == "second")
            #expect(try await next.quarantine.values().isEmpty)
            // A new value that an older release sets still wins.
            try await next.set("third", for: old)
            #expect(await next.sweep().isComplete)
            #expect(try await next.get(new) == "third")
        }

        @Test func `a rotation that is killed at any step loses nothing and can be completed`() async throws {
            let first = try await launch()
            try await fill(first)
            try await first.shutdown()
            func copy(_ root: String) throws {
                try FileManager.default.copyItem(atPath: stage.directory.file("root"), toPath: stage.directory.file(root))
            }
            let old = try lines()
            let files = HookedFiles()
            try copy("count")
            let counting = try await launch("count", files)
            files.arm(nil)
            _ = try await counting.rotateKey()
            try await counting.deleteOlderKeys()
            try await counting.shutdown()
            let count = files.operations.count
            #expect(count > 30)
            var (before, between, after) = (0, 0, 0)
            for number in sample(1...count, 10) {
                let root = "killed \(number)"
                try copy(root)
                let router = try await launch(root, files)
                files.arm(.stops, at: number)
                do {
                    _ = try await router.rotateKey()
                    try await router.deleteOlderKeys()
                } catch {}
                // A killed process would hold no locks, so shut the router down to release its locks.
                try? await router.shutdown()
                files.arm(nil)
                let next = try await launch(root)
                try await check(next)
                switch try lines(root) {
                case old: before += 1
                case let found where found.count == 1: after += 1
                default: between += 1
                }
                if try lines(root) == old || lines(root).count > 1 { #expect(try await next.rotateKey().isComplete, "killed at \(number)") }
                try await next.deleteOlderKeys()
                #expect(try lines(root).count == 1 && lines(root) != old)
                try await next.shutdown()
                let last = try await launch(root)
                try await check(last)
                try await last.shutdown()
            }
            print("a rotation of a source's key, killed at steps of \(count): \(before) before, \(between) between, \(after) after")
            #expect(before > 0 && between > 3)
        }

        @Test func `deleteOlderKeys is refused without a catalog and by a locked router, and rotateKey without a key`() async throws {
            let router = try await launch()
            let none = try await #require(throws: StorageError.self) { try await router.rotateKey() }
            #expect(none.code == StorageError.encryptionKeyMissing)
            try await fill(router)
            _ = try await router.rotateKey()
            let unregistered = stage.launch { $0.keychain = .sealedVault(.configured) }
            let refusal = try await #require(throws: StorageError.self) { try await unregistered.deleteOlderKeys() }
            #expect(refusal.code == StorageError.unsupported)
            #expect(try lines().count == 2)
            try await router.lock()
            let locked = try await #require(throws: StorageError.self) { try await router.deleteOlderKeys() }
            #expect(locked.code == StorageError.locked)
        }

        @Test func `a backup during an incomplete rotation contains every key that its values need`() async throws {
            let router = try await launch()
            try await fill(router)
            let other = try await launch()
            try await other.set("value of list", for: list)
            _ = try await router.rotateKey()
            // One value is sealed with the old key again.
            try await other.set("late", for: late)
            let kit = URL(fileURLWithPath: stage.directory.file("kit"))
            let passphrase = BackupKey.passphrase("correct horse", PassphraseCost(logN: 1, blockSize: 1, parallelism: 1))
            try await router.backup(to: kit, openedBy: [passphrase])
            try await router.rotateKey()
            var elsewhere = StorageConfiguration(
                root: URL(fileURLWithPath: stage.directory.file("elsewhere")), applicationID: stage.service)
            elsewhere.keychain = .sealedVault(.configured)
            try await StorageRouter.restore(from: kit, with: passphrase, into: elsewhere)
            #expect(try lines("elsewhere") == lines())
            let restored = try await launch("elsewhere")
            try await check(restored)
            #expect(try await restored.get(late) == "late")
            #expect(try await restored.rotateKey().isComplete)
            try await restored.deleteOlderKeys()
            try await restored.shutdown()
            let last = try await launch("elsewhere")
            try await check(last)
            #expect(try await last.get(late) == "late")
        }

        @Test func `a rotation also seals backups again, in which a conversion keeps values of older schema versions`() async throws {
            struct Settings: Codable, Equatable, Sendable { var text: String }
            func key<Value>(_ type: Value.Type) -> StorageKey<Value> {
                testKey("settings", .userDefaults(suite: "shapes"), .encrypted, of: type)
            }
            let before = try await launch()
            try await before.set("first", for: key(String.self))
            try await before.shutdown()
            let evolving = key(Settings.self).evolving(Evolution.from(String.self).to { Settings(text: $0) }.keepingBackup())
            let router = try await launch()
            try await router.registerCatalog(TestCatalog([.key(evolving)], id: "Shapes"), migrateImmediately: true)
            #expect(try await router.get(evolving) == Settings(text: "first"))
            let old = try lines()[0]
            let report = try await router.rotateKey()
            #expect(report.isComplete && report.values == 2, "\(report)")
            try await router.deleteOlderKeys()
            #expect(try !isNamed(id(old)))
            #expect(try await router.restoreBackup(for: evolving) != nil)
            try await router.shutdown()
            #expect(try await launch().get(key(String.self)) == "first")
        }
    }
#endif
