#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import MemoryBackend
    import Sealing
    import Synchronization
    import TestSupport
    import Testing

    /// Backups of every store that are verified and restored into another folder.
    ///
    /// The data key of a database encrypts its rows. The database contains this key wrapped: encrypted with a sealing
    /// key. A sealing key also encrypts (seals) single values. It comes from a key source, such as a key file or the
    /// keyring. A vault is an encrypted database that replaces the keyring. The quarantine is the store for displaced
    /// data. A freshness anchor is a record of a database's latest state, stored outside the database file.
    @Suite(.inTurn) struct BackupTests {
        @Test func `a backup of every store is verified and restored on an empty machine`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            let made = try await kit.backup()
            #expect(made.stores.map(\.name).sorted() == made.stores.map(\.name))
            #expect(
                Set(made.stores.map(\.name)).isSuperset(
                    of: ["encryptedSQLite(main)", "ledger", "userDefaults(standard)", "vault(v-\(kit.stage.service))"]))
            #expect(made.stores.allSatisfy { !$0.isForeign && !$0.isOlder })
            #expect(try FileManager.default.attributesOfItem(atPath: kit.kit.path)[.posixPermissions] as? Int == 0o600)
            let verified = try await StorageRouter.verifyBackup(at: kit.kit, with: kit.secret)
            #expect(verified.stores.map(\.digest) == made.stores.map(\.digest))
            #expect(verified.stores.compactMap(\.damagedRows) == [0, 0])
            #expect(verified.stores.compactMap(\.hasProvenRows) == [true, true])
            #expect(verified.keys == ["key file sealing-key"])
            try FileManager.default.removeItem(atPath: kit.stage.directory.file("root"))
            let report = try await kit.restore(into: "other")
            #expect(report.restored.sorted() == made.stores.map(\.name) && report.kept.isEmpty && report.givenToOtherKey.isEmpty)
            #expect(try await kit.values("other") == kit.expected())
            // Reading the restored values may change the ledger, in which the library records the keys and stores that
            // it used. So a second restore replaces at most that store.
            let again = try await kit.restore(into: "third")
            #expect(try await kit.values("third") == kit.expected())
            #expect(try await kit.restore(into: "third", replacing: ["ledger"]).unchanged.count >= again.restored.count - 1)
        }

        @Test(arguments: ["link", "remove", "synchronizeDirectory"])
        func `a backup that cannot link or flush its file reports whether the file may exist`(_ step: String) async throws {
            let stage = try Stage()
            let (files, file) = (HookedFiles(), URL(filePath: stage.directory.file("backup")))
            let router = stage.launch { $0.runtime.files = files }
            let secret = BackupKey.recoveryKey(
                try RecoveryKey(text: "0410-6105-0R3G-G28A-1C60-T3GF-208H-44RM-2MB1-E60S-38DH-R78Y-3WG0-Z1WJ"))
            try await router.set("v", for: textKey("a", .userDefaults))
            files.fail(step)
            do {
                try await router.backup(to: file, openedBy: [secret])
                #expect(step == "remove")
            } catch let error as StorageError {
                #expect(error.outcome == (step == "link" ? .notApplied : .unknown))
            }
            files.fail(step, with: nil)
            #expect(FileManager.default.fileExists(atPath: file.path) == (step != "link"))
            if step != "link" { #expect(try await StorageRouter.verifyBackup(at: file, with: secret).isSound) }
            try await router.shutdown()
        }

        /// Returns a configuration whose preferences folder may also contain the property lists of other programs.
        private func sharing(_ kit: BackupStage) -> StorageConfiguration {
            let root = kit.stage.directory.file("root")
            var configuration = StorageConfiguration(
                directories: StorageDirectories(
                    preferences: root + "/preferences", data: root + "/data", state: root + "/state", locks: root + "/locks"),
                applicationID: kit.stage.service)
            configuration.userDefaultsName = "standard"
            configuration.deadlines = kit.configuration().deadlines
            return configuration
        }

        @Test
        func `a backup contains the store of every key that the router ever used, even if the router used thousands of other keys later`()
            async throws
        {
            let kit = try BackupStage()
            let router = StorageRouter(configuration: sharing(kit))
            let reports = StorageCollection<String>(
                "reports", domain: .userDefaults(suite: "reports"), owner: "Tests", description: "Reports", id: { $0 })
            try await router.set("first", in: reports)
            try await router.set("second", for: textKey("secret", .memory(), .encrypted(.keyFile("another-key"))))
            let others = StorageCollection<String>("others", domain: .memory(), owner: "Tests", description: "Others", id: { $0 })
            for number in 0..<4_200 { #expect(try await router.value(for: others.key("\(number)")) == nil) }
            for number in 0..<65_600 { #expect(try await router.value(for: textKey("k\(number)", .memory())) == nil) }
            let made = try await router.backup(to: kit.kit, openedBy: [kit.secret])
            #expect(made.stores.map(\.name).contains("userDefaults(reports)"))
            #expect(made.keys.contains("key file another-key"))
            try await router.shutdown()
        }

        @Test func `a backup contains the stores that an earlier run used, and reports the stores that no longer exist`() async throws {
            let kit = try BackupStage()
            let first = StorageRouter(configuration: sharing(kit))
            for suite in ["reports", "drafts"] { try await first.set("v", for: textKey("a", .userDefaults(suite: suite))) }
            try await first.set("v", for: textKey("a", .encryptedSQLite(database: "lost")))
            try await first.shutdown()
            let root = kit.stage.directory.file("root")
            try Data("<plist/>".utf8).write(to: URL(fileURLWithPath: root + "/preferences/other-program.plist"))
            for path in ["/preferences/drafts.plist", "/data/databases/lost.sqlite", "/data/databases/lost.sqlite-wal"] {
                try? FileManager.default.removeItem(atPath: root + path)
            }
            let second = StorageRouter(configuration: sharing(kit))
            let made = try await second.backup(to: kit.kit, openedBy: [kit.secret])
            let names = made.stores.map(\.name)
            #expect(names.contains("userDefaults(reports)") && !names.contains("userDefaults(other-program)"))
            #expect(made.notFound == ["encryptedSQLite(lost)", "userDefaults(drafts)"])
            #expect(try await StorageRouter.verifyBackup(at: kit.kit, with: kit.secret).notFound == made.notFound)
            try await second.shutdown()
        }

        @Test func `a backup names the domains of custom backends as omitted, also in a run that does not use them`() async throws {
            let kit = try BackupStage()
            let (folder, keyring) = (StorageDomain.custom("folder", scope: "shared"), StorageDomain.keychain(service: kit.stage.service))
            let media = [folder: MemoryMedium(), keyring: MemoryMedium()]
            var configuration = kit.configuration()
            for (domain, medium) in media {
                configuration.useBackend(for: domain.kind) { _ in InMemoryStore.standIn(for: domain, medium: medium, runtime: .live) }
            }
            let first = StorageRouter(configuration: configuration)
            // The values of a `.memory` domain end with the program, so the report does not name it.
            for key in [kit.plain, kit.vault, textKey("row", folder), textKey("note", .memory())] {
                try await first.set(BackupStage.marker, for: key)
            }
            let made = try await first.backup(to: kit.kit, openedBy: [kit.secret])
            try await first.shutdown()
            #expect(made.omitted == ["folder(shared)", "keychain(\(kit.stage.service))"])
            #expect(made.stores.map(\.name).contains("userDefaults(standard)"))
            #expect(made.stores.allSatisfy { !["folder", "keychain", "vault"].contains($0.kind) })
            #expect(try await StorageRouter.verifyBackup(at: kit.kit, with: kit.secret).omitted == made.omitted)
            #expect(try await kit.restore(into: "other").backup.omitted == made.omitted)
            #expect(try await kit.values("other", keys: [kit.plain, kit.vault]) == [BackupStage.marker, nil])
            // This program has no custom backend. Its keyring is a sealed vault, which a backup contains.
            let second = kit.router()
            let later = try await second.backup(to: kit.kit.appendingPathExtension("later"), openedBy: [kit.secret])
            try await second.shutdown()
            #expect(later.omitted == ["folder(shared)"])
        }

        @Test func `a backup of one root folder contains every property list in it and reports a damaged one`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            let folder = kit.stage.directory.file("root") + "/preferences"
            try Data(#"<plist version="1.0"><dict><key>a</key>"#.utf8).write(to: URL(fileURLWithPath: folder + "/torn.plist"))
            try Data(#"<plist version="1.0"><dict/></plist>"#.utf8).write(to: URL(fileURLWithPath: folder + "/whole.plist"))
            let made = try await kit.backup()
            #expect(made.stores.filter { $0.kind == "userDefaults" }.map(\.scope) == ["standard", "torn", "whole"])
            #expect(made.stores.filter(\.isDamaged).map(\.name) == ["userDefaults(torn)"] && !made.isSound)
            #expect(try await !StorageRouter.verifyBackup(at: kit.kit, with: kit.secret).isSound)
            let report = try await kit.restore(into: "other")
            #expect(report.restored.contains("userDefaults(torn)"))
        }

        @Test func `a backup contains the new key of a source after another process rotated it`() async throws {
            let kit = try BackupStage()
            let (program, other) = (kit.router(), kit.router())
            try await program.set(BackupStage.marker, for: kit.sealed)
            try await other.registerCatalog(TestCatalog(.key(kit.sealed)))
            let rotated = try await other.rotateKey()
            #expect(rotated.isComplete && rotated.values == 1, "\(rotated)")
            try await program.backup(to: kit.kit, openedBy: [kit.secret])
            // The program still opens the value, and seals with the new key.
            #expect(try await program.get(kit.sealed) == BackupStage.marker)
            try await program.set("later", for: kit.sealed)
            try await program.shutdown()
            try await other.deleteOlderKeys()
            #expect(try await other.get(kit.sealed) == "later")
            try await other.shutdown()
            try await kit.restore(into: "other")
            #expect(try await kit.values("other", keys: [kit.sealed]) == [BackupStage.marker])
        }

        @Test(.timeLimit(.minutes(10)))
        func `a backup contains the new key if another process rotates it between the read of the keys and the locks`() async throws {
            let kit = try BackupStage()
            let (gate, isArmed) = (Gate(), Shared<Bool?>(nil))
            let files = HookedFiles { operation, _ in
                let isFirst = operation == "lock" && isArmed.value.withLock { $0.take() } == true
                if isFirst { gate.block() }
            }
            let (program, other) = (kit.router("root", files), kit.router())
            try await program.set(BackupStage.marker, for: kit.sealed)
            try await other.registerCatalog(TestCatalog(.key(kit.sealed)))
            isArmed.value.withLock { $0 = true }
            async let backup = program.backup(to: kit.kit, openedBy: [kit.secret])
            await gate.arrived()
            #expect(try await other.rotateKey().isComplete)
            gate.open()
            _ = try await backup
            for router in [program, other] { try await router.shutdown() }
            try await kit.restore(into: "other")
            #expect(try await kit.values("other", keys: [kit.sealed]) == [BackupStage.marker])
        }

        @Test func `a database can be restored on a machine that does not have the key source of the backed-up machine`() async throws {
            let kit = try BackupStage()
            var configuration = kit.configuration()
            configuration.keySource = .credential("documents-key")
            configuration.runtime.host.environment["CREDENTIALS_DIRECTORY"] = try kit.stage.directory.folder("credentials")
            try Data(KeySourceReference.newKeyText().utf8).write(
                to: URL(fileURLWithPath: kit.stage.directory.file("credentials") + "/documents-key"))
            let router = StorageRouter(configuration: configuration)
            try await router.set("v", for: kit.row)
            try await router.backup(to: kit.kit, openedBy: [kit.secret])
            try await router.shutdown()
            // The backed-up machine has its sealing key in a systemd credential. The other machine does not have this
            // credential.
            let report = try await kit.restore(into: "other")
            #expect(report.restored.contains("encryptedSQLite(main)"))
            #expect(try await kit.values("other", keys: [kit.row]) == ["v"])
        }

        @Test func `a freshness anchor refuses a restored older database until the caller accepts it`() async throws {
            let kit = try BackupStage()
            var configuration = kit.configuration()
            configuration.freshnessAnchors["main"] = .file(kit.stage.directory.file("anchors/main"))
            let first = StorageRouter(configuration: configuration)
            try await first.set("older", for: kit.row)
            let made = try await first.backup(to: kit.kit, openedBy: [kit.secret], including: [])
            try await first.set("later", for: kit.row)
            try await first.shutdown()
            try await kit.restore(into: "root", replacing: Set(made.stores.map(\.name)))
            let second = StorageRouter(configuration: configuration)
            let error = await #expect(throws: StorageError.self) { try await second.get(kit.row) }
            #expect(error?.code == .rolledBack)
            try await second.acceptOlderFile(of: kit.row.domain)
            #expect(try await second.get(kit.row) == "older")
            try await second.shutdown()
        }

        @Test func `a recovery key opens a backup, and a wrong secret does not`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            let router = kit.router()
            let key = try await router.addRecoveryKey(to: .encryptedSQLite(database: "main"))
            try await router.backup(to: kit.kit, openedBy: [kit.secret, .recoveryKey(key)], including: [.userDefaults])
            try await router.shutdown()
            try await StorageRouter.restore(
                from: kit.kit, with: .recoveryKey(RecoveryKey(text: key.text)), into: kit.configuration("other"))
            #expect(try await kit.values("other") == kit.expected())
            let other = try await kit.router("unrelated").addRecoveryKey(to: .encryptedSQLite(database: "x"))
            for secret in [BackupKey.passphrase("another", PassphraseCost(logN: 1, blockSize: 1, parallelism: 1)), .recoveryKey(other)] {
                let error = await #expect(throws: StorageError.self) { try await StorageRouter.verifyBackup(at: kit.kit, with: secret) }
                #expect(error?.code == .encryptionKeyMismatch)
            }
        }

        @Test func `a backup refuses to replace an existing file and leaves no temporary file`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            try Data("mine".utf8).write(to: kit.kit)
            await #expect(throws: StorageError.self) { try await kit.backup() }
            #expect(try Data(contentsOf: kit.kit) == Data("mine".utf8))
            #expect(try FileManager.default.contentsOfDirectory(atPath: kit.stage.directory.path).allSatisfy { !$0.hasPrefix(".") })
        }

        @Test func `a backup removes the drafts of killed backups with other names, once they are a day old`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            let folder = kit.kit.deletingLastPathComponent().path
            let names =
                ["monday", "tuesday", "foreign"].map { ".\($0).localdata-0011223344556677.tmp" } + [".monday.localdata-0011.tmp"]
            for name in names {
                let bytes = Data(name.contains("foreign") ? "text".utf8 : "LDK\u{1}rest".utf8)
                try bytes.write(to: URL(fileURLWithPath: "\(folder)/\(name)"))
                if name.contains("tuesday") { continue }
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSinceNow: -86_500)], ofItemAtPath: "\(folder)/\(name)")
            }
            try await kit.backup()
            let left = try FileManager.default.contentsOfDirectory(atPath: folder).filter { $0.hasSuffix(".tmp") }
            #expect(Set(left) == Set(names.dropFirst()))
        }

        @Test func `a restore replaces only the stores that the caller names, and keeps a copy of each replaced store`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            let made = try await kit.backup()
            try await kit.fill("root", "newer")
            let before = try kit.files("root")
            let error = await #expect(throws: StorageError.self) { try await kit.restore(into: "root") }
            #expect(error?.code == .conflict && error?.outcome == .notApplied)
            #expect(error?.message.contains("encryptedSQLite(main)") == true && error?.message.contains("userDefaults(standard)") == true)
            #expect(try kit.files("root") == before)
            let report = try await kit.restore(into: "root", replacing: Set(made.stores.map(\.name)))
            #expect(try await kit.values("root") == kit.expected())
            let kept = report.kept.compactMap { FileManager.default.contents(atPath: $0) }
            #expect(kept.contains { $0.range(of: Data("newer plain".utf8)) != nil })
            #expect(report.kept.contains { $0.contains("main.sqlite.replaced-") })
        }

        @Test func `a restore refuses to leave a ninth replaced copy of a store, and names the eight`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            let made = try await kit.backup()
            try await kit.fill("root", "newer")
            let database = "\(kit.stage.directory.file("root"))/data/databases/main.sqlite"
            let copies = (0..<8).map { "\(database).replaced-000000000000000\($0)" }
            // The log of a copy, and another database, are no copies.
            for path in copies + ["\(copies[0])-wal", "\(copies[0]).sqlite"] { try Data([1]).write(to: URL(fileURLWithPath: path)) }
            let before = try kit.files("root")
            let error = await #expect(throws: StorageError.self) {
                try await kit.restore(into: "root", replacing: Set(made.stores.map(\.name)))
            }
            #expect(error?.code == .noSpace && error?.outcome == .notApplied)
            #expect(copies.allSatisfy { error?.message.contains($0) == true }, "\(error?.message ?? "")")
            #expect(try kit.files("root") == before)
            try FileManager.default.removeItem(atPath: copies[3])
            try await kit.restore(into: "root", replacing: Set(made.stores.map(\.name)))
            #expect(try await kit.values("root") == kit.expected())
        }

        @Test func `a restore keeps the sealing key of the machine, and encrypts the data keys of the restored databases with it`()
            async throws
        {
            let kit = try BackupStage()
            let router = kit.router()
            try await router.set(BackupStage.marker, for: kit.row)
            try await router.backup(to: kit.kit, openedBy: [kit.secret])
            try await router.shutdown()
            // The other machine already has a sealing key.
            let other = kit.router("other")
            try await other.set("mine", for: textKey("own", .encryptedSQLite(database: "own")))
            try await other.shutdown()
            let key = try Data(contentsOf: URL(fileURLWithPath: kit.stage.directory.file("other") + "/data/sealing-key"))
            let report = try await kit.restore(into: "other", replacing: ["ledger"])
            #expect(report.givenToOtherKey == ["encryptedSQLite(main)"])
            #expect(try Data(contentsOf: URL(fileURLWithPath: kit.stage.directory.file("other") + "/data/sealing-key")) == key)
            #expect(try await kit.values("other", keys: [kit.row]) == [BackupStage.marker])
            #expect(try await kit.values("other", keys: [textKey("own", .encryptedSQLite(database: "own"))]) == ["mine"])
            // New values can be stored, too. They are encrypted with keys that the existing sealing key protects.
            let after = kit.router("other")
            try await after.set("new", for: kit.row)
            try await after.set("new", for: kit.sealed)
            try await after.shutdown()
        }

        @Test func `a restore is refused on a machine with another sealing key if the backup has single values that are sealed`()
            async throws
        {
            let kit = try BackupStage()
            try await kit.fill()
            try await kit.backup()
            let other = kit.router("other")
            try await other.set("mine", for: textKey("own", .encryptedSQLite(database: "own")))
            try await other.shutdown()
            let before = try kit.files("other")
            let error = await #expect(throws: StorageError.self) { try await kit.restore(into: "other", replacing: ["ledger"]) }
            #expect(error?.code == .encryptionKeyMismatch)
            #expect(try kit.files("other") == before)
        }

        @Test func `a restore is refused if the configuration has another sealing context, the name that encrypted data is bound to`()
            async throws
        {
            let kit = try BackupStage()
            try await kit.fill()
            try await kit.backup()
            var configuration = kit.configuration("other")
            configuration.sealingContext = "another tenant"
            let error = await #expect(throws: StorageError.self) {
                try await StorageRouter.restore(from: kit.kit, with: kit.secret, into: configuration)
            }
            #expect(error?.code == .wrongContext)
            #expect(try kit.files("other").isEmpty)
        }

        @Test func `a backup contains the passphrase file, and the same passphrase opens the restored stores`() async throws {
            let kit = try BackupStage()
            func configuration(_ root: String) -> StorageConfiguration {
                var configuration = kit.configuration(root)
                configuration.keySource = .passphrase("main")
                configuration.scryptCost = .tooCheapForAnythingButTests(logN: 1)
                configuration.passphrase = { _ in "open sesame" }
                return configuration
            }
            let source = PassphraseSource(
                path: kit.stage.directory.file("root") + "/data/main.passphrase",
                cost: PassphraseCost.tooCheapForAnythingButTests(logN: 1, blockSize: 1, parallelism: 1),
                deadline: .seconds(60), runtime: .live
            ) { "open sesame" }
            _ = try await source.create(SourceKeys(only: .random(Runtime.live.randomBytes)))
            let router = StorageRouter(configuration: configuration("root"))
            try await router.set(BackupStage.marker, for: kit.row)
            try await router.backup(to: kit.kit, openedBy: [kit.secret])
            try await router.shutdown()
            try await StorageRouter.restore(from: kit.kit, with: kit.secret, into: configuration("other"))
            let other = StorageRouter(configuration: configuration("other"))
            #expect(try await other.get(kit.row) == BackupStage.marker)
            try await other.shutdown()
            var closed = configuration("root")
            closed.passphrase = nil
            let error = await #expect(throws: StorageError.self) {
                try await StorageRouter(configuration: closed).backup(to: URL(fileURLWithPath: kit.kit.path + "2"), openedBy: [kit.secret])
            }
            #expect(error?.code == .locked)
        }

        @Test func `a backup contains damaged rows, and verification counts them`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            try PlainDatabase(path: kit.stage.directory.file("root") + "/data/databases/main.sqlite").execute(
                "UPDATE records SET version = version + 1")
            try await kit.backup()
            let verified = try await StorageRouter.verifyBackup(at: kit.kit, with: kit.secret)
            #expect(verified.stores.first { $0.name == "encryptedSQLite(main)" }?.damagedRows == 1)
            #expect(verified.stores.first { $0.name == "encryptedSQLite(main)" }?.hasProvenRows == false)
        }

        @Test func `writers continue during a backup, and the backup has the state at its start`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            let router = kit.router()
            let values = (0..<3_000).map { "value \($0) \(String(repeating: "x", count: 200))" }
            let numbered = StorageKeyGroup(owner: "Tests", domain: .encryptedSQLite(database: "main"))
            for (number, value) in values.enumerated().prefix(300) {
                try await router.set(value, for: numbered.key("n\(number)", "A value", default: nil))
            }
            let gate = Writes()
            let report = try await router.backup(to: kit.kit, openedBy: [kit.secret], including: [.userDefaults]) { progress in
                guard progress.store == "encryptedSQLite(main)", progress.bytes > 0, gate.isFirst else { return }
                // The locks are released before the stores are copied.
                gate.task = Task { try await router.set("later", for: kit.row) }
            }
            try await gate.task?.value
            #expect(try await router.get(kit.row) == "later")
            try await router.shutdown()
            #expect(!report.stores.isEmpty && report.stores.allSatisfy { !$0.isForeign })
            try await kit.restore(into: "other")
            #expect(try await kit.values("other", keys: [kit.row]) == ["\(BackupStage.marker) row"])
        }

        @Test func `a store that changes while a restore is prepared is not replaced`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            let names = Set(try await kit.backup().stores.map(\.name))
            try await kit.fill("root", "older")
            let list = kit.stage.directory.file("root") + "/preferences/standard.plist"
            let changed = Writes()
            let files = HookedFiles { _, path in
                // The restore writes its drafts (the new files) after it has compared all stores with the backup.
                guard path.contains(".restore-"), changed.isFirst, let content = FileManager.default.contents(atPath: list) else { return }
                try? (content + Data("\n".utf8)).write(to: URL(fileURLWithPath: list))
            }
            let error = await #expect(throws: StorageError.self) { try await kit.restore(into: "root", files, replacing: names) }
            #expect(error?.code == .conflict && changed.isOver)
            #expect(try await kit.values("root") == kit.expected("older"))
            #expect(try kit.files("root").keys.allSatisfy { !$0.contains(".restore-") && !$0.contains(".replaced-") })
        }

        @Test func `a restore compares each database with the backup and replaces it under one lock, which it takes once`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            let names = Set(try await kit.backup().stores.map(\.name))
            try await kit.fill("root", "older")
            let files = HookedFiles()
            try await kit.restore(into: "root", files, replacing: names)
            // The restore took one lock for the database and one for the vault.
            #expect(files.locks("/sqlite-") == 2)
            #expect(try await kit.values("root") == kit.expected())
        }

        @Test func `a backup holds the locks of all stores while it captures their states`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            let root = kit.stage.directory.file("root")
            let free = Mutex<[String]?>(nil)
            let files = HookedFiles { operation, path in
                // The vault is the last store whose state is captured.
                guard operation == "status", path.hasSuffix(".sqlite-wal"), path.contains("/v-") else { return }
                let found = (FileManager.default.subpaths(atPath: root) ?? []).filter { name in
                    guard name.hasSuffix(".lock") else { return false }
                    let descriptor = open("\(root)/\(name)", O_RDWR | O_CLOEXEC)
                    defer { close(descriptor) }
                    return flock(descriptor, LOCK_EX | LOCK_NB) == 0
                }
                free.withLock { $0 = $0 ?? found }
            }
            try await kit.backup("root", files)
            // There are locks for two property lists, two databases and the quarantine.
            #expect(files.locks(".lock") >= 5)
            #expect(free.withLock(\.self) == [])
        }

        @Test func `a backup reports a store that another program changed during the backup`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            let list = kit.stage.directory.file("root") + "/preferences/standard.plist"
            let original = try #require(FileManager.default.contents(atPath: list))
            let changed = Writes()
            let files = HookedFiles { operation, path in
                // The state of the vault is captured after the property list was read, and the locks are still held.
                guard operation == "status", path.hasSuffix(".sqlite-wal"), path.contains("/v-"), changed.isFirst else { return }
                try? (original + Data("\n".utf8)).write(to: URL(fileURLWithPath: list))
            }
            let report = try await kit.backup("root", files)
            #expect(changed.isOver)
            #expect(report.stores.filter(\.isForeign).map(\.name) == ["userDefaults(standard)"])
            let verified = try await StorageRouter.verifyBackup(at: kit.kit, with: kit.secret)
            #expect(verified.stores.filter(\.isForeign).map(\.name) == ["userDefaults(standard)"])
        }
    }
#endif
