#if Configuration
    import Configuration
    import Foundation
    import LocalData
    import LocalDataConfiguration
    import LocalDataTesting
    import Logging
    import Testing

    /// The provider for swift-configuration: reloads, locked keyrings, and the secrecy of its texts.
    @Suite("StorageConfigProvider: reload and locks") struct StorageConfigReloadTests {
        private static let secret = "s3cr3t-t0ken"
        private static let token = StorageKey<String>(name: "api-token", domain: .keychain)
        private static let port = StorageKey<Int>(name: "http.port", domain: .userDefaults)

        private let machine = TestMachine()

        /// Starts a program with a token and a port, and creates its provider.
        private func launch() async throws -> (StorageRouter, StorageConfigProvider) {
            let storage = machine.launch()
            try await storage.set(Self.secret, for: Self.token)
            try await storage.set(8080, for: Self.port)
            return (storage, try await StorageConfigProvider(storage, keys: ["api.token": .key(Self.token)]))
        }

        @Test("get returns the values in memory, and fetch and reload read the stores")
        func freshness() async throws {
            let (storage, provider) = try await launch()
            let config = ConfigReader(provider: provider)
            try await storage.set(9090, for: Self.port)
            try await storage.set("new", for: Self.token)
            #expect(config.int(forKey: "http.port") == 8080)
            #expect(try await config.fetchInt(forKey: "http.port") == 9090)
            #expect(config.int(forKey: "http.port") == 9090)
            #expect(config.string(forKey: "api.token") == Self.secret)
            try await provider.reload()
            #expect(config.string(forKey: "api.token") == "new")
        }

        @Test("a removed value is nil after a fetch or a reload, and a new entry is found by both")
        func removals() async throws {
            let (storage, provider) = try await launch()
            try await storage.remove(Self.port)
            try await storage.remove(Self.token)
            #expect(try await provider.fetchValue(forKey: "http.port", type: .int).value == nil)
            #expect(try provider.value(forKey: "http.port", type: .int).value == nil)
            try await provider.reload()
            #expect(try provider.value(forKey: "api.token", type: .string).value == nil)
            try await storage.set(1, for: StorageKey(name: "a", domain: .userDefaults))
            try await storage.set(2, for: StorageKey(name: "b", domain: .userDefaults))
            #expect(try provider.value(forKey: "a", type: .int).value == nil)
            #expect(try await provider.fetchValue(forKey: "a", type: .int).value?.content == .int(1))
            try await provider.reload()
            #expect(try provider.value(forKey: "b", type: .int).value?.content == .int(2))
        }

        @Test("a removed entry that a reload no longer lists is nil")
        func unlistedEntries() async throws {
            let (storage, provider) = try await launch()
            try await storage.remove(Self.port)
            try await provider.reload()
            #expect(try provider.value(forKey: "http.port", type: .int).value == nil)
        }

        @Test("while the keyring is locked, get returns the last secret, fetch and reload throw, and no prompt opens")
        func lockedLater() async throws {
            let (storage, provider) = try await launch()
            machine.lock(.keychain)
            try await storage.set(9090, for: Self.port)
            #expect(await ConfigTest.code { _ = try await provider.fetchValue(forKey: "api.token", type: .string) } == StorageError.locked)
            #expect(await ConfigTest.code { try await provider.reload() } == StorageError.locked)
            #expect(try provider.value(forKey: "api.token", type: .string).value?.content == .string(Self.secret))
            // The values of other stores are reloaded nevertheless.
            #expect(try provider.value(forKey: "http.port", type: .int).value?.content == .int(9090))
            let keyrings = machine.backends(of: .keychain)
            #expect(!keyrings.isEmpty && keyrings.allSatisfy { $0.unlockCount == 0 })
        }

        @Test("a secret that was never read is an error and not absent, until the keyring is unlocked and the provider is reloaded")
        func lockedAtFirst() async throws {
            _ = try await launch()
            machine.lock(.keychain)
            let provider = try await StorageConfigProvider(machine.launch(), keys: ["api.token": .key(Self.token)])
            let config = ConfigReader(provider: provider)
            #expect(config.int(forKey: "http.port") == 8080)
            #expect(await ConfigTest.code { _ = try config.requiredString(forKey: "api.token") } == StorageError.locked)
            #expect(config.string(forKey: "api.token", default: "none") == "none")
            machine.unlock(.keychain)
            #expect(await ConfigTest.code { _ = try config.requiredString(forKey: "api.token") } == StorageError.locked)
            try await provider.reload()
            #expect(try config.requiredString(forKey: "api.token") == Self.secret)
        }

        @Test("the entries of a domain that was never listed are errors, and not absent")
        func unlistedDomain() async throws {
            _ = try await launch()
            machine.lock(.keychain)
            let storage = machine.launch()
            let provider = try await StorageConfigProvider(storage, domains: [.userDefaults, .keychain])
            #expect(try provider.value(forKey: "http.port", type: .int).value?.content == .int(8080))
            #expect(await ConfigTest.code { _ = try provider.value(forKey: "api-token", type: .string) } == StorageError.locked)
            #expect(await ConfigTest.code { _ = try provider.value(forKey: "unknown", type: .string) } == StorageError.locked)
            machine.unlock(.keychain)
            try await provider.reload()
            #expect(try provider.value(forKey: "api-token", type: .string).value?.content == .string(Self.secret))
            #expect(try provider.value(forKey: "unknown", type: .string).value == nil)
            machine.lock(.keychain)
            #expect(await ConfigTest.code { try await provider.reload() } == StorageError.locked)
            #expect(try provider.value(forKey: "api-token", type: .string).value?.content == .string(Self.secret))
        }

        @Test("a router that the program has locked gives the same results as a locked keyring")
        func lockedByProgram() async throws {
            let (storage, provider) = try await launch()
            try await storage.lock()
            #expect(await ConfigTest.code { _ = try await provider.fetchValue(forKey: "api.token", type: .string) } == StorageError.locked)
            #expect(await ConfigTest.code { try await provider.reload() } == StorageError.locked)
            #expect(try provider.value(forKey: "api.token", type: .string).value?.content == .string(Self.secret))
            try await storage.unlock()
            try await provider.reload()
        }

        @Test("forgotten secrets are locked until they are read again, and other values stay")
        func forgottenSecrets() async throws {
            let (_, provider) = try await launch()
            provider.forgetSecrets()
            #expect(await ConfigTest.code { _ = try provider.value(forKey: "api.token", type: .string) } == StorageError.locked)
            #expect(try provider.value(forKey: "http.port", type: .int).value?.content == .int(8080))
            #expect(try await provider.fetchValue(forKey: "api.token", type: .string).value?.content == .string(Self.secret))
            #expect(try provider.value(forKey: "api.token", type: .string).value?.content == .string(Self.secret))
        }

        @Test("a reload that is cancelled replaces nothing")
        func cancelledReload() async throws {
            let (storage, provider) = try await launch()
            try await storage.set(9090, for: Self.port)
            let reload = Task {
                while !Task.isCancelled { await Task.yield() }
                return await ConfigTest.code { try await provider.reload() }
            }
            reload.cancel()
            #expect(await reload.value == StorageError.cancelled)
            #expect(try provider.value(forKey: "http.port", type: .int).value?.content == .int(8080))
        }

        @Test("no text of the provider, of its values, its errors and its log contains a secret")
        func secrecy() async throws {
            let lines = ConfigLog.Lines()
            let machine = TestMachine { $0.logger = Logger(label: "test") { _ in ConfigLog(lines) } }
            let storage = machine.launch()
            try await storage.set(Self.secret, for: Self.token)
            try await storage.set(Self.secret, for: StorageKey(name: "sealed", domain: .userDefaults, security: .encrypted))
            let wrong = StorageKey<Int>(name: "api-token", domain: .keychain)
            let provider = try await StorageConfigProvider(storage, keys: ["api.token": .key(Self.token), "wrong": .key(wrong)])
            let value = try #require(try provider.value(forKey: "api.token", type: .string).value)
            var texts = ["\(provider)", String(reflecting: provider), "\(value)"]
            let subjects: [Any] = [provider, provider.snapshot()]
            for subject in subjects {
                var dumped = ""
                dump(subject, to: &dumped)
                texts += [dumped, "\(subject)", String(reflecting: subject)]
            }
            let refused: [(AbsoluteConfigKey, ConfigType)] = [("api.token", .int), ("wrong", .int), ("sealed", .string)]
            for (key, type) in refused {
                do {
                    _ = try await provider.fetchValue(forKey: key, type: type)
                    Issue.record("nothing was thrown for \(key)")
                } catch {
                    var dumped = ""
                    dump(error, to: &dumped)
                    texts += ["\(error)", error.localizedDescription, dumped]
                }
            }
            machine.lock(.keychain)
            _ = try? await provider.reload()
            #expect(!lines.all.isEmpty)
            for text in texts + lines.all { #expect(!text.contains(Self.secret), "\(text)") }
            #expect(String(reflecting: provider).contains("api.token"))
        }
    }
#endif
