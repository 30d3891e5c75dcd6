#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import TestSupport
    import Testing

    @testable import SQLiteBackend

    /// A random change of one of ten names.
    struct ShelfChange: Sendable {
        enum Kind: Sendable { case put, tombstone, delete }

        var number: Int
        var kind: Kind
        var metadata: StorageMetadata

        /// Most metadata has few different values, so that labels are added, kept and removed.
        /// Some metadata is random.
        static var any: Arbitrary<ShelfChange> {
            let few = zip(
                Arbitrary<String?>.one(of: [nil, "note", "task"]), Arbitrary<Double?>.one(of: [nil, 10, 86_399.5, 86_400, 9e9, -1]),
                zip(
                    Arbitrary<[String: String]>.one(of: [[:], ["a": "x"], ["a": "y"], ["a": "x", "b": "x"], ["é": ""]]),
                    Arbitrary<Bool>.one(of: [true, true, false]))
            ).map { StorageMetadata(typeTag: $0, modifiedAt: $1, attributes: $2.0, indexesAttributes: $2.1) }
            let metadata = Arbitrary<StorageMetadata>.any(of: [few, few, few, .metadata])
            return zip(Arbitrary<Int>.number(in: 0...9), Arbitrary<Kind>.one(of: [.put, .put, .put, .tombstone, .delete]), metadata)
                .map { ShelfChange(number: $0, kind: $1, metadata: $2) }
        }

        var address: StorageAddress { StorageAddress("shelved \(number)", in: shelf) }

        var mutation: StorageMutation {
            switch kind {
            case .put: .put(.bytes([UInt8(number)]), metadata, at: address)
            case .tombstone: .tombstone(metadata, at: address)
            case .delete: .delete(address)
            }
        }
    }

    let shelf = StorageNamespace("shelf")

    extension SQLiteStore {
        /// Returns the entries of all pages of a query.
        func everything(_ query: StorageQuery, limit: Int = 3) async throws -> [StoragePage.Entry] {
            var entries: [StoragePage.Entry] = []
            var cursor: StorageCursor?
            repeat {
                let page = try await page(query, after: cursor, limit: limit)
                entries += page.entries
                cursor = page.next
            } while cursor != nil
            return entries
        }

        /// Returns the entries of all pages of a query, and the damaged slots. The names of damaged slots are unknown.
        func everythingAndDamage(
            _ query: StorageQuery, limit: Int = 3
        ) async throws -> (entries: [StoragePage.Entry], damaged: [DamagedSlot]) {
            var (entries, damaged): ([StoragePage.Entry], [DamagedSlot]) = ([], [])
            var cursor: StorageCursor?
            repeat {
                let page = try await page(query, after: cursor, limit: limit)
                entries += page.entries
                damaged += page.damaged
                cursor = page.next
            } while cursor != nil
            return (entries, damaged)
        }

        func names(_ query: StorageQuery, limit: Int = 3) async throws -> [String] {
            try await everything(query, limit: limit).map(\.address.name).sorted()
        }
    }

    /// Tests of labels, and of queries. The result of a query comes in pages. A cursor says where the next page begins.
    /// A label is a keyed hash of an attribute, by which a query finds rows without decrypting them.
    /// The table of labels is a feature: a database gets it with its first value in a namespace other than that of plain keys.
    @Suite(.slow("goes through real files many times"), .inTurn) struct PageTests {
        private static let questions: [[StorageQuery.Condition]] = [
            [], [.typeTag("note")], [.attribute("a", "x")], [.attribute("b", "x")], [.attribute("é", "")], [.modified(since: 86_399.75)],
            [.modified(since: -.infinity)], [.typeTag("task"), .attribute("a", "y")], [.modified(since: 86_400), .typeTag("note")],
        ]

        private func header(_ place: Place, _ name: String) throws -> Data? {
            try PlainDatabase(path: place.path).value("SELECT value FROM header WHERE name = ?", [name])?.blob
        }

        private func labels(_ place: Place) throws -> Int64 {
            try PlainDatabase(path: place.path).value("SELECT count(*) FROM labels")?.integer ?? -1
        }

        // MARK: The feature

        @Test func `a database of plain keys has no label feature and no labels, whatever is queried`() async throws {
            let place = try Place()
            let store = place.store()
            try await store.put("1", at: "plain")
            let tag = try header(place, "tag")
            #expect(try await store.apply(.tombstone(at: StorageAddress("gone", in: shelf))).isApplied)
            #expect(try await store.apply(.delete(StorageAddress("gone", in: shelf))).isApplied)
            #expect(try await store.apply(.put(.bytes([]), at: StorageAddress("no", in: shelf), if: .revision(.init([1])))).isConflict)
            #expect(try await store.names(StorageQuery(shelf)) == [])
            #expect(try await store.names(StorageQuery(.values)) == ["plain"])
            #expect(try await store.count(StorageQuery(shelf)) == 0)
            #expect(try header(place, "features") == Data())
            #expect(try header(place, "tag") == tag)
            let tables = try PlainDatabase(path: place.path).rows("SELECT name FROM sqlite_schema ORDER BY name")
            #expect(tables == [[.text("header")], [.text("keys")], [.text("records")], [.text("state")], [.text("wraps")]])
            await store.close()
            try await place.check()
        }

        @Test
        func `the first value outside the namespace of plain keys adds the label feature, and open stores keep working`() async throws {
            let place = try Place()
            let (first, second) = (place.store(), place.store())
            try await first.put("1", at: "plain")
            #expect(try await second.text("plain") == "1")
            #expect(try await second.names(StorageQuery(shelf)) == [])
            let tag = try header(place, "tag")
            let results = try await first.apply((0..<5).map { .put(.bytes([1]), at: StorageAddress("\($0)", in: shelf)) })
            #expect(results.allSatisfy { $0.isApplied })
            #expect(try header(place, "features") == Data(DatabaseFeature.bytes(of: [.labels])))
            #expect(try header(place, "tag") != tag)
            for store in [first, second] {
                #expect(try await store.names(StorageQuery(shelf)) == ["0", "1", "2", "3", "4"])
                #expect(try await store.count(StorageQuery(shelf)) == 5)
                #expect(try await store.text("plain") == "1")
                #expect(try await store.text("absent") == nil)
                try await store.put("1", at: "plain")
            }
            #expect(try labels(place) == 5)
            await first.close()
            await second.close()
            #expect(try await place.check() == 6)
        }

        @Test func `two stores that start a collection at the same time both see all of it`() async throws {
            let place = try Place()
            let stores = [place.store(), place.store()]
            try await stores[0].put("1", at: "plain")
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for (writer, store) in stores.enumerated() {
                    for number in 0..<20 {
                        group.addTask {
                            let metadata = StorageMetadata(typeTag: "of \(writer)", modifiedAt: 86_400 * Double(number % 3))
                            let address = StorageAddress("\(writer) \(number)", in: shelf)
                            return try await store.apply(.put(.bytes([1]), metadata, at: address)).isApplied
                        }
                    }
                }
                for try await isApplied in group { #expect(isApplied) }
            }
            for store in stores {
                #expect(try await store.names(StorageQuery(shelf), limit: 7).count == 40)
                #expect(try await store.count(StorageQuery(shelf, [.typeTag("of 1")])) == 20)
                #expect(try await store.count(StorageQuery(shelf, [.modified(since: 86_400)])) == 26)
                await store.close()
            }
            #expect(try await place.check() == 41)
        }

        @Test func `queries find, count and change the entries of the golden database with labels`() async throws {
            let folder = try TemporaryDirectory()
            let (path, keyFile) = (folder.file("golden.sqlite"), folder.file("golden.key"))
            try Reader.copy("golden-labels.sqlite", to: path)
            try Reader.copy("golden.key", to: keyFile)
            #expect(try await Reader.dump(path, keyFile) == Reader.golden("golden-labels.json"))
            let store = sqliteStore(at: path, source: PinnedKeyFile(keyFile, pin: "golden"))
            #expect(try await store.names(StorageQuery(shelf)) == ["first", "second", "third", "under an older key"])
            #expect(try await store.page(StorageQuery(shelf), after: nil, limit: 100).isComplete)
            #expect(try await store.count(StorageQuery(shelf)) == 4)
            #expect(try await store.count(StorageQuery(shelf, [.typeTag("note")])) == 3)
            #expect(try await store.count(StorageQuery(shelf, [.attribute("color", "red")])) == 3)
            #expect(try await store.names(StorageQuery(shelf, [.modified(since: 1_795_290_000)])) == ["third"])
            let moved = StorageAddress("under an older key", in: shelf)
            #expect(try await store.apply(.put(.bytes([1]), StorageMetadata(typeTag: "task"), at: moved)).isApplied)
            #expect(try await store.apply(.delete(StorageAddress("first", in: shelf))).isApplied)
            #expect(try await store.count(StorageQuery(shelf, [.typeTag("note")])) == 1)
            #expect(try await store.count(StorageQuery(shelf, [.attribute("color", "red")])) == 1)
            #expect(try await store.page(StorageQuery(shelf), after: nil, limit: 100).isComplete)
            await store.close()
            _ = try await Reader.dump(path, keyFile)
        }

        @Test func `rebuilt labels still lead to a damaged row, even to a row under an older key`() async throws {
            let folder = try TemporaryDirectory()
            let (path, keyFile) = (folder.file("golden.sqlite"), folder.file("golden.key"))
            try Reader.copy("golden-labels.sqlite", to: path)
            try Reader.copy("golden.key", to: keyFile)
            let records = try Reader.golden("golden-labels.json").records
            func slot(_ name: String) throws -> Data {
                let record = try #require(records.first { $0.name == name && $0.namespace == "shelf" })
                let slot = bytes(ofHexadecimal: record.slot ?? "")
                return Data(try #require(slot))
            }
            let old = try slot("under an older key")
            do {
                let database = try PlainDatabase(path: path)
                try database.execute("UPDATE records SET sealed = zeroblob(300) WHERE slot = ?", [old])
                try database.execute("DELETE FROM labels WHERE slot = ?", [try slot("first")])
            }
            let store = sqliteStore(at: path, source: PinnedKeyFile(keyFile, pin: "golden"))
            let query = StorageQuery(shelf)
            let before = try await store.everythingAndDamage(query)
            #expect(before.entries.map(\.address.name).sorted() == ["second", "third"] && before.damaged.count == 2)
            let row = try #require(try await store.listing(in: shelf).damaged.first { $0.corruption.reason.contains("row") }?.handle)
            for handle in before.damaged.map(\.handle) where handle != row { #expect(try await store.deleteDamage(at: handle)) }
            let after = try await store.everythingAndDamage(query)
            #expect(after.entries.map(\.address.name).sorted() == ["first", "second", "third"])
            #expect(after.damaged.map(\.handle) == [row])
            #expect(try await store.count(query) == 4)
            #expect(try await store.deleteDamage(at: row))
            #expect(try await store.everythingAndDamage(query).damaged.isEmpty)
            #expect(try await store.count(query) == 3)
            await store.close()
        }

        @Test func `the count of a query stays right if some of several concurrent calls are refused`() async throws {
            let place = try Place()
            let store = place.store()
            let metadata = StorageMetadata(typeTag: "note", modifiedAt: 10)
            func put(_ name: String, _ size: Int) -> StorageMutation {
                .put(
                    .bytes([1]),
                    StorageMetadata(typeTag: "note", modifiedAt: 10, attributes: ["long": String(repeating: "x", count: size)]),
                    at: StorageAddress(name, in: shelf))
            }
            #expect(try await store.apply(.put(.bytes([1]), metadata, at: StorageAddress("begin", in: shelf))).isApplied)
            // Every third call has a value with 30 MiB of attributes, which is above the size limit and is refused.
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<12 {
                    group.addTask {
                        _ = try? await store.apply([put("a \(number)", 10), put("b \(number)", number % 3 == 0 ? 30 << 20 : 10)])
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await store.count(StorageQuery(shelf)) == store.names(StorageQuery(shelf)).count)
            #expect(try await store.page(StorageQuery(shelf), after: nil, limit: 100).isComplete)
            await store.close()
            try await place.check()
        }

        @Test
        func `values that an older version wrote outside the namespace of plain keys get labels when the label feature is added`()
            async throws
        {
            let folder = try TemporaryDirectory()
            let (path, keyFile) = (folder.file("old.sqlite"), folder.file("old.key"))
            var records: [DumpedRecord] = []
            for number in 0..<12 {
                var record = DumpedRecord()
                (record.namespace, record.name, record.kind) = (number < 9 ? "shelf" : "", "old \(number)", "value")
                record.key = number % 2 == 0 ? "active" : "decrypt-only"
                record.metadata = DumpedMetadata(StorageMetadata(typeTag: "old", modifiedAt: Double(number) * 86_400))
                records.append(record)
            }
            let input = String(decoding: try JSONEncoder().encode(records), as: UTF8.self)
            _ = try await Reader.run(
                ["make", path, keyFile, "--source", "golden", "--keys", "active,decrypt-only,destroyed"], input: input)
            let store = sqliteStore(at: path, source: PinnedKeyFile(keyFile, pin: "golden"))
            let query = StorageQuery(shelf, [.modified(since: 3 * 86_400)])
            #expect(try await store.names(query) == (3..<9).map { "old \($0)" })
            // The first change adds the label feature, which also gives labels to the older values.
            // The second change seals an old value with the active key. Its new labels are derived from that key.
            let again = StorageMetadata(typeTag: "new", modifiedAt: 20 * 86_400)
            for name in ["one more", "old 5"] {
                #expect(try await store.apply(.put(.bytes([1]), again, at: StorageAddress(name, in: shelf))).isApplied)
            }
            #expect(try await store.names(query, limit: 2) == (3..<9).map { "old \($0)" } + ["one more"])
            #expect(try await store.names(StorageQuery(shelf, [.typeTag("old")])).count == 8)
            #expect(try await store.count(StorageQuery(shelf, [.typeTag("new")])) == 2)
            await store.close()
            _ = try await Reader.dump(path, keyFile)
        }

        // MARK: Consistency

        @Test func `after any changes every query matches a model, and each label belongs to its row`() async throws {
            await forAll(ShelfChange.any.list(1...24), count: 24) { changes in
                let place = try Place()
                let store = place.store()
                try await store.put("1", at: "plain")
                var model: [StorageAddress: StorageMetadata] = [:]
                for batch in stride(from: 0, to: changes.count, by: 6).map({ changes[$0..<min($0 + 6, changes.count)] }) {
                    var last: [StorageAddress: ShelfChange] = [:]
                    for change in batch { last[change.address] = change }
                    let results = try await store.apply(last.values.map(\.mutation))
                    try hold(results.allSatisfy { $0.isApplied }, "a change failed: \(results)")
                    for (address, change) in last { model[address] = change.kind == .put ? change.metadata : nil }
                    for conditions in Self.questions {
                        let query = StorageQuery(shelf, conditions)
                        let expected = model.filter { query.matches($0.value) }.map(\.key.name).sorted()
                        try same(try await store.names(query), expected, "\(conditions)")
                        try same(try await store.count(query), expected.count, "the count of \(conditions)")
                    }
                }
                await store.close()
                // The independent reader compares every label with its row.
                if changes.count > 18 { _ = try await Reader.run(["dump", place.path, place.keyPath]) }
            }
        }

        @Test func `pages of plain keys and of a collection list every unchanged record once while other records change`() async throws {
            let place = try Place()
            let store = place.store()
            for namespace in [StorageNamespace.values, shelf] {
                _ = try await store.apply((0..<300).map { .put(.bytes([1]), at: StorageAddress("n \($0)", in: namespace)) })
            }
            for namespace in [StorageNamespace.values, shelf] {
                var seen: [StorageAddress: Int] = [:]
                var cursor: StorageCursor?
                var round = 0
                repeat {
                    let page = try await store.page(StorageQuery(namespace), after: cursor, limit: 40)
                    #expect(page.entries.count <= 40)
                    for entry in page.entries { seen[entry.address, default: 0] += 1 }
                    cursor = page.next
                    _ = try await store.apply([
                        .delete(StorageAddress("n \(round)", in: namespace)),
                        .put(.bytes([2]), at: StorageAddress("new \(round)", in: namespace)),
                    ])
                    round += 1
                } while cursor != nil
                for number in round..<300 { #expect(seen[StorageAddress("n \(number)", in: namespace)] == 1) }
            }
            await store.close()
        }

        @Test func `a cursor of another query is refused`() async throws {
            let place = try Place()
            let store = place.store()
            let metadata = StorageMetadata(typeTag: "note", modifiedAt: 5)
            _ = try await store.apply((0..<4).map { .put(.bytes([1]), metadata, at: StorageAddress("\($0)", in: shelf)) })
            let next = try #require(try await store.page(StorageQuery(shelf), after: nil, limit: 1).next)
            for query in [
                StorageQuery(shelf, [.typeTag("note")]), StorageQuery(StorageNamespace("other")), StorageQuery(.values),
                StorageQuery(shelf, [.modified(since: 0)]),
            ] {
                let error = await failure { () throws(BackendError) in try await store.page(query, after: next, limit: 1) }
                #expect(error?.code == .unsupported, "\(query)")
            }
            for bytes in [[], [0], [1], [7, 7], Array(repeating: 1, count: 57)] as [[UInt8]] {
                let error = await failure { () throws(BackendError) in
                    try await store.page(StorageQuery(shelf), after: StorageCursor(bytes), limit: 1)
                }
                #expect(error?.code == .unsupported)
            }
            await store.close()
        }

        // MARK: Kills

        @Test(.timeLimit(.minutes(10)))
        func `a process that is killed while it adds the label feature leaves the whole feature or nothing`() async throws {
            for delay in [0, 1, 3, 6, 12, 24] {
                let place = try Place()
                let store = place.store()
                _ = try await store.apply((0..<200).map { .text("\($0)", at: "plain \($0)") })
                await store.close()
                let probe = try place.probe("shelve")
                #expect(try await probe.line() == "ready")
                try probe.send("go")
                try await Task.sleep(for: .milliseconds(delay))
                let acknowledged = await probe.kill().count(where: { $0.hasPrefix("shelved") })
                let found = try await store.names(StorageQuery(shelf), limit: 50).count
                #expect(found == acknowledged || found == acknowledged + 1, "after \(delay) ms")
                #expect(try await store.apply(.put(.bytes([1]), at: StorageAddress("after", in: shelf))).isApplied)
                #expect(try await store.count(StorageQuery(shelf)) == found + 1)
                await store.close()
                #expect(try await place.check("\(delay)") == 201 + found)
            }
        }
    }

    extension MutationResult {
        fileprivate var isConflict: Bool { if case .conflict = self { true } else { false } }
    }
#endif
