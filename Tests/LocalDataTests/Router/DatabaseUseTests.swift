#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import LocalData
    import Synchronization
    import TestSupport
    import Testing

    /// Reads, writes, batches and observation of values in databases, also by two programs at once.
    ///
    /// A sweep migrates the values of all keys of a catalog. A legacy copy is one that an earlier version stored at
    /// another location. An audit is a report about all keys.
    @Suite(.inTurn) struct DatabaseUseTests {
        let main = StorageDomain.encryptedSQLite(database: "main")

        func key(_ name: String) -> StorageKey<String> { textKey(name, main) }

        @Test func `updates in two processes lose no increment`() async throws {
            let stage = try Stage()
            let workers = [try stage.worker(), try stage.worker()]
            async let first = workers[0].run("increment", "200", "database:main")
            async let second = workers[1].run("increment", "200", "database:main")
            #expect(try await [first, second] == ["done", "done"])
            let counter = testKey("counter", main, of: Int.self)
            #expect(try await stage.launch().get(counter) == 400)
        }

        @Test func `batches of two processes on the same keys are applied one after the other, each as a whole`() async throws {
            let (stage, count) = (try Stage(), 60)
            let workers = [try stage.worker(), try stage.worker()]
            async let first = workers[0].ask(untilAnswer: "batches \(count) a 40")
            async let second = workers[1].ask(untilAnswer: "batches \(count) b 40")
            #expect(try await [first, second] == ["done", "done"])
            let router = stage.launch()
            var values: Set<String> = []
            for index in 0..<count { values.insert(try await router.get(textKey("\(index)", .encryptedSQLite(database: "batches")))) }
            #expect(values == ["a40"] || values == ["b40"], "\(values)")
        }

        @Test func `updates by two routers lose no increment, and a failing update changes nothing`() async throws {
            let stage = try Stage()
            let counter = testKey("counter", main, of: Int.self)
            let routers = [stage.launch(), stage.launch()]
            try await withThrowingTaskGroup { group in
                for caller in 0..<8 {
                    group.addTask { for _ in 0..<25 { try await routers[caller % 2].update(counter, default: 0) { $0 += 1 } } }
                }
                try await group.waitForAll()
            }
            #expect(try await stage.launch().get(counter) == 200)
            struct Refused: Error {}
            await #expect(throws: Refused.self) {
                try await routers[0].update(counter, default: 0) {
                    $0 = -1
                    throw Refused()
                }
            }
            #expect(try await routers[1].get(counter) == 200)
            try await routers[0].update(counter) { $0 = nil }
            #expect(try await routers[1].value(for: counter) == nil)
        }

        @Test func `a batch of many keys is one commit or changes nothing`() async throws {
            let stage = try Stage()
            let files = HookedFiles()
            let router = stage.launch { $0.runtime.files = files }
            try await router.set("first", for: key("0"))
            let before = files.locks("/sqlite-")
            try await router.batch { batch in
                for index in 0..<1_000 { batch.set("second", for: key("\(index)")) }
                for index in 900..<1_000 { batch.remove(key("\(index)")) }
                batch.set("last of two", for: key("1"))
            }
            // The commit takes one lock. Overwriting removed values and checkpointing the log may take another one.
            let locks = files.locks("/sqlite-") - before
            #expect((1...3).contains(locks), "\(locks) locks")
            let next = stage.launch()
            #expect(try await next.names(of: main).count == 900)
            #expect(try await next.get(key("0")) == "second")
            #expect(try await next.get(key("1")) == "last of two")
            print("a batch of 1,000 keys: \(locks) locks")

            let tooLarge = String(repeating: "x", count: 16 << 20)
            await expectRefusal(StorageError.tooLarge, of: "500") {
                try await router.batch { batch in
                    for index in 0..<1_000 { batch.set(index == 500 ? tooLarge : "third", for: key("\(index)")) }
                }
            }
            let infinite = testKey("number", main, of: Double.self)
            await expectRefusal(StorageError.encodingFailed, of: "number") {
                try await router.batch { batch in
                    batch.set("third", for: key("0"))
                    batch.set(.infinity, for: infinite)
                }
            }
            #expect(try await next.names(of: main).count == 900)
            for index in [0, 2, 499, 899] { #expect(try await next.get(key("\(index)")) == "second") }
        }

        @Test func `a batch across two stores or two databases is refused and changes nothing`() async throws {
            let stage = try Stage()
            let router = stage.launch()
            for other in [textKey("b", .userDefaults), textKey("b", .encryptedSQLite(database: "other"))] {
                await expectRefusal(StorageError.unsupported, of: "a", saying: "Make a batch for each store") {
                    try await router.batch { batch in
                        batch.set("v", for: key("a"))
                        batch.set("v", for: other)
                    }
                }
                #expect(try await router.value(for: key("a")) == nil)
                #expect(try await router.value(for: other) == nil)
            }
            #expect(!FileManager.default.fileExists(atPath: stage.path(ofDatabase: "main")))
        }

        @Test func `a batch migrates no value, and a sweep removes the legacy copies of the values that the batch changed`() async throws {
            let stage = try Stage()
            let router = stage.launch()
            let sources = ["a", "b"].map { textKey($0, .userDefaults(suite: "legacy")) }
            let keys = ["a", "b"].map { key($0).moved(from: textKey($0, .userDefaults(suite: "legacy"))) }
            for source in sources { try await router.set("old", for: source) }
            try await router.batch { batch in
                batch.set("new", for: keys[0])
                batch.remove(keys[1])
            }
            let next = stage.launch()
            #expect(try await next.get(keys[0]) == "new")
            #expect(try await next.value(for: keys[1]) == nil)
            try await next.sweep(TestCatalog(keys.map { .key($0) })).requireComplete()
            for source in sources { #expect(try await next.value(for: source) == nil) }
            #expect(try await stage.launch().get(keys[0]) == "new")
        }

        @Test(.timeLimit(.minutes(10))) func `observers receive the changes of another router on one database`() async throws {
            let stage = try Stage()
            let (router, other) = (stage.launch(), stage.launch())
            var values = router.values(for: key("watched")).makeAsyncIterator()
            // Observation also works before the database exists.
            #expect(try await values.next() == .some(nil))
            for text in ["first", "second"] {
                try await other.set(text, for: key("watched"))
                #expect(try await values.next() == text)
            }
            try await other.remove(key("watched"))
            #expect(try await values.next() == .some(nil))
            try await router.set("own", for: key("watched"))
            #expect(try await values.next() == "own")
        }

        @Test(.timeLimit(.minutes(10))) func `observers receive the change of another process, and no change of another key`()
            async throws
        {
            let stage = try Stage()
            let router = stage.launch()
            try await router.set("before", for: key("watched"))
            var values = router.values(for: key("watched")).makeAsyncIterator()
            #expect(try await values.next() == "before")
            let worker = try stage.worker()
            #expect(try await worker.run("put", "database:main", "other", "x") == "done")
            #expect(try await worker.run("put", "database:main", "watched", "after") == "done")
            #expect(try await values.next() == "after")
            #expect(try await router.get(key("other")) == "x")
        }

        @Test func `the metadata of records is stored, and the audit of another router shows it`() async throws {
            let stage = try Stage()
            let router = stage.launch()
            let source = textKey("old", .userDefaults(suite: "legacy"))
            let moved = key("moved").moved(from: source, id: "the-move")
            let list = StorageKey<[String: Int]>(name: "list", domain: main, serializer: .plist, owner: "Tests", description: "Numbers")
            try await router.set("v", for: source)
            let begin = Date().timeIntervalSince1970
            _ = try await router.get(moved)
            try await router.set(["a": 1], for: list)
            try await router.shutdown()
            let next = stage.launch()
            try await next.registerCatalog(TestCatalog(.key(moved), .key(list)))
            let rows = try await next.audit().rows
            #expect(rows.map(\.serializer) == ["json", "plist"])
            #expect(rows.map(\.migration) == ["the-move", nil])
            #expect(
                rows.allSatisfy {
                    !$0.isForeign && $0.bytes > 0 && $0.domain == .encryptedSQLite(database: "main") && $0.protection == .sealed
                })
            #expect(rows.allSatisfy { abs(($0.modifiedAt?.timeIntervalSince1970 ?? 0) - begin) < 60 })
            // A key with another serializer decodes the value with the serializer that wrote it.
            let other = testKey("list", main, of: [String: Int].self)
            #expect(try await next.get(other) == ["a": 1])
        }

        @Test func `hostile value names are refused or stored exactly, and no file contains them`() async throws {
            let stage = try Stage()
            let router = stage.launch()
            let secret = "correct-horse-battery-staple"
            try await router.set("neighbour", for: key("neighbour"))
            for name in [
                "../x", "/etc/passwd", "🦜", "caf\u{E9}", "cafe\u{301}", ".", "LocalData", "'; DROP TABLE records; --", "%", "*", secret,
            ] {
                try await router.set("value of \(name)", for: key(name))
                #expect(try await stage.launch().get(key(name)) == "value of \(name)")
            }
            for name in ["", "a\0b", "a\nb", String(repeating: "x", count: 10_000)] {
                await expectRefusal(StorageError.invalidName, of: name) { try await router.set("v", for: key(name)) }
                await expectRefusal(StorageError.invalidName, of: name) { _ = try await router.value(for: key(name)) }
            }
            #expect(try stage.traces(of: secret).isEmpty)
            #expect(try await router.get(key("neighbour")) == "neighbour")
        }
    }
#endif
