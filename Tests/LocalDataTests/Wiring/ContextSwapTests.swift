#if SQLite
    import Foundation
    import LocalData
    import LocalDataBackup
    import TestSupport
    import Testing

    /// Databases and vaults with the same key file, whose files an attacker with write access to the folder swaps.
    ///
    /// A vault is an encrypted database that replaces the keyring. All encrypted data is bound to a name, the sealing
    /// context, and does not open under another name. By default, it is the application id.
    @Suite(.inTurn) struct ContextSwapTests {
        private let directory: TemporaryDirectory

        init() throws { directory = try TemporaryDirectory() }

        /// Returns a router over a folder. All routers share one key file.
        private func router(_ folder: String, application: String = "com.example", context: String? = nil) -> StorageRouter {
            var configuration = StorageConfiguration(root: URL(filePath: directory.file(folder)), applicationID: application)
            configuration.keySource = .keyFile(directory.file("shared-key"))
            configuration.keychain = .sealedVault(.configured)
            configuration.sealingContext = context
            return StorageRouter(configuration: configuration)
        }

        private func file(_ folder: String, _ path: String) -> String { directory.file("\(folder)/data/\(path)") }

        private func put(_ domain: StorageDomain, _ router: StorageRouter) async throws {
            try await router.set("in \(domain)", for: textKey("a", domain))
            try await router.shutdown()
        }

        private func swap(_ one: String, _ other: String) throws {
            let aside = directory.file("aside")
            for (from, to) in [(one, aside), (other, one), (aside, other)] { try FileManager.default.moveItem(atPath: from, toPath: to) }
        }

        private func expectWrongContext(_ domain: StorageDomain, _ router: StorageRouter, _ names: String...) async {
            await #expect {
                _ = try await router.get(textKey("a", domain))
            } throws: { error in
                guard let error = error as? StorageError else { return false }
                return error.code == .wrongContext && names.allSatisfy { error.message.contains("\"\($0)\"") }
            }
            await expectRefusal(StorageError.wrongContext) { try await router.set("x", for: textKey("a", domain)) }
        }

        @Test(arguments: [false, true])
        func `two swapped databases, or two swapped vaults, of one application do not open`(_ areVaults: Bool) async throws {
            let (bank, chat): (StorageDomain, StorageDomain) =
                areVaults
                ? (.keychain(service: "bank"), .keychain(service: "chat"))
                : (.encryptedSQLite(database: "bank"), .encryptedSQLite(database: "chat"))
            for domain in [bank, chat] { try await put(domain, router("one")) }
            let files = ["bank", "chat"].map { file("one", areVaults ? "vaults/v-\($0).sqlite" : "databases/\($0).sqlite") }
            try swap(files[0], files[1])
            let router = router("one")
            await expectWrongContext(bank, router, "bank", "chat")
            await expectWrongContext(chat, router, "bank", "chat")
            try await router.shutdown()
            try swap(files[0], files[1])
            let again = self.router("one")
            #expect(try await again.get(textKey("a", bank)) == "in \(bank)")
            #expect(try await again.get(textKey("a", chat)) == "in \(chat)")
            try await again.shutdown()
        }

        @Test func `a vault file does not open as a database, and a database file does not open as a vault`() async throws {
            try await put(.keychain(service: "bank"), router("one"))
            try await put(.encryptedSQLite(database: "v-bank"), router("one"))
            try swap(file("one", "vaults/v-bank.sqlite"), file("one", "databases/v-bank.sqlite"))
            let router = router("one")
            await expectWrongContext(.keychain(service: "bank"), router, "bank", "v-bank")
            await expectWrongContext(.encryptedSQLite(database: "v-bank"), router, "bank", "v-bank")
            try await router.shutdown()
        }

        @Test func `a database does not open for another application or sealing context, and opens for a shared context`() async throws {
            let domain = StorageDomain.encryptedSQLite(database: "main")
            try await put(domain, router("one", application: "com.one"))
            try await put(domain, router("two", application: "com.two"))
            try await put(domain, router("a", context: "tenant a"))
            try await put(domain, router("b", context: "tenant b"))
            try await put(domain, router("c", application: "com.three", context: "family"))
            try swap(file("one", "databases/main.sqlite"), file("two", "databases/main.sqlite"))
            await expectWrongContext(domain, router("one", application: "com.one"), "com.one", "com.two")
            try swap(file("a", "databases/main.sqlite"), file("b", "databases/main.sqlite"))
            await expectWrongContext(domain, router("a", context: "tenant a"), "tenant a", "tenant b")
            #expect(try await router("c", application: "com.four", context: "family").get(textKey("a", domain)) == "in \(domain)")
        }

        @Test func `a database file with another name and application opens only after adopt was called with the old ones`() async throws {
            let (bank, chat) = (StorageDomain.encryptedSQLite(database: "bank"), StorageDomain.encryptedSQLite(database: "chat"))
            try await put(bank, router("one", application: "com.one"))
            try FileManager.default.createDirectory(atPath: file("two", "databases"), withIntermediateDirectories: true)
            try FileManager.default.moveItem(atPath: file("one", "databases/bank.sqlite"), toPath: file("two", "databases/chat.sqlite"))
            let router = router("two", application: "com.two")
            await expectWrongContext(chat, router, "bank", "chat", "com.one", "com.two")
            await expectRefusal(StorageError.wrongContext) { try await router.adopt(chat) }
            await expectRefusal(StorageError.wrongContext) { try await router.adopt(chat, from: bank) }
            await expectRefusal(StorageError.wrongContext) { try await router.adopt(chat, application: "com.one") }
            await expectWrongContext(chat, router, "bank", "chat")
            try await router.adopt(chat, from: bank, application: "com.one")
            #expect(try await router.get(textKey("a", chat)) == "in \(bank)")
            await expectRefusal(StorageError.unsupported) { try await router.adopt(.userDefaults(suite: "list")) }
            await expectRefusal(StorageError.unavailable) { try await router.adopt(.encryptedSQLite(database: "none")) }
            try await router.shutdown()
        }
    }
#endif
