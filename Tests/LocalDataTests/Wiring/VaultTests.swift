#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// Programs without a login session. Everything but the keyring works. If the configuration says so, a sealed vault
    /// (an encrypted database) replaces the keyring. The sealing key of a database or vault comes from a key source,
    /// such as a key file or a credential.
    @Suite(.inTurn, .slow("passphrases are stretched without optimisation"), .tags(.process)) struct VaultTests {
        let secret = "correct-horse-battery-staple"

        // MARK: Without D-Bus

        /// Returns the environment of a program that runs without a login session.
        private func withoutSession(_ change: (inout [String: String]) -> Void = { _ in }) -> [String: String] {
            var environment = ProcessInfo.processInfo.environment
            for name in ["DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XDG_DATA_HOME", "CREDENTIALS_DIRECTORY"] {
                environment[name] = nil
            }
            // With this deadline, a program that waited for a keyring would exceed the time limit of every test here.
            environment["WORKER_KEYRING_DEADLINE"] = "600000"
            change(&environment)
            return environment
        }

        @Test func `without a login session, property lists, databases and a vault work at once`() async throws {
            let stage = try Stage()
            let credentials = try stage.directory.folder("credentials")
            try await stage.launch().set("x", for: textKey("a", .encryptedSQLite(database: "main")))
            try FileManager.default.copyItem(atPath: stage.root.path + "/data/sealing-key", toPath: credentials + "/store-key")
            let environment = withoutSession {
                $0["CREDENTIALS_DIRECTORY"] = credentials
                $0["WORKER_PASSPHRASE"] = "open sesame"
                $0["WORKER_VAULT"] = "vault-key"
            }
            let worker = try stage.worker(environment)
            for place in ["suite:plain", "database:main", "database:credential", "database:passphrase", "keychain"] {
                let start = ContinuousClock.now
                let answer = try await worker.run("put", place, "a", "\(secret)-\(place)")
                #expect(answer == "done", "\(place)")
                #expect(try await worker.run("look", place, "a") == "value \(secret)-\(place)")
                // A call over D-Bus times out after 25 seconds. Key derivation takes seconds in a build without
                // optimization.
                let elapsed = ContinuousClock.now - start
                #expect(elapsed < (place == "database:passphrase" ? .seconds(120) : .seconds(20)), "\(place) took \(elapsed)")
                let next = try stage.worker(environment)
                #expect(try await next.run("look", place, "a") == "value \(secret)-\(place)")
            }
            #expect(try stage.traces(of: secret) == ["plain.plist"])
        }

        @Test(arguments: ["vault-key", "credential", "passphrase"])
        func `without a login session, a vault replaces the keyring, and a vault without its key refuses every call`(
            source: String
        ) async throws {
            let stage = try Stage()
            let credentials = try stage.directory.folder("credentials")
            let credential = credentials + "/store-key"
            #expect(FileManager.default.createFile(atPath: credential, contents: Data(KeySourceReference.newKeyText().utf8)))
            let environment = withoutSession {
                $0["CREDENTIALS_DIRECTORY"] = credentials
                $0["WORKER_PASSPHRASE"] = "open sesame"
                $0["WORKER_VAULT"] = source
            }
            let worker = try stage.worker(environment)
            #expect(try await worker.run("seed", "old_key_name", secret) == "done")
            #expect(try await worker.run("get") == "value \(secret)")
            #expect(try await stage.worker(environment).run("look", "keychain", "modern_token") == "value \(secret)")
            #expect(try stage.traces(of: secret).isEmpty)

            var poorer = environment
            let refusal: String
            switch source {
            case "credential": (poorer["CREDENTIALS_DIRECTORY"], refusal) = (nil, "unavailable")
            case "passphrase": (poorer["WORKER_PASSPHRASE"], refusal) = (nil, "locked")
            default:
                try FileManager.default.removeItem(atPath: stage.root.path + "/data/\(source)")
                refusal = "encryptionKeyMissing"
            }
            let next = try stage.worker(poorer)
            for command in [
                ["look", "keychain", "modern_token"], ["put", "keychain", "modern_token", secret], ["put", "keychain", "b", secret],
            ] {
                let answer = try await next.ask(command.joined(separator: " "))
                #expect(answer.hasPrefix("error") && answer.contains(refusal) && !answer.contains(secret), "\(answer)")
            }
            #expect(try stage.traces(of: secret).isEmpty)
        }

        #if Keyring
            @Test func `if there is no session and no vault, the keyring is unavailable at once, and nothing replaces it`() async throws {
                let stage = try Stage()
                let worker = try stage.worker(withoutSession { $0["WORKER_PASSPHRASE"] = "open sesame" })
                try await stage.launch().set("x", for: textKey("a", .encryptedSQLite(database: "main")))
                let before = try FileManager.default.subpathsOfDirectory(atPath: stage.root.path + "/data").sorted()
                let start = ContinuousClock.now
                for command in [["put", "keychain", "a", secret], ["look", "keychain", "a"], ["status"]] {
                    let answer = try await worker.ask(command.joined(separator: " "))
                    #expect(answer.contains("unavailable"), "\(answer)")
                    #expect(!answer.contains(secret))
                }
                #expect(ContinuousClock.now - start < .seconds(20))
                #expect(try FileManager.default.subpathsOfDirectory(atPath: stage.root.path + "/data").sorted() == before)
                #expect(try stage.traces(of: secret).isEmpty)
            }
        #endif

        @Test func `a database without its credential or passphrase is refused with a remedy, and nothing is created`() async throws {
            let stage = try Stage()
            let worker = try stage.worker(withoutSession())
            let credential = try await worker.run("put", "database:credential", "a", secret)
            #expect(credential.contains("unavailable") && credential.contains("CREDENTIALS_DIRECTORY"), "\(credential)")
            let passphrase = try await worker.run("put", "database:passphrase", "a", secret)
            #expect(passphrase.contains("locked") && passphrase.contains("Unlock it"), "\(passphrase)")
            #expect(!FileManager.default.fileExists(atPath: stage.path(ofDatabase: "credential")))
            #expect(!FileManager.default.fileExists(atPath: stage.path(ofDatabase: "passphrase")))
            #expect(try await worker.run("put", "database:main", "a", "v") == "done")
        }

        // MARK: The vault

        private func launch(_ stage: Stage, _ source: KeySourceReference = .keyFile("vault-key")) -> StorageRouter {
            stage.launch {
                $0.keychain = .sealedVault(source)
                $0.passphrase = { _ in "open sesame" }
            }
        }

        @Test func `get moves a value from the property list into the vault and leaves no plaintext`() async throws {
            let stage = try Stage()
            let router = launch(stage)
            let source = textKey("old_key_name", .userDefaults(suite: nil), .none)
            let key = textKey("modern_token", .keychain(service: "com.myapp")).moved(from: source)
            try await router.set(secret, for: source)
            #expect(try await router.get(key) == secret)
            #expect(try stage.traces(of: secret).isEmpty)
            try await router.shutdown()
            #expect(try stage.traces(of: secret).isEmpty)
            #expect(FileManager.default.fileExists(atPath: stage.root.path + "/data/vaults/v-com.myapp.sqlite"))
            #expect(try await launch(stage).get(key) == secret)
            #expect(try await launch(stage).row(of: key).state == .unchanged)
        }

        @Test func `a vault has the protection of its key source, and a catalog that requires a keyring refuses a key on the disk`()
            async throws
        {
            let stage = try Stage()
            let key = AnyStorageKey.key(textKey("token", .keychain))
            let weak = launch(stage)
            try await weak.registerCatalog(TestCatalog([key], minimum: .sealed))
            #expect(try await weak.audit().rows.map(\.protection) == [.sealed])
            await expectRefusal(StorageError.weakerProtection, of: "token") {
                try await launch(stage).registerCatalog(TestCatalog([key], minimum: .keychain))
            }
            await expectRefusal(StorageError.weakerProtection, of: "token") {
                try await launch(stage, .credential("vault")).registerCatalog(TestCatalog([key], minimum: .keychain))
            }
            let strong = launch(stage, .passphrase())
            try await strong.registerCatalog(TestCatalog([key], minimum: .keychain))
            #expect(try await strong.audit().rows.map(\.protection) == [.keychain])
        }

        @Test func `an in-memory vault and database report the protection of the real ones`() async throws {
            func launch(_ source: KeySourceReference) -> StorageRouter {
                var configuration = StorageConfiguration.inMemory()
                configuration.keychain = .sealedVault(source)
                configuration.databaseKeySources["documents"] = source
                return StorageRouter(configuration: configuration)
            }
            let keys = [textKey("token", .keychain), textKey("text", .encryptedSQLite(database: "documents"))]
            for key in keys {
                let catalog = TestCatalog([.key(key)], minimum: .keychain)
                await expectRefusal(StorageError.weakerProtection, of: key.name) {
                    try await launch(.keyFile("vault-key")).registerCatalog(catalog)
                }
                try await launch(.passphrase()).registerCatalog(catalog)
            }
            await expectRefusal(StorageError.unavailable, of: "token", saying: "sealedVault") {
                try await launch(.keychain).set("v", for: keys[0])
            }
        }

        @Test(arguments: [KeySourceReference.keychain, .keychain(service: "other", name: "key"), .configured])
        func `a vault is refused if its key would be in the keyring that it replaces, and nothing is created`(
            source: KeySourceReference
        ) async throws {
            let stage = try Stage()
            let router = stage.launch {
                $0.keySource = .keychain
                $0.keychain = .sealedVault(source)
            }
            let key = textKey("token", .keychain)
            for _ in 0..<2 {
                await expectRefusal(StorageError.unavailable, of: "token", saying: "key file") { try await router.set(secret, for: key) }
                await expectRefusal(StorageError.unavailable, of: "token", saying: "key file") { _ = try await router.get(key) }
            }
            #expect(!FileManager.default.fileExists(atPath: stage.root.path + "/data"))
        }

        @Test func `sealing keys that belong into the keyring are stored in the vault that replaces the keyring`() async throws {
            let stage = try Stage()
            func launch() -> StorageRouter {
                stage.launch {
                    $0.keySource = .keychain
                    $0.keychain = .sealedVault(.keyFile("vault-key"))
                }
            }
            let router = launch()
            let keys = [textKey("a", .encryptedSQLite(database: "main")), textKey("b", .userDefaults, .encrypted), textKey("c", .keychain)]
            for key in keys { try await router.set(secret, for: key) }
            for key in keys { #expect(try await launch().get(key) == secret) }
            #expect(try stage.traces(of: secret).isEmpty)
            try await router.registerCatalog(TestCatalog(keys.map { .key($0) }))
            #expect(try await router.audit().rows.map(\.protection) == [.sealed, .sealed, .sealed])
        }

        @Test func `keyring services with any names have separate vaults in one folder`() async throws {
            let stage = try Stage()
            let router = launch(stage)
            let services = [
                "com.example", "com/example", "../com.example", "..", ".", "a b", "a_b", "a_5fb", "_61", "A", "a", "é", "file:x?y=z", "%41",
                "-", "~",
            ]
            for service in services { try await router.set("of \(service)", for: textKey("a", .keychain(service: service))) }
            let next = launch(stage)
            for service in services { #expect(try await next.get(textKey("a", .keychain(service: service))) == "of \(service)") }
            let files = try FileManager.default.contentsOfDirectory(atPath: stage.root.path + "/data/vaults")
            #expect(files.filter { $0.hasSuffix(".sqlite") }.count == services.count)
            #expect(try FileManager.default.contentsOfDirectory(atPath: stage.root.path + "/data").sorted() == ["vault-key", "vaults"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: stage.directory.path) == ["root"])
        }

        @Test func `a vault whose key is missing gets no new key`() async throws {
            let stage = try Stage()
            let key = textKey("token", .keychain)
            try await launch(stage).set(secret, for: key)
            for folder in ["/data/vault-key", "/state"] { try FileManager.default.removeItem(atPath: stage.root.path + folder) }
            for place in [key, textKey("token", .keychain(service: "another"))] {
                await expectRefusal(StorageError.encryptionKeyMissing, of: "token", saying: "Restore") {
                    try await launch(stage).set("new", for: place)
                }
            }
            #expect(!FileManager.default.fileExists(atPath: stage.root.path + "/data/vault-key"))
        }
    }
#endif
