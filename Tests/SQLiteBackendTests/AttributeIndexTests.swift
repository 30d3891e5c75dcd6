#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// Tests of values whose attributes have no labels, alone and next to values with labels.
    /// A label is a keyed hash of an attribute, by which a query finds rows without decrypting them.
    /// All values without attribute labels share one label, the marker.
    /// `PageTests` checks that every query finds both kinds of values.
    @Suite(.inTurn) struct AttributeIndexTests {
        private let place: Place
        private let store: SQLiteStore

        init() throws {
            place = try Place()
            store = place.store()
        }

        private static let colours = ["red", "blue"]

        private func address(_ number: Int) -> StorageAddress { StorageAddress("\(number)", in: shelf) }

        private func put(_ numbers: Range<Int>, indexed: Bool) async throws {
            let results = try await store.apply(
                numbers.map { number in
                    let metadata = StorageMetadata(
                        typeTag: "note", modifiedAt: 10,
                        attributes: ["colour": Self.colours[number % 2], "own": "\(number)"], indexesAttributes: indexed)
                    return .put(.bytes([1]), metadata, at: address(number))
                })
            #expect(results.allSatisfy { $0.isApplied })
        }

        private func query(_ colour: String) -> StorageQuery { StorageQuery(shelf, [.attribute("colour", colour)]) }

        private func labels() throws -> (all: Int64, different: Int64) {
            let database = try PlainDatabase(path: place.path)
            return (
                try database.value("SELECT count(*) FROM labels")?.integer ?? -1,
                try database.value("SELECT count(DISTINCT label) FROM labels")?.integer ?? -1
            )
        }

        private func expectRight(_ reds: [Int], _ blues: [Int], at location: SourceLocation = #_sourceLocation) async throws {
            for (colour, numbers) in [("red", reds), ("blue", blues), ("green", [])] {
                let names = try await store.names(query(colour), limit: 2)
                #expect(names == numbers.map(String.init).sorted(), sourceLocation: location)
                #expect(try await store.count(query(colour)) == numbers.count, sourceLocation: location)
                #expect(try await store.page(query(colour), after: nil, limit: 100).isComplete, sourceLocation: location)
            }
            #expect(try await store.verifyIntegrity { _ in }?.isSound == true, sourceLocation: location)
        }

        @Test func `values without attribute labels share one label, and no label in the file depends on their attributes`() async throws {
            try await put(0..<6, indexed: false)
            // Each value has four labels: namespace, type, day, and a marker for attributes without labels.
            // One more entry lists the day that is in use.
            #expect(try labels() == (6 * 4 + 1, 5))
            try await expectRight([0, 2, 4], [1, 3, 5])
            await store.close()
            try await place.check()
            // With attribute labels, each value has entries for its two attributes instead of the marker.
            let other = try AttributeIndexTests()
            try await other.put(0..<6, indexed: true)
            #expect(try other.labels() == (6 * 5 + 1, 4 + 2 + 6))
            await other.store.close()
        }

        @Test func `queries find values with and without attribute labels after a collection starts or stops labelling attributes`()
            async throws
        {
            try await put(0..<6, indexed: true)
            let indexed = try labels()
            try await put(0..<3, indexed: false)
            try await expectRight([0, 2, 4], [1, 3, 5])
            try await put(3..<6, indexed: false)
            try await expectRight([0, 2, 4], [1, 3, 5])
            #expect(try labels() == (6 * 4 + 1, 5))
            try await put(0..<5, indexed: true)
            try await expectRight([0, 2, 4], [1, 3, 5])
            try await put(5..<6, indexed: true)
            try await expectRight([0, 2, 4], [1, 3, 5])
            #expect(try labels() == indexed)
            await store.close()
            try await place.check()
        }

        @Test func `labels match the values after a rotation of the data key, and after they are rebuilt`() async throws {
            try await put(0..<4, indexed: false)
            try await put(4..<8, indexed: true)
            let before = try labels()
            _ = try await store.rotateDataKey(batch: 3) { _, _ in }
            try await expectRight([0, 2, 4, 6], [1, 3, 5, 7])
            #expect(try labels() == before)
            try await store.acceptContents()
            try await expectRight([0, 2, 4, 6], [1, 3, 5, 7])
            #expect(try labels() == before)
            await store.close()
        }

        @Test func `if values lose their attribute labels between two pages of a query, the last page is not marked as complete`()
            async throws
        {
            try await put(0..<8, indexed: true)
            let first = try await store.page(query("red"), after: nil, limit: 1)
            try await put(0..<8, indexed: false)
            var (names, cursor, last) = (first.entries.map(\.address.name), first.next, first)
            while let next = cursor {
                last = try await store.page(query("red"), after: next, limit: 1)
                #expect(last.damaged.isEmpty)
                names += last.entries.map(\.address.name)
                cursor = last.next
            }
            #expect(Set(names).count == names.count && Set(names).isSubset(of: ["0", "2", "4", "6"]))
            #expect(!last.isComplete)
            await store.close()
        }

        @Test func `if a value without attribute labels is added between two pages, the last page is not marked as complete`() async throws
        {
            try await put(0..<8, indexed: true)
            let first = try await store.page(query("red"), after: nil, limit: 1)
            // The added value has no entry under the label of the query.
            // So the entries that the next page reads are unchanged.
            try await put(8..<9, indexed: false)
            let last = try await store.page(query("red"), after: first.next, limit: 100)
            #expect(Set((first.entries + last.entries).map(\.address.name)).isSuperset(of: ["0", "2", "4", "6"]))
            #expect(last.next == nil && last.damaged.isEmpty)
            #expect(!last.isComplete)
            await store.close()
        }

        @Test func `a forged label for a value without attribute labels is reported as damage and leads to no value`() async throws {
            try await put(0..<8, indexed: true)
            let database = try PlainDatabase(path: place.path)
            let sealed = try SealedDatabase(path: place.path, keyFile: place.keyPath)
            let slots = try (0..<8).map { try sealed.slot(address($0)) }
            let reds = Set([0, 2, 4, 6].map { slots[$0] })
            let label = try #require(
                try database.rows("SELECT label FROM labels GROUP BY label HAVING count(*) = 4").compactMap { $0[0].blob }.first {
                    reds
                        == Set(
                            try database.rows("SELECT slot FROM labels WHERE label = ?", [$0]).compactMap { $0[0].blob.map { Array($0) } })
                })
            let first = try await store.page(query("red"), after: nil, limit: 1)
            let met = try #require(first.entries.first?.address.name)
            let number = try #require([0, 2, 4, 6].filter { "\($0)" != met }.max { slots[$0].lexicographicallyPrecedes(slots[$1]) })
            try await put(number..<number + 1, indexed: false)
            try database.execute("INSERT INTO labels (label, slot) VALUES (?, ?)", [label, Data(slots[number])])
            let last = try await store.page(query("red"), after: first.next, limit: 100)
            #expect(!last.entries.contains { $0.address.name == "\(number)" })
            #expect(last.damaged.count == 1 && !last.isComplete, "\(last.damaged)")
            await store.close()
        }

        @Test func `an integrity check detects a deleted marker of values without attribute labels, and queries still find the values`()
            async throws
        {
            try await put(0..<4, indexed: false)
            try await put(4..<8, indexed: true)
            await store.close()
            let sealed = try SealedDatabase(path: place.path, keyFile: place.keyPath)
            let slots = try (0..<8).map { try sealed.slot(address($0)) }
            // The marker is the only label that all values without attribute labels share, and no other value has.
            let database = try PlainDatabase(path: place.path)
            let label = try #require(
                try database.rows("SELECT label FROM labels GROUP BY label HAVING count(*) = 4").compactMap { $0[0].blob }.first {
                    let members = try database.rows("SELECT slot FROM labels WHERE label = ?", [$0])
                        .compactMap { $0[0].blob.map { Array($0) } }
                    return Set(members) == Set(slots[..<4])
                })
            for sql in [
                "DELETE FROM labels WHERE label = ?1 AND slot = (SELECT min(slot) FROM labels WHERE label = ?1)",
                "DELETE FROM labels WHERE label = ?1",
            ] {
                try database.execute(sql, [label])
                let store = place.store()
                #expect(try await store.names(query("red")) == ["0", "2", "4", "6"])
                #expect(try await store.verifyIntegrity { _ in }?.isSound == false)
                await store.close()
            }
        }
    }
#endif
