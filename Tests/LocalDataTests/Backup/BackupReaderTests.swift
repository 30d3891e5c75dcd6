#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import LocalDataBackup
    import TestSupport
    import Testing

    /// Backups that a Python script reads, and a restore after the keyring was wiped.
    ///
    /// The script was written from the format description alone, so it shows that the description is complete.
    @Suite(.inTurn) struct BackupReaderTests {
        private struct Opened: Decodable {
            struct Store: Decodable {
                struct Database: Decodable {
                    struct Record: Decodable {
                        let name: String?
                        let payload: String?
                    }
                    let records: [Record]
                }
                struct Item: Decodable {
                    let name: String
                }
                let kind, scope: String
                let content: String?
                let database: Database?
                let items: [Item]?
            }
            struct Key: Decodable {
                let form, name: String
            }
            let stores: [Store]
            let keys: [Key]
        }

        private func open(_ kit: BackupStage, _ secret: String) async throws -> ProgramResult {
            let script = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
                .appending(path: "Fixtures/backups/kit.py").path
            return try await run("/usr/bin/python3", ["-B", script, "open", kit.kit.path], input: secret + "\n")
        }

        @Test func `an independent program opens a backup with its passphrase and with its recovery key`() async throws {
            let kit = try BackupStage()
            try await kit.fill()
            let router = kit.router()
            let key = try await router.addRecoveryKey(to: .encryptedSQLite(database: "main"))
            try await router.backup(to: kit.kit, openedBy: [kit.secret, .recoveryKey(key)], including: [.userDefaults])
            try await router.shutdown()
            for secret in ["correct horse battery staple", key.text] {
                let result = try await open(kit, secret)
                #expect(result.status == 0, "\(result.stderr)")
                let opened = try JSONDecoder().decode(Opened.self, from: Data(result.stdout.utf8))
                let list = try #require(opened.stores.first { $0.kind == "userDefaults" }?.content.flatMap { Data(base64Encoded: $0) })
                #expect(list.range(of: Data("\(BackupStage.marker) plain".utf8)) != nil)
                #expect(opened.stores.first { $0.kind == "encryptedSQLite" }?.database?.records.map(\.name) == ["row"])
                #expect(opened.stores.first { $0.kind == "vault" }?.database?.records.map(\.name) == ["vault"])
                #expect(opened.keys.map(\.name) == ["sealing-key"])
            }
            #expect(try await open(kit, "another").status == 2)
            var bytes = try Data(contentsOf: kit.kit)
            bytes[bytes.count - 20] ^= 1
            try bytes.write(to: kit.kit)
            #expect(try await open(kit, key.text).status == 1)
        }

        #if Keyring
            @Test(.tags(.keyring)) func `a restore brings back values and keys after the keyring and the disk were wiped`() async throws {
                let kit = try BackupStage(keyring: true)
                func configuration(_ root: String) -> StorageConfiguration {
                    var configuration = kit.configuration(root)
                    configuration.keychain = .session
                    configuration.keySource = .keychain
                    return configuration
                }
                let item = textKey("token", .keychain).moved(from: textKey("older", .keychain))
                let router = StorageRouter(configuration: configuration("root"))
                try await router.set("older", for: textKey("older", .keychain))
                _ = try await router.get(item)
                try await router.remove(textKey("gone", .keychain).moved(from: textKey("older gone", .keychain)))
                for key in [kit.plain, kit.sealed, kit.row] { try await router.set("\(BackupStage.marker) \(key.name)", for: key) }
                let made = try await router.backup(to: kit.kit, openedBy: [kit.secret])
                #expect(made.stores.map(\.kind).contains("keychain"))
                #expect(made.keys == ["keyring item LocalData sealing key"])
                let opened = try await open(kit, "correct horse battery staple")
                #expect(opened.status == 0, "\(opened.stderr)")
                let items = try JSONDecoder().decode(Opened.self, from: Data(opened.stdout.utf8)).stores.flatMap { $0.items ?? [] }
                #expect(items.map(\.name) == ["gone", "token"])
                // A newer value in the keyring blocks the restore, unless `replacing` names the keyring.
                try await router.set("newer", for: item)
                let replaced = try await #require(throws: StorageError.self) {
                    try await StorageRouter.restore(from: kit.kit, with: kit.secret, into: configuration("other"))
                }
                #expect(replaced.code == .conflict && replaced.message.contains("keychain("))
                // Wipe the keyring and the folder.
                _ = try await run(
                    "secret-tool", ["clear", "service", kit.stage.service], environment: try #require(kit.stage.keyring).environment)
                try await router.shutdown()
                try FileManager.default.removeItem(atPath: kit.stage.directory.file("root"))
                let report = try await StorageRouter.restore(from: kit.kit, with: kit.secret, into: configuration("other"))
                #expect(report.restored.contains("keychain(\(kit.stage.service))"), "\(report)")
                let next = StorageRouter(configuration: configuration("other"))
                #expect(try await next.get(item) == "older")
                for key in [kit.plain, kit.sealed, kit.row] { #expect(try await next.get(key) == "\(BackupStage.marker) \(key.name)") }
                #expect(try await next.value(for: textKey("gone", .keychain)) == nil)
                try await next.shutdown()
            }

            @Test(.tags(.keyring), arguments: ["username", "account"])
            func `a restore keeps replaced items that have the format of another program, and that program does not find them`(
                _ attribute: String
            ) async throws {
                let kit = try BackupStage(keyring: true)
                let service = kit.stage.service
                let style: KeyringStyle = attribute == "username" ? .pythonKeyring : .secretTool()
                func configuration(_ root: String) -> StorageConfiguration {
                    var configuration = kit.configuration(root)
                    configuration.keychain = .session
                    configuration.keychainStyles[service] = style
                    return configuration
                }
                let environment = try #require(kit.stage.keyring).environment
                func lookup(_ service: String, _ attribute: String, _ name: String) async throws -> String {
                    try await run("secret-tool", ["lookup", "service", service, attribute, name], environment: environment).stdout
                }
                let (token, added) = (textKey("token", .keychain), textKey("added", .keychain))
                let router = StorageRouter(configuration: configuration("root"))
                try await router.set("older", for: token)
                try await router.backup(to: kit.kit, openedBy: [kit.secret])
                try await router.set("newer", for: token)
                try await router.set("later", for: added)
                try await router.shutdown()
                let name = "keychain(\(service))"
                let report = try await StorageRouter.restore(
                    from: kit.kit, with: kit.secret, into: configuration("other"), replacing: [name])
                #expect(report.restored.contains(name), "\(report)")
                #expect(report.kept.contains { $0.hasPrefix("keychain(replaced:\(service)), namespace replaced:") }, "\(report)")
                #expect(try await lookup(service, attribute, "token") == "older")
                #expect(try await lookup(service, attribute, "added").isEmpty)
                #expect(try await lookup("replaced:\(service)", "account", "token") == "newer")
                #expect(try await lookup("replaced:\(service)", "account", "added") == "later")
            }
        #endif
    }
#endif
