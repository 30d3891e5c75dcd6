import Testing

@testable import LocalData

/// The rules of `StateTable`, by the rows of "The state table" in `Docs/Design.md`. `StateTableTests` runs the same rows with real stores.
struct StateTableRuleTests {
    private typealias Copy = StateTable.Facts

    /// All combinations of facts about a record.
    private static let copies: [Copy] = [RecordOrigin.Match.none, .content, .exact].flatMap { match in
        (0..<32).map { bits in
            Copy(
                match: match, isMade: bits & 1 != 0, isForeign: bits & 2 != 0, hasOrigin: bits & 4 != 0, isSource: bits & 8 != 0,
                isRemoved: bits & 16 != 0)
        }
    }

    @Test func `a copy that the origin names is deleted, and one with an origin only if the destination is unchanged`() {
        for copy in Self.copies where copy.match == .exact {
            #expect(StateTable.verdict(on: copy) == .copy(ifUnchanged: copy.hasOrigin), "\(copy)")
        }
    }

    @Test func `a value from which the destination was made is deleted if the destination is unchanged`() {
        for copy in Self.copies where copy.match == .content && copy.isMade {
            #expect(StateTable.verdict(on: copy) == .copy(ifUnchanged: true), "\(copy)")
        }
    }

    @Test func `a value with the content of a copy is set aside, unless it can be compared with a value`() {
        for copy in Self.copies where copy.match == .content && !copy.isMade {
            let isCompared = copy.isSource && !copy.isRemoved
            #expect(StateTable.verdict(on: copy) == (isCompared ? .other : .doubtful), "\(copy)")
        }
    }

    @Test func `beside a tombstone, a value of another program is set aside, and any other value is compared`() {
        for copy in Self.copies where copy.match == .none {
            #expect(StateTable.verdict(on: copy) == (copy.isRemoved && copy.isForeign ? .doubtful : .other), "\(copy)")
        }
    }

    @Test func `no record is deleted without a copy in the quarantine, unless the origin names it or the destination was made from it`() {
        for copy in Self.copies {
            guard case .copy = StateTable.verdict(on: copy) else { continue }
            #expect(copy.match == .exact || copy.match == .content && copy.isMade, "\(copy)")
        }
    }

    // MARK: Conflicts

    /// The name of a decision, with its value.
    private func decision(equal: Bool = false, doubtful: Bool = false, _ value: Int?, _ policy: ConflictPolicy<Int>) throws -> String {
        switch StateTable.decision(isEqual: equal, isDoubtful: doubtful, value, policy) {
        case .delete: "delete"
        case .setAside: "set aside"
        case .keep: "keep"
        case .replace(let value): "replace by \(value)"
        case .merge(let value, let merge): "merge to \(try merge(1, value) ?? 0)"
        case .fail: "fail"
        }
    }

    private static let policies: [ConflictPolicy<Int>] = [.destinationWins, .sourceWins, .merge { ($0 ?? 0) + $1 }]

    @Test func `records with the value of the destination are deleted, whatever the policy says`() throws {
        for policy in Self.policies {
            #expect(try decision(equal: true, 1, policy) == "delete")
            #expect(try decision(equal: true, doubtful: true, 1, policy) == "delete")
        }
    }

    @Test func `records that may be copies decide no conflict`() throws {
        for policy in Self.policies { for value in [nil, 2] { #expect(try decision(doubtful: true, value, policy) == "set aside") } }
    }

    @Test func `the policy decides about any other value`() throws {
        #expect(try Self.policies.map { try decision(2, $0) } == ["keep", "replace by 2", "merge to 3"])
    }

    @Test func `a value that cannot be read wins no conflict, and is no input of a merge`() throws {
        #expect(try Self.policies.map { try decision(nil, $0) } == ["keep", "fail", "fail"])
    }
}
