#if Configuration
    import Configuration
    import LocalData
    import LocalDataConfiguration
    import LocalDataTesting
    import Testing

    /// The provider for swift-configuration: watches follow the stores.
    @Suite("StorageConfigProvider: watch") struct StorageConfigWatchTests {
        private static let token = StorageKey<String>(name: "api-token", domain: .keychain)
        private static let port = StorageKey<Int>(name: "http.port", domain: .userDefaults)

        @Test("a watched value begins with the current one, and changes and removals of the router follow", .timeLimit(.minutes(10)))
        func changes() async throws {
            let storage = StorageRouter(configuration: .inMemory())
            let provider = try await StorageConfigProvider(storage)
            let seen = try await provider.watchValue(forKey: "http.port", type: .int) { updates in
                var seen: [String] = []
                for await update in updates {
                    seen.append(ConfigTest.text(of: update))
                    switch seen.count {
                    case 1: try await storage.set(8080, for: Self.port)
                    case 2: try await storage.set(9090, for: Self.port)
                    case 3: try await storage.remove(Self.port)
                    default: return seen
                    }
                }
                return seen
            }
            #expect(seen == ["nil", "int(8080)", "int(9090)", "nil"])
        }

        @Test("a watched secret follows its key, and get returns the latest update", .timeLimit(.minutes(10)))
        func secrets() async throws {
            let storage = StorageRouter(configuration: .inMemory())
            try await storage.set("abc", for: Self.token)
            let provider = try await StorageConfigProvider(storage, keys: ["api.token": .key(Self.token)])
            let config = ConfigReader(provider: provider)
            try await config.watchString(forKey: "api.token") { tokens in
                for await token in tokens {
                    #expect(config.string(forKey: "api.token") == token)
                    if token == "def" { return }
                    #expect(token == "abc")
                    try await storage.set("def", for: Self.token)
                }
                Issue.record("the updates ended")
            }
            let found = try provider.value(forKey: "api.token", type: .string).value
            #expect(found == ConfigValue(.string("def"), isSecret: true))
        }

        @Test("a change by another program is an update", .timeLimit(.minutes(10)))
        func otherPrograms() async throws {
            let machine = TestMachine()
            machine.seedUserDefaults(["http.port": .integer(8080)])
            let provider = try await StorageConfigProvider(machine.launch())
            let seen = try await provider.watchValue(forKey: "http.port", type: .int) { updates in
                var seen: [String] = []
                for await update in updates {
                    seen.append(ConfigTest.text(of: update))
                    if seen.count == 2 { break }
                    machine.writeForeign(.integer(9090), to: .userDefaults, name: "http.port")
                }
                return seen
            }
            #expect(seen == ["int(8080)", "int(9090)"])
        }

        @Test("a value that becomes another type is an error in the sequence, and the next value follows", .timeLimit(.minutes(10)))
        func otherTypes() async throws {
            let storage = StorageRouter(configuration: .inMemory())
            try await storage.set(8080, for: Self.port)
            let provider = try await StorageConfigProvider(storage)
            let seen = try await provider.watchValue(forKey: "http.port", type: .int) { updates in
                var seen: [String] = []
                for await update in updates {
                    seen.append(ConfigTest.text(of: update))
                    switch seen.count {
                    case 1: try await storage.set("abc", for: StorageKey(name: "http.port", domain: .userDefaults))
                    case 2: try await storage.set(9090, for: Self.port)
                    default: return seen
                    }
                }
                return seen
            }
            #expect(seen == ["int(8080)", "undecodable", "int(9090)"])
        }

        @Test("a watch that begins while the keyring is locked continues after the next reload", .timeLimit(.minutes(10)))
        func lockedAtFirst() async throws {
            let machine = TestMachine()
            let storage = machine.launch()
            try await storage.set("abc", for: Self.token)
            machine.lock(.keychain)
            let provider = try await StorageConfigProvider(storage, keys: ["api.token": .key(Self.token)])
            let seen = try await provider.watchValue(forKey: "api.token", type: .string) { updates in
                var seen: [String] = []
                for await update in updates {
                    seen.append(ConfigTest.text(of: update))
                    switch seen.count {
                    case 1:
                        machine.unlock(.keychain)
                        try await provider.reload()
                    case 2: try await storage.set("def", for: Self.token)
                    default: return seen
                    }
                }
                return seen
            }
            #expect(seen == ["locked", #"string("abc")"#, #"string("def")"#])
        }

        @Test("a lock of the router is no update, and a change after it is", .timeLimit(.minutes(10)))
        func lockedLater() async throws {
            let storage = StorageRouter(configuration: .inMemory())
            try await storage.set("abc", for: Self.token)
            let provider = try await StorageConfigProvider(storage, keys: ["api.token": .key(Self.token)])
            let seen = try await provider.watchValue(forKey: "api.token", type: .string) { updates in
                var seen: [String] = []
                for await update in updates {
                    seen.append(ConfigTest.text(of: update))
                    if seen.count == 2 { break }
                    try await storage.lock()
                    try await storage.unlock()
                    try await provider.reload()
                    try await storage.set("def", for: Self.token)
                }
                return seen
            }
            #expect(seen == [#"string("abc")"#, #"string("def")"#])
        }

        @Test("a watched snapshot changes with each value, and a snapshot that was received does not", .timeLimit(.minutes(10)))
        func snapshots() async throws {
            let storage = StorageRouter(configuration: .inMemory())
            try await storage.set(8080, for: Self.port)
            let provider = try await StorageConfigProvider(storage, keys: ["api.token": .key(Self.token)])
            let snapshots = try await provider.watchSnapshot { updates in
                var snapshots: [any ConfigSnapshot] = []
                for await update in updates {
                    snapshots.append(update)
                    switch snapshots.count {
                    case 1: try await storage.set(9090, for: Self.port)
                    case 2: try await storage.set("abc", for: Self.token)
                    default: return snapshots
                    }
                }
                return snapshots
            }
            let ports = try snapshots.map { try $0.value(forKey: "http.port", type: .int).value?.content }
            let tokens = try snapshots.map { try $0.value(forKey: "api.token", type: .string).value?.content }
            #expect(ports == [.int(8080), .int(9090), .int(9090)])
            #expect(tokens == [nil, nil, .string("abc")])
        }

        @Test("a reload sends an entry with a new name to a watched snapshot", .timeLimit(.minutes(10)))
        func newEntries() async throws {
            let storage = StorageRouter(configuration: .inMemory())
            let provider = try await StorageConfigProvider(storage)
            let found = try await provider.watchSnapshot { updates in
                for await update in updates {
                    if let value = try update.value(forKey: "http.port", type: .int).value { return value.content }
                    try await storage.set(8080, for: Self.port)
                    try await provider.reload()
                }
                return ConfigContent.string("the updates ended")
            }
            #expect(found == .int(8080))
        }

        @Test("two watches of one value receive the same updates, and one continues after the other has ended", .timeLimit(.minutes(10)))
        func twoWatches() async throws {
            let storage = StorageRouter(configuration: .inMemory())
            try await storage.set(1, for: Self.port)
            let provider = try await StorageConfigProvider(storage)
            let seen = try await provider.watchValue(forKey: "http.port", type: .int) { outer in
                var seen: [String] = []
                for await update in outer {
                    seen.append(ConfigTest.text(of: update))
                    if seen.count > 1 { break }
                    let first = try await provider.watchValue(forKey: "http.port", type: .int) { inner in
                        for await update in inner { return ConfigTest.text(of: update) }
                        return "the updates ended"
                    }
                    seen.append(first)
                    try await storage.set(2, for: Self.port)
                }
                return seen
            }
            #expect(seen == ["int(1)", "int(1)", "int(2)"])
        }

        @Test("a watch ends when its task is cancelled", .timeLimit(.minutes(10)))
        func cancellation() async throws {
            let provider = try await StorageConfigProvider(StorageRouter(configuration: .inMemory()))
            let (begun, begin) = AsyncStream.makeStream(of: Void.self)
            let watch = Task {
                try await provider.watchValue(forKey: "http.port", type: .int) { updates in
                    var count = 0
                    for await _ in updates {
                        count += 1
                        begin.finish()
                    }
                    return count
                }
            }
            for await _ in begun {}
            watch.cancel()
            #expect(try await watch.value == 1)
        }
    }
#endif
