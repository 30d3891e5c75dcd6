#if Configuration
    import Configuration
    import ConfigurationTesting
    import Foundation
    import LocalData
    import LocalDataConfiguration
    import LocalDataTesting
    import TestSupport
    import Testing

    /// The provider for swift-configuration: the values that it finds, and their types.
    @Suite("StorageConfigProvider", .inTurn, .tags(.keyring)) struct StorageConfigProviderTests {
        private static let token = StorageKey<String>(name: "api-token", domain: .keychain)
        private static let secret = "s3cr3t-t0ken"

        /// Stores the values that `ProviderCompatTest` expects.
        /// - Returns: The key of each value, by its name.
        private static func storeExpected(_ storage: StorageRouter, _ domain: StorageDomain) async throws -> [String: AnyStorageKey] {
            var keys: [String: AnyStorageKey] = [:]
            func store<Value>(_ value: Value, _ name: String) async throws where Value: Codable & Sendable {
                let key = StorageKey<Value>(name: name, domain: domain)
                try await storage.set(value, for: key)
                keys[name] = .key(key)
            }
            let (magic, magic2) = (Data("magic".utf8), Data("magic2".utf8))
            try await store("Hello", "string")
            try await store("Other Hello", "other.string")
            try await store(42, "int")
            try await store(24, "other.int")
            try await store(3.14, "double")
            try await store(2.72, "other.double")
            try await store(true, "bool")
            try await store(false, "other.bool")
            try await store(magic, "bytes")
            try await store(magic2, "other.bytes")
            try await store(["Hello", "World"], "stringy.array")
            try await store(["Hello", "Swift"], "other.stringy.array")
            try await store([42, 24], "inty.array")
            try await store([16, 32], "other.inty.array")
            try await store([3.14, 2.72], "doubly.array")
            try await store([0.9, 1.8], "other.doubly.array")
            try await store([true, false], "booly.array")
            try await store([false, true, true], "other.booly.array")
            try await store([magic, magic2], "byteChunky.array")
            try await store([magic, magic2, magic], "other.byteChunky.array")
            return keys
        }

        @Test("the entries of each kind of real store pass the provider tests of swift-configuration", arguments: ConfigTest.realDomains)
        func entriesOfDomains(_ domain: StorageDomain) async throws {
            try await ConfigTest.restarting(domain) {
                try await Self.storeExpected($0, domain)
            } _: { storage, _ in
                try await ProviderCompatTest(provider: try await StorageConfigProvider(storage, domains: [domain])).runTest()
            }
        }

        @Test("typed keys in each kind of real store pass the provider tests of swift-configuration", arguments: ConfigTest.realDomains)
        func valuesOfKeys(_ domain: StorageDomain) async throws {
            try await ConfigTest.restarting(domain) {
                try await Self.storeExpected($0, domain)
            } _: { storage, keys in
                try await ProviderCompatTest(provider: try await StorageConfigProvider(storage, domains: [], keys: keys)).runTest()
            }
        }

        @Test("the entries of a domain in memory, and typed keys in it, pass the provider tests of swift-configuration")
        func valuesInMemory() async throws {
            let storage = StorageRouter(configuration: .inMemory())
            let keys = try await Self.storeExpected(storage, .memory())
            try await ProviderCompatTest(provider: try await StorageConfigProvider(storage, domains: [.memory()])).runTest()
            try await ProviderCompatTest(provider: try await StorageConfigProvider(storage, domains: [], keys: keys)).runTest()
        }

        @Test("the entries that another program wrote to the user defaults pass the provider tests of swift-configuration")
        func entriesOfOtherPrograms() async throws {
            let machine = TestMachine()
            let (magic, magic2) = (Array("magic".utf8), Array("magic2".utf8))
            machine.seedUserDefaults([
                "string": .string("Hello"), "other.string": .string("Other Hello"), "int": .integer(42), "other.int": .integer(24),
                "double": .real(3.14), "other.double": .real(2.72), "bool": .boolean(true), "other.bool": .boolean(false),
                "bytes": .data(magic), "other.bytes": .data(magic2),
                "stringy.array": .array([.string("Hello"), .string("World")]),
                "other.stringy.array": .array([.string("Hello"), .string("Swift")]),
                "inty.array": .array([.integer(42), .integer(24)]), "other.inty.array": .array([.integer(16), .integer(32)]),
                "doubly.array": .array([.real(3.14), .real(2.72)]), "other.doubly.array": .array([.real(0.9), .real(1.8)]),
                "booly.array": .array([.boolean(true), .boolean(false)]),
                "other.booly.array": .array([.boolean(false), .boolean(true), .boolean(true)]),
                "byteChunky.array": .array([.data(magic), .data(magic2)]),
                "other.byteChunky.array": .array([.data(magic), .data(magic2), .data(magic)]),
            ])
            try await ProviderCompatTest(provider: try await StorageConfigProvider(machine.launch())).runTest()
        }

        @Test("values in a keyring, in a database and sealed values are secrets, and plain user defaults are not")
        func secrets() async throws {
            let storage = StorageRouter(configuration: .inMemory())
            let database = StorageKey<String>(name: "password", domain: .encryptedSQLite(database: "main"))
            let sealed = StorageKey<String>(name: "sealed", domain: .userDefaults, security: .encrypted)
            let plain = StorageKey<String>(name: "plain", domain: .userDefaults)
            for key in [Self.token, database, sealed, plain] { try await storage.set(Self.secret, for: key) }
            let provider = try await StorageConfigProvider(
                storage, keys: ["api.token": .key(Self.token), "db.password": .key(database), "db.pin": .key(sealed), "text": .key(plain)])
            for (key, isSecret) in [("api.token", true), ("db.password", true), ("db.pin", true), ("text", false), ("plain", false)] {
                let components = key.split(separator: ".").map(String.init)
                let found = try provider.value(forKey: AbsoluteConfigKey(components), type: .string)
                #expect(found.value == ConfigValue(.string(Self.secret), isSecret: isSecret), "\(key)")
                let fetched = try await provider.fetchValue(forKey: AbsoluteConfigKey(components), type: .string)
                #expect(fetched == found, "\(key)")
            }
        }

        @Test("a name in the dictionary of keys never leads to an entry of a domain, even if the key has no value")
        func declaredNames() async throws {
            let machine = TestMachine()
            machine.seedUserDefaults(["api.token": .string("planted"), "shared": .integer(1)])
            machine.seedUserDefaults(["shared": .integer(2), "second": .integer(3)], suite: "other")
            let provider = try await StorageConfigProvider(
                machine.launch(), domains: [.userDefaults, .userDefaults(suite: "other")], keys: ["api.token": .key(Self.token)])
            #expect(try provider.value(forKey: "api.token", type: .string).value == nil)
            #expect(try await provider.fetchValue(forKey: "api.token", type: .string).value == nil)
            #expect(try provider.value(forKey: "shared", type: .int).value?.content == .int(1))
            #expect(try await provider.fetchValue(forKey: "second", type: .int).value?.content == .int(3))
        }

        @Test("a value of another type is an error of the provider, and a reader then uses its default")
        func otherTypes() async throws {
            let machine = TestMachine()
            machine.seedUserDefaults([
                "text": .string("abc"), "number": .string("42"), "half": .real(0.5), "mixed": .array([.integer(1), .string("a")]),
                "object": .dictionary(["a": .integer(1)]),
            ])
            let provider = try await StorageConfigProvider(machine.launch())
            let wrong: [(AbsoluteConfigKey, ConfigType)] = [
                ("text", .int), ("text", .bool), ("text", .bytes), ("text", .stringArray), ("number", .int), ("half", .int),
                ("mixed", .intArray), ("mixed", .stringArray), ("object", .string),
            ]
            for (key, type) in wrong {
                let got = await ConfigTest.code { _ = try provider.value(forKey: key, type: type) }
                let fetched = await ConfigTest.code { _ = try await provider.fetchValue(forKey: key, type: type) }
                #expect(got == StorageError.undecodable, "\(key) as \(type)")
                #expect(fetched == StorageError.undecodable, "\(key) as \(type)")
            }
            let config = ConfigReader(provider: provider)
            #expect(config.int(forKey: "text") == nil)
            #expect(config.int(forKey: "text", default: 7) == 7)
            #expect(throws: StorageError.self) { try config.requiredInt(forKey: "text") }
        }

        @Test("numbers and booleans are converted if the result is exact")
        func conversions() async throws {
            let machine = TestMachine()
            machine.seedUserDefaults(["whole": .real(3), "one": .integer(1), "yes": .boolean(true), "none": .array([])])
            let provider = try await StorageConfigProvider(machine.launch())
            func content(_ key: AbsoluteConfigKey, _ type: ConfigType) throws -> ConfigContent? {
                try provider.value(forKey: key, type: type).value?.content
            }
            #expect(try content("whole", .int) == .int(3))
            #expect(try content("one", .double) == .double(1))
            #expect(try content("one", .bool) == .bool(true))
            #expect(try content("yes", .int) == .int(1))
            #expect(try content("none", .stringArray) == .stringArray([]))
            #expect(try content("none", .byteChunkArray) == .byteChunkArray([]))
        }

        @Test("an entry without a readable form fails only when it is asked for")
        func unreadableEntries() async throws {
            let storage = StorageRouter(configuration: .inMemory())
            try await storage.set(Self.secret, for: StorageKey(name: "sealed", domain: .userDefaults, security: .encrypted))
            try await storage.set(8080, for: StorageKey(name: "http.port", domain: .userDefaults))
            let provider = try await StorageConfigProvider(storage)
            try await provider.reload()
            #expect(try provider.value(forKey: "http.port", type: .int).value?.content == .int(8080))
            let code = await ConfigTest.code { _ = try provider.value(forKey: "sealed", type: .string) }
            #expect(code == StorageError.undecodable)
        }

        @Test("a router that requires registration shows only registered entries")
        func registration() async throws {
            let machine = TestMachine { $0.requiresRegistration = true }
            machine.seedUserDefaults(["http.port": .integer(8080), "other": .integer(1)])
            let storage = machine.launch()
            try await storage.registerCatalog(HTTPKeys())
            let provider = try await StorageConfigProvider(storage)
            try await provider.reload()
            #expect(try provider.value(forKey: "http.port", type: .int).value?.content == .int(8080))
            #expect(try provider.value(forKey: "other", type: .int).value == nil)
            #expect(try await provider.fetchValue(forKey: "other", type: .int).value == nil)
        }

        private struct HTTPKeys: StorageKeyCatalog {
            var allKeys: [AnyStorageKey] {
                [.key(StorageKey<Int>(name: "http.port", domain: .userDefaults, owner: "HTTP", description: "The port"))]
            }
        }

        @Test("a collection is refused, because it is not a single value")
        func collections() async {
            let notes = StorageCollection<Note>("notes", domain: .userDefaults, owner: "Tests", description: "Notes")
            let code = await ConfigTest.code {
                _ = try await StorageConfigProvider(StorageRouter(configuration: .inMemory()), keys: ["notes": .collection(notes)])
            }
            #expect(code == StorageError.unsupported)
        }

        private struct Note: Codable, Sendable, Identifiable { var id: String }
    }
#endif
