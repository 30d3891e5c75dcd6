import Foundation
import LocalData
import LocalDataQueries
import TestSupport
import Testing

/// A query has the result that a filter over an array of the same records has.
@Suite(.inTurn) struct QueryLawTests {
    /// A condition that can be drawn, and the same condition for an array.
    private indirect enum Condition: Sendable, CustomStringConvertible {
        case tag(String), notTag(String), size(Int), below(Int), atLeast(Int), status(Item.Status?), ratio(Double), due(Date?), dueBefore(
            Date)
        case long(Int)
        case both(Condition, Condition), either(Condition, Condition), not(Condition)

        var description: String {
            switch self {
            case .tag(let tag): "tag == \(tag)"
            case .notTag(let tag): "tag != \(tag)"
            case .size(let size): "size == \(size)"
            case .below(let size): "size < \(size)"
            case .atLeast(let size): "size >= \(size)"
            case .status(let status): "status == \(status?.rawValue ?? "nil")"
            case .ratio(let ratio): "ratio == \(ratio)"
            case .due(let due): "due == \(due?.description ?? "nil")"
            case .dueBefore(let date): "due < \(date)"
            case .long(let count): "tag has more than \(count) characters"
            case .both(let left, let right): "(\(left) && \(right))"
            case .either(let left, let right): "(\(left) || \(right))"
            case .not(let condition): "!\(condition)"
            }
        }

        var predicate: RecordPredicate<Item> {
            switch self {
            case .tag(let tag): \.tag == tag
            case .notTag(let tag): \.tag != tag
            case .size(let size): \.size == size
            case .below(let size): \.size < size
            case .atLeast(let size): \.size >= size
            case .status(let status): \.status == status
            case .ratio(let ratio): \.ratio == ratio
            case .due(let due): \.due == due
            case .dueBefore(let date): \.due < date
            case .long(let count): .matching { $0.tag.count > count }
            case .both(let left, let right): left.predicate && right.predicate
            case .either(let left, let right): left.predicate || right.predicate
            case .not(let condition): !condition.predicate
            }
        }

        func holds(_ item: Item) -> Bool {
            switch self {
            case .tag(let tag): item.tag == tag
            case .notTag(let tag): item.tag != tag
            case .size(let size): item.size == size
            case .below(let size): item.size < size
            case .atLeast(let size): item.size >= size
            case .status(let status): item.status == status
            case .ratio(let ratio): item.ratio == ratio
            case .due(let due): item.due == due
            case .dueBefore(let date): item.due.map { $0 < date } ?? false
            case .long(let count): item.tag.count > count
            case .both(let left, let right): left.holds(item) && right.holds(item)
            case .either(let left, let right): left.holds(item) || right.holds(item)
            case .not(let condition): !condition.holds(item)
            }
        }
    }

    /// A change of the collection.
    private enum Change: Sendable {
        case set([Item])
        case update(Item)
        case remove(String)
        /// Stores a record by a program that derives no attributes.
        case olderSet(Item)
        case olderUpdate(Item)
        case sweep
    }

    private struct Case: Sendable, CustomStringConvertible {
        var changes: [Change]
        var conditions: [Condition]
        var pageSize: Int
        var description: String { "\(changes), then \(conditions) in pages of \(pageSize)" }
    }

    // The two spellings of é are equal in Swift.
    private static let tags = ["a", "b", "", "\u{E9}", "e\u{301}", "A"]
    private static let dates = [0.0, 0.1, 1e9].map(Date.init(timeIntervalSinceReferenceDate:))

    private static var items: Arbitrary<Item> {
        let names = zip(Arbitrary<Int>.number(in: 0...5), Arbitrary<String>.one(of: tags))
        let facts = zip(Arbitrary<Int>.number(in: -1...1), Arbitrary<Item.Status?>.one(of: [nil, .open, .done]))
        let numbers = zip(Arbitrary<Double>.one(of: [0.0, -0.0, 0.5]), Arbitrary<Date>.one(of: dates).optional)
        return zip(names, facts, numbers).map { names, facts, numbers in
            Item(id: "i\(names.0)", tag: names.1, size: facts.0, status: facts.1, ratio: numbers.0, due: numbers.1)
        }
    }

    private static func conditions(_ levels: Int) -> Arbitrary<Condition> {
        let numbers = Arbitrary<Int>.number(in: -1...1)
        let (texts, days) = (Arbitrary<String>.one(of: tags), Arbitrary<Date>.one(of: dates))
        let simple: [Arbitrary<Condition>] = [
            texts.map { .tag($0) }, texts.map { .notTag($0) }, numbers.map { .size($0) }, numbers.map { .below($0) },
            numbers.map { .atLeast($0) }, Arbitrary<Item.Status?>.one(of: [nil, .open, .done]).map { .status($0) },
            Arbitrary<Double>.one(of: [0.0, -0.0, 0.5, .nan]).map { .ratio($0) }, days.optional.map { .due($0) },
            days.map { .dueBefore($0) }, Arbitrary<Int>.number(in: 0...1).map { .long($0) },
        ]
        if levels == 0 { return .any(of: simple) }
        let inner = conditions(levels - 1)
        return .any(
            of: simple + [
                zip(inner, inner).map { Condition.both($0, $1) }, zip(inner, inner).map { Condition.either($0, $1) },
                inner.map { Condition.not($0) },
            ])
    }

