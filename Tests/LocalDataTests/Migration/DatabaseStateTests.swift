#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// Cases of the state table of a migration (`Docs/Design.md`) with a real database as destination.
    ///
    /// The source is the legacy location, where an earlier version stored the value. It is in a property list or in
    /// another real database.
    ///
    /// A sweep moves the values of all keys of a catalog. If source and destination have different values, that is a
    /// conflict, and a policy of the key decides. Quarantine is the store for displaced values.
    @Suite(.inTurn) struct DatabaseStateTests {
        enum Source: CaseIterable, CustomTestStringConvertible {
            case list, database
            var testDescription: String { "\(self)" }
            var key: StorageKey<String> {
                self == .list ? textKey("old", .userDefaults(suite: "a")) : textKey("old", .encryptedSQLite(database: "a"))
            }
        }

        let bare = textKey("new", .encryptedSQLite(database: "b"))

        private func quarantined(_ router: StorageRouter) async throws -> [String] {
            var texts: [String] = []
            for value in try await router.audit().quarantine {
                texts.append(String(decoding: try await router.quarantine.data(of: value), as: UTF8.self).trimmingCharacters(in: ["\""]))
            }
            return texts
        }

        @Test(arguments: Source.allCases) func `a set leaves the older value in the legacy location, and a sweep purges the older value`(
            source: Source
        ) async throws {
            let (stage, source) = (try Stage(), source.key)
            let router = stage.launch()
            let key = bare.moved(from: source)
            try await router.set("old value", for: source)
            try await router.set("new value", for: key)
            #expect(try await router.value(for: source) == "old value")
            #expect(try await stage.launch().row(of: key).state == .purged)
            #expect(try await router.value(for: source) == nil)
            #expect(try await router.get(key) == "new value")
            #expect(try await router.audit().quarantine.isEmpty)
        }

        @Test(arguments: Source.allCases)
        func `by default, a sweep quarantines a legacy value that differs from the value of the key, and the key keeps its value`(
            source: Source
        ) async throws {
            let (stage, source) = (try Stage(), source.key)
            let router = stage.launch()
            let key = bare.moved(from: source)
            try await router.set("v", for: source)
            _ = try await router.get(key)
            try await router.set("from an old program", for: source)
            try await router.registerCatalog(TestCatalog(.key(key)))
            #expect(await router.planSweep().rows.map(\.state) == [.resolved])
            let report = await router.sweep(TestCatalog(.key(key)))
            #expect(report.rows.map(\.state) == [.resolved] && report.moved.isEmpty)
            #expect(try await stage.launch().get(key) == "v")
            #expect(try await router.value(for: source) == nil)
            #expect(try await quarantined(stage.launch()) == ["from an old program"])
            #expect(try stage.traces(of: "from an old program").isEmpty)
        }

        @Test(arguments: Source.allCases)
        func `a conflict is resolved to the legacy value with sourceWins, and to the result of the closure with merge`(
            source: Source
        ) async throws {
            let source = source.key
            for (policy, result, lost) in [
                (ConflictPolicy.sourceWins, "b", ["a"]), (.merge { "\($0 ?? "-")+\($1)" }, "a+b", ["a", "b"]),
            ] {
                let stage = try Stage()
                let router = stage.launch()
                let key = bare.moved(from: source).resolvingConflicts(policy)
                try await router.set("a", for: source)
                #expect(try await router.get(key) == "a")
                try await router.set("b", for: source)
                #expect(try await router.row(of: key).state == .resolved)
                #expect(try await stage.launch().get(key) == result)
                #expect(try await router.value(for: source) == nil)
                #expect(try await quarantined(stage.launch()).sorted() == lost)
            }
        }

        @Test(arguments: Source.allCases)
        func `after a removal, a value that an old program writes to the legacy location is quarantined and does not return`(
            source: Source
        ) async throws {
            let (stage, source) = (try Stage(), source.key)
            let router = stage.launch()
            let key = bare.moved(from: source)
            try await router.set("v", for: source)
            _ = try await router.get(key)
            try await router.remove(key)
            try await router.set("resurrected", for: source)
            #expect(try await router.value(for: key) == nil)
            #expect(try await stage.launch().row(of: key).state == .resolved)
            #expect(try await stage.launch().value(for: key) == nil)
            #expect(try await quarantined(router) == ["resurrected"])
        }

        @Test func `damaged bytes at the destination stay until a legacy value replaces them, and are then quarantined`() async throws {
            let stage = try Stage()
            let source = Source.list.key
            let first = stage.launch()
            try await first.set("x", for: bare)
            try await first.shutdown()
            let database = try SealedDatabase(path: stage.path(ofDatabase: "b"), keyFile: stage.root.path + "/data/sealing-key")
            try database.tamper(StorageAddress("new")) { $0[$0.count - 1] ^= 1 }
            let router = stage.launch()
            await expectRefusal(StorageError.corrupted, of: "new", saying: "backup") { _ = try await router.get(bare) }
            await expectRefusal(StorageError.corrupted, of: "new") { _ = try await router.get(bare.moved(from: source)) }
            #expect(try await router.audit().quarantine.isEmpty)
            try await router.set("v", for: source)
            #expect(try await router.get(bare.moved(from: source)) == "v")
            #expect(try await router.audit().quarantine.count == 1)
            #expect(try await stage.launch().get(bare) == "v")
            #expect(try await stage.launch().value(for: source) == nil)
        }

        @Test func `a value of an older type in the slot of the key is converted there, and nothing is quarantined`() async throws {
            let stage = try Stage()
            let router = stage.launch()
            let before = testKey("size", bare.domain, of: Int.self)
            let after = testKey("size", bare.domain, of: [String: Int].self)
                .moved(from: before) { ["width": $0, "height": $0] }
            try await router.set(5, for: before)
            #expect(try await router.get(after) == ["width": 5, "height": 5])
            #expect(try await stage.launch().get(after) == ["width": 5, "height": 5])
            #expect(try await router.audit().quarantine.isEmpty)
        }

        @Test func `values from a property list and a database merge into one value`() async throws {
            let stage = try Stage()
            let router = stage.launch()
            let (first, last) = (Source.list.key, Source.database.key)
            let name = bare.merged(from: first, last) { first, last in
                guard let first, let last else { return nil }
                return "\(first) \(last)"
            }
            try await router.set("John", for: first)
            #expect(try await router.value(for: name) == nil)
            try await router.set("Snow", for: last)
            #expect(try await router.get(name) == "John Snow")
            let next = stage.launch()
            #expect(try await next.get(bare) == "John Snow")
            for older in [first, last] { #expect(try await next.value(for: older) == nil) }
        }

        @Test(arguments: Source.allCases) func `50 concurrent gets in two routers all return the migrated value`(
            source: Source
        ) async throws {
            let (stage, source) = (try Stage(), source.key)
            try await stage.launch().set("v", for: source)
            let key = bare.moved(from: source) { $0 + "!" }
            let routers = [stage.launch(), stage.launch()]
            let values = try await withThrowingTaskGroup(of: String.self) { group in
                for index in 0..<50 { group.addTask { try await routers[index % 2].get(key) } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(values == Array(repeating: "v!", count: 50))
            #expect(try await routers[0].value(for: source) == nil)
        }

        @Test func `a migration whose source and destination are one slot of a database deletes nothing`() async throws {
            let stage = try Stage()
            let router = stage.launch()
            let key = bare.moved(from: textKey("new", bare.domain))
            try await router.set("v", for: bare)
            #expect(try await router.get(key) == "v")
            #expect(try await router.row(of: key).state == .unchanged)
            try await router.forceMigration(for: key)
            #expect(try await stage.launch().get(key) == "v")
        }

        @Test
        func `a move from a database whose encryption key is missing throws, and the next legacy location is not used instead`()
            async throws
        {
            let stage = try Stage()
            let keyFile = stage.root.path + "/data/sealing-key"
            let (database, lower) = (Source.database.key, Source.list.key)
            let first = stage.launch()
            try await first.set("right", for: database)
            try await first.set("wrong", for: lower)
            try await first.shutdown()
            try FileManager.default.moveItem(atPath: keyFile, toPath: keyFile + "-away")
            let key = textKey("new", .encryptedSQLite(database: "b")).moved(from: database).moved(from: lower)
            let router = stage.launch { $0.databaseKeySources["b"] = .keyFile("b-key") }
            await expectRefusal(StorageError.encryptionKeyMissing) { _ = try await router.get(key) }
            #expect(try await router.row(of: key).state == .failed)
            try FileManager.default.moveItem(atPath: keyFile + "-away", toPath: keyFile)
            #expect(try await router.get(key) == "right")
        }
    }
#endif
