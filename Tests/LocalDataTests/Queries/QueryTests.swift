import Foundation
import LocalData
import LocalDataQueries
import LocalDataTesting
import Synchronization
import TestSupport
import Testing

/// Pages, cursors, damage and removals of queries.
@Suite(.inTurn) struct QueryTests {
    private func stored(_ count: Int) -> [Item] {
        (0..<count).map { Item(id: "i\($0)", tag: $0 % 2 == 0 ? "even" : "odd", size: $0 % 3) }
    }

    @Test(arguments: QueryPlace.allCases)
    func `pages repeat and miss no record that stays, while others are removed and added`(place: QueryPlace) async throws {
        try await place.withLaunches { launch in
            let (router, items) = (launch(), place.indexed)
            for order in [nil, RecordOrder<Item>.ascending(\.size)] {
                try await router.clear(items)
                try await router.set(stored(10), in: items)
                var seen: [String] = []
                var cursor: QueryCursor?
                var round = 0
                repeat {
                    let page = try await router.page(in: items, where: \.tag == "even", orderedBy: order, size: 2, after: cursor)
                    seen += page.records.map(\.id)
                    cursor = page.cursor
                    // The last record of the page, whose position the cursor has, is removed, and another one is added.
                    if let last = page.records.last { try await router.remove(last.id, in: items) }
                    try await router.set(Item(id: "x\(round)", tag: "even", size: round), in: items)
                    round += 1
                } while cursor != nil && round < 20
                let staying = seen.filter { $0.hasPrefix("i") }
                #expect(staying.sorted() == ["i0", "i2", "i4", "i6", "i8"])
            }
        }
    }

    @Test func `an ordered cursor is refused by another router, and for another collection`() async throws {
        let place = QueryPlace.propertyList
        try await place.withLaunches { launch in
            let (router, items) = (launch(), place.indexed)
            let others = StorageCollection<Item>("others", domain: place.domain, typeTag: "Item")
            try await router.set(stored(4), in: items)
            let order = RecordOrder<Item>.ascending(\.tag)
            let cursor = try #require(try await router.page(in: items, where: .all, orderedBy: order, size: 1).cursor)
            await expectRefusal(StorageError.unsupported, of: "items", saying: "first page") {
                _ = try await launch().page(in: items, where: .all, orderedBy: order, size: 1, after: cursor)
            }
            await expectRefusal(StorageError.unsupported, of: "others", saying: "first page") {
                _ = try await router.page(in: others, where: .all, orderedBy: order, size: 1, after: cursor)
            }
            await expectRefusal(StorageError.unsupported, of: "items", saying: "first page") {
                _ = try await router.page(in: items, where: .all, size: 1, after: cursor)
            }
        }
    }

