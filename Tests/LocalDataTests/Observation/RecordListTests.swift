import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData
@testable import LocalDataObservation

/// The sorted records that an observable query shows.
@Suite struct RecordListTests {
    private struct Change: Sendable {
        let id: Int
        /// The new rank; nil for a removal.
        let rank: Int?
    }

    private struct Ranked: Codable, Sendable, Equatable, Identifiable {
        var id: String
        var rank: Int
    }

    private static let collection = StorageCollection<Ranked>("ranked", domain: .userDefaults(suite: "main"))

    private static func plan(_ limit: Int?) -> RecordPlan<Ranked> {
        RecordPlan(collection, matches: { $0.rank >= 0 }, precedes: { $0.rank < $1.rank }, limit: limit)
    }

    private static func update(_ change: Change) -> RecordFollower<Ranked>.Update {
        RecordFollower<Ranked>.Update(
            id: "\(change.id)", old: nil, new: change.rank.map { Ranked(id: "\(change.id)", rank: $0) }, wasPresent: true)
    }

    @Test func `a list shows the first records that match, in order, until it asks for a read`() async {
        let change = zip(Arbitrary<Int>.number(in: 0...30), Arbitrary<Int>.number(in: -1...6).optional).map { Change(id: $0, rank: $1) }
        let steps = zip(change.list(1...8), Arbitrary<Bool>.flag).list(0...20)
        await forAll(zip(steps, Arbitrary<Int>.number(in: 0...4).optional), count: 400) { steps, limit in
            var list = RecordList(Self.plan(limit))
            var all: [String: Ranked] = [:]
            for (changes, isCurrent) in steps {
                list.apply(changes.map(Self.update), isCurrent: isCurrent)
                for change in changes { all["\(change.id)"] = change.rank.map { Ranked(id: "\(change.id)", rank: $0) } }
                guard isCurrent else { continue }
                if list.needsRead {
                    list = RecordList(Self.plan(limit))
                    list.apply(all.values.map { Self.update(Change(id: Int($0.id) ?? 0, rank: $0.rank)) }, isCurrent: true)
                }
                let sorted = all.values.filter { $0.rank >= 0 }.sorted { ($0.rank, $0.id) < ($1.rank, $1.id) }
                try same(list.records, Array(sorted.prefix(limit ?? .max)), "the list")
            }
        }
    }

    @Test func `with a limit, a list asks for a read only after it has lost as many records as it shows`() {
        var list = RecordList(Self.plan(10))
        list.apply((0..<100).map { Self.update(Change(id: $0, rank: $0)) }, isCurrent: true)
        for removed in 0..<10 {
            list.apply([Self.update(Change(id: removed, rank: nil))], isCurrent: true)
            #expect(!list.needsRead)
            #expect(list.records.map(\.rank) == Array(removed + 1...removed + 10))
        }
        list.apply([Self.update(Change(id: 10, rank: nil))], isCurrent: true)
        #expect(list.needsRead)
    }
}