    private static func cases(_ withOlder: Bool) -> Arbitrary<Case> {
        let ids = Arbitrary<Int>.number(in: 0...5).map { "i\($0)" }
        let present: [Arbitrary<Change>] = [items.list(1...4).map { .set($0) }, items.map { .update($0) }, ids.map { .remove($0) }]
        let older: [Arbitrary<Change>] = [items.map { .olderSet($0) }, items.map { .olderUpdate($0) }, .always(.sweep)]
        let changes = Arbitrary<Change>.any(of: withOlder ? present + older : present).list(0...8)
        return zip(changes, conditions(2).list(1...3), Arbitrary<Int>.number(in: 1...4)).map { changes, conditions, size in
            Case(changes: changes, conditions: conditions, pageSize: size)
        }
    }

    /// Makes changes and compares the results of queries with filters over an array.
    private func check(_ one: Case, _ place: QueryPlace, _ launch: () -> StorageRouter) async throws {
        let (items, plain) = (place.indexed, place.plain)
        let router = launch()
        try await router.clear(items)
        var model: [String: Item] = [:]
        for change in one.changes {
            switch change {
            case .set(let records):
                // A property list commits several records at once, too.
                try await router.set(records, in: items)
                for record in records { model[record.id] = record }
            case .update(let record):
                try await router.update(record.id, in: items) { $0 = record }
                model[record.id] = record
            case .remove(let id):
                try await router.remove(id, in: items)
                model[id] = nil
            case .olderSet(let record):
                try await launch().set(record, in: plain)
                model[record.id] = record
            case .olderUpdate(let record):
                try await launch().update(record.id, in: plain) { $0 = record }
                model[record.id] = record
            case .sweep: _ = try await router.row(of: items)
            }
        }
        for condition in one.conditions {
            let expected = model.values.filter(condition.holds).sorted { $0.id < $1.id }
            let predicate = condition.predicate
            let ids = expected.map(\.id)
            let found = try await router.records(in: items, where: predicate)
            try same(found.map(\.id).sorted(), ids, "records")
            try same(found.sorted { $0.id < $1.id }, expected, "records")
            try same(try await router.count(in: items, where: predicate), ids.count, "count")
            try same(try await router.exists(in: items, where: predicate), !ids.isEmpty, "exists")
            let pages = try await router.pages(items, predicate, nil, size: one.pageSize)
            try same(pages.joined().map(\.id).sorted(), ids, "pages")
            try hold(pages.allSatisfy { $0.count <= one.pageSize }, "a page is too long")
            let order = RecordOrder<Item>.descending(\.due).then(.ascending(\.size))
            let ordered = expected.sorted { left, right in
                let (a, b) = (left.due ?? .distantPast, right.due ?? .distantPast)
                return a != b ? a > b : left.size != right.size ? left.size < right.size : left.id < right.id
            }
            try same(
                try await router.pages(items, predicate, order, size: one.pageSize).flatMap { $0.map(\.id) }, ordered.map(\.id), "order")
            try same(
                try await router.records(in: items, where: predicate, orderedBy: order, limit: 2).map(\.id),
                ordered.prefix(2).map(\.id), "limit")
        }
        guard let condition = one.conditions.first else { return }
        let removed = try await router.removeAll(in: items, where: condition.predicate)
        try same(removed, model.values.filter(condition.holds).count, "removed")
        let rest = try await router.records(in: items, where: .all).map(\.id).sorted()
        try same(rest, model.values.filter { !condition.holds($0) }.map(\.id).sorted(), "the rest")
    }

    @Test(arguments: QueryPlace.allCases) func `a query finds what a filter over an array finds`(place: QueryPlace) async throws {
        try await place.withLaunches { launch in
            await forAll(Self.cases(false), count: 8) { try await check($0, place, launch) }
        }
    }

    @Test(arguments: QueryPlace.allCases.filter { $0 != .memory })
    func `a query finds the same while an older release writes records without attributes`(place: QueryPlace) async throws {
        try await place.withLaunches { launch in
            await forAll(Self.cases(true), count: 5) { try await check($0, place, launch) }
        }
    }

    #if Keyring
        @Test(.slow("goes through a keyring")) func `a query in a keyring finds what a filter over an array finds`() async throws {
            let stage = try Stage(keyring: true)
            let router = stage.launch { $0.pageSize = 3 }
            let items = Item.indexed(.keychain(service: stage.service))
            let stored = (0..<5).map { Item(id: "i\($0)", tag: $0 % 2 == 0 ? "even" : "odd", size: $0) }
            for item in stored { try await router.set(item, in: items) }
            #expect(
                try await router.records(in: items, where: \.tag == "even" && \.size > 0, orderedBy: .descending(\.size)).map(\.id)
                    == ["i4", "i2"])
            #expect(try await router.count(in: items, where: \.tag == "odd") == 2)
            #expect(try await router.removeAll(in: items, where: \.tag == "odd") == 2)
            try await router.clear(items)
            #expect(try await !router.exists(in: items, where: .all))
            try await router.shutdown()
        }
    #endif
}