    @Test func `an ordered cursor is refused for another order, and the error has no value of a record`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        let items = Item.indexed(.memory("main"))
        try await router.set([Item(id: "a", tag: "x", ratio: 1234.5), Item(id: "b", tag: "y", ratio: 2345.5)], in: items)
        let cursor = try #require(try await router.page(in: items, where: .all, orderedBy: .ascending(\.ratio), size: 1).cursor)
        for order in [RecordOrder<Item>.ascending(\.size), .descending(\.ratio), .ascending(\.tag)] {
            await expectRefusal(StorageError.unsupported, of: "items", saying: "first page", hiding: ["1234"]) {
                _ = try await router.page(in: items, where: .all, orderedBy: order, size: 1, after: cursor)
            }
        }
        let last = try await router.page(in: items, where: .all, orderedBy: .ascending(\.ratio), size: 1, after: cursor)
        #expect(last.records.map(\.id) == ["b"])
    }

    @Test func `an ordered cursor whose values cannot be encoded is refused without the values`() async throws {
        struct Strict: Codable, Comparable, Sendable {
            var text: String

            init(text: String) { self.text = text }
            init(from decoder: any Decoder) throws { text = try decoder.singleValueContainer().decode(String.self) }

            func encode(to encoder: any Encoder) throws {
                // The type is encoded as a part of a record, and refuses to be encoded in a list.
                guard encoder.codingPath.contains(where: { $0.intValue == nil }) else {
                    throw EncodingError.invalidValue(text, EncodingError.Context(codingPath: [], debugDescription: text))
                }
                var container = encoder.singleValueContainer()
                try container.encode(text)
            }

            static func < (left: Self, right: Self) -> Bool { left.text < right.text }
        }
        struct Entry: Codable, Identifiable, Sendable {
            var id: String
            var name: Strict
        }
        let router = StorageRouter(configuration: .inMemory())
        let entries = StorageCollection<Entry>("entries", domain: .memory("main"), typeTag: "Entry")
        for id in ["a", "b"] { try await router.set(Entry(id: id, name: Strict(text: "secret \(id)")), in: entries) }
        await expectRefusal(StorageError.encodingFailed, of: "a", saying: "order", hiding: ["secret"]) {
            _ = try await router.page(in: entries, where: .all, orderedBy: .ascending(\.name), size: 1)
        }
    }

    @Test func `an ordered cursor contains no value of a record, and works after it was encoded`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        let items = Item.indexed(.memory("main"))
        try await router.set([Item(id: "a", tag: "very secret"), Item(id: "b", tag: "very secret too")], in: items)
        let order = RecordOrder<Item>.ascending(\.tag)
        let cursor = try #require(try await router.page(in: items, where: .all, orderedBy: order, size: 1).cursor)
        #expect(!String(decoding: cursor.bytes, as: UTF8.self).contains("secret"))
        let decoded = try JSONDecoder().decode(QueryCursor.self, from: JSONEncoder().encode(cursor))
        let page = try await router.page(in: items, where: .all, orderedBy: order, size: 1, after: decoded)
        #expect(page.records.map(\.id) == ["b"] && page.cursor == nil)
    }

    @Test func `nil comes before all values, and NaN after them`() async throws {
        struct Measure: Codable, Identifiable, Sendable {
            var id: String
            var value: Double
            var weight: Int?
        }
        let router = StorageRouter(configuration: .inMemory())
        let measures = StorageCollection<Measure>("measures", domain: .memory("main"), serializer: .plist, typeTag: "Measure")
        let values: [Double] = [.nan, 2, -.infinity, 1]
        for (number, value) in values.enumerated() {
            try await router.set(Measure(id: "m\(number)", value: value, weight: number == 2 ? nil : -number), in: measures)
        }
        func ids(_ order: RecordOrder<Measure>) async throws -> [String] {
            var (ids, cursor): ([String], QueryCursor?) = ([], nil)
            repeat {
                let page = try await router.page(in: measures, where: .all, orderedBy: order, size: 1, after: cursor)
                ids += page.records.map(\.id)
                cursor = page.cursor
            } while cursor != nil
            return ids
        }
        #expect(try await ids(.ascending(\.value)) == ["m2", "m3", "m1", "m0"])
        #expect(try await ids(.descending(\.value)) == ["m0", "m1", "m3", "m2"])
        #expect(try await ids(.ascending(\.weight)) == ["m2", "m3", "m1", "m0"])
        #expect(try await ids(.descending(\.weight)) == ["m0", "m1", "m3", "m2"])
    }

    @Test(arguments: QueryPlace.allCases) func `a damaged record is reported once, and the others are found`(place: QueryPlace) async throws
    {
        struct Broken: Codable, Sendable { var broken = 1 }
        try await place.withLaunches { launch in
            let (router, items) = (launch(), place.indexed)
            try await router.set(stored(7), in: items)
            let broken = StorageCollection<Broken>(
                "items", domain: place.domain, security: items.security, typeTag: "Item"
            ) { _ in "i3" }
            try await router.set(Broken(), in: broken)
            await #expect(throws: StorageError.self) { try await router.records(in: items, where: \.size >= 0) }
            let reported = Mutex<[String?]>([])
            let found = try await router.records(
                in: items, where: \.size >= 0, limit: 5, onDamage: .report { record, _ in reported.withLock { $0.append(record.name) } })
            #expect(found.count == 5)
            let all = try await router.records(in: items, where: .all, onDamage: .skip)
            #expect(all.map(\.id).sorted() == ["i0", "i1", "i2", "i4", "i5", "i6"])
            #expect(reported.withLock { $0.count } <= 1)
            // Every record is removed, also one that cannot be decoded.
            try await router.clear(items)
            #expect(try await router.names(of: place.domain, collection: "items").isEmpty)
        }
    }

    @Test func `a limit below one finds no records`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        let items = Item.indexed(.memory("main"))
        try await router.set(stored(3), in: items)
        #expect(try await router.records(in: items, where: .all, limit: 0).isEmpty)
        #expect(try await router.first(in: items, where: \.size == 1)?.id == "i1")
        #expect(try await router.first(in: items, where: .all, orderedBy: .descending(\.id))?.id == "i2")
    }

    @Test func `a query states its condition and its order for single records`() {
        let query = RecordQuery(in: Item.plain(.memory("main")), where: \.tag == "a", orderedBy: .descending(\.size))
        let (small, large) = (Item(id: "a", tag: "a", size: 1), Item(id: "b", tag: "b", size: 2))
        #expect(query.matches(small) && !query.matches(large))
        #expect(query.precedes(large, small) && !query.precedes(small, large))
        let same = Item(id: "0", tag: "c", size: 1)
        #expect(query.precedes(same, small) && !query.precedes(small, same) && !query.precedes(small, small))
    }

    @Test func `a removal by a query reaches the older copies in a release window, and can be repeated`() async throws {
        let machine = TestMachine { $0.pageSize = 2 }
        let old = StorageCollection<Item>("old", domain: .userDefaults(suite: "old"), typeTag: "Item")
        let items = Item.indexed(.userDefaults(suite: "new")).moved(from: old, keeping: .untilReleased)
        let first = machine.launch(version: "1")
        for item in stored(6) { try await first.set(item, in: old) }
        let router = machine.launch(version: "2")
        #expect(try await router.removeAll(in: items, where: \.tag == "even") == 3)
        #expect(try await router.removeAll(in: items, where: \.tag == "even") == 0)
        var left: [String] = []
        for try await item in first.records(in: old) { left.append(item.id) }
        #expect(left.sorted() == ["i1", "i3", "i5"])
        _ = try await router.row(of: items)
        #expect(try await router.records(in: items, where: .all).map(\.id).sorted() == ["i1", "i3", "i5"])
        try await router.clear(items)
        _ = try await router.row(of: items)
        #expect(try await router.count(in: items, where: .all) == 0)
        for try await item in first.records(in: old) { Issue.record("\(item.id) is still in the older place") }
    }

    @Test func `a record that changes before its removal stays if it no longer meets the condition`() async throws {
        let router = StorageRouter(configuration: .inMemory())
        let items = Item.indexed(.memory("main"))
        try await router.set([Item(id: "a", tag: "one"), Item(id: "b", tag: "one")], in: items)
        // The condition is checked when the records are read, and again for each that has changed since.
        let found = try await router.matching("test", in: items) { reader in
            try await reader.page(
                .init(matches: [], label: nil) { $0.tag == "one" }, after: nil, limit: 10, size: 10, onDamage: .throw)
        }
        try await router.update("a", in: items) { $0?.tag = "two" }
        #expect(try await router.remove(found.records, from: items) { $0.tag == "one" } == 1)
        #expect(try await router.records(in: items, where: .all).map(\.id) == ["a"])
    }
}
