/// How often runs came to each state of a record, and what had gone wrong by then.
package struct RecordCoverage: Sendable {
    package enum State: String, CaseIterable, Sendable {
        case absent, pending
        case besideOlder = "beside an older one"
        case earlierVersion = "earlier version"
        case done, removed
        case removedBesideOlder = "removed, older one"
        case expired, unknown
    }

    package enum Fault: String, CaseIterable, Sendable {
        case none, locked, unavailable
        case failure = "failed call"
        case deadline
        case processEnd = "process ended"
        case powerCut = "power cut"
        case cancelled
        case secondProcess = "two processes"
        case olderVersion = "older version"
        case sleep = "clock goes on"
    }

    package private(set) var states: [RecordKind: [State: Int]] = [:]
    package private(set) var faults: [RecordKind: [Fault: Int]] = [:]
    private var active: Set<Fault> = []

    package init() {}

    mutating func begin(_ fault: Fault) { active.insert(fault) }

    mutating func hit(_ kind: RecordKind, _ state: State) {
        states[kind, default: [:]][state, default: 0] += 1
        for fault in active.isEmpty ? [.none] : active { faults[kind, default: [:]][fault, default: 0] += 1 }
    }

    package mutating func merge(_ other: RecordCoverage) {
        states.merge(other.states) { $0.merging($1, uniquingKeysWith: +) }
        faults.merge(other.faults) { $0.merging($1, uniquingKeysWith: +) }
    }

    package static func isPossible(_ kind: RecordKind, _ state: State) -> Bool {
        switch state {
        case .pending, .besideOlder: kind.hasOlder
        // A removal is remembered where an older copy could come back.
        case .removed: kind.hasOlder
        case .removedBesideOlder: kind.hasOlder
        case .earlierVersion: !kind.hasOlder || kind == .movedVersions
        case .expired: kind.expires
        default: true
        }
    }

    package static func isPossible(_ kind: RecordKind, _ fault: Fault) -> Bool { fault != .sleep || kind.expires }

    /// The tables, for people.
    package var text: String {
        func pad(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }
        func table<Head: RawRepresentable>(_ heads: [Head], _ count: (RecordKind, Head) -> String) -> String where Head.RawValue == String {
            let first = pad("kind", 15) + heads.map { "  " + pad($0.rawValue, 9) }.joined()
            let lines = RecordKind.allCases.map { kind in
                pad(kind.rawValue, 15) + heads.map { "  " + pad(count(kind, $0), max(9, $0.rawValue.count)) }.joined()
            }
            return ([first] + lines).joined(separator: "\n")
        }
        return [
            table(State.allCases) { Self.isPossible($0, $1) ? "\(states[$0]?[$1] ?? 0)" : "-" },
            table(Fault.allCases) { Self.isPossible($0, $1) ? "\(faults[$0]?[$1] ?? 0)" : "-" },
        ].joined(separator: "\n\n")
    }

    /// What was not tried, by name.
    package var gaps: [String] {
        RecordKind.allCases.flatMap { kind in
            State.allCases.filter { Self.isPossible(kind, $0) && states[kind]?[$0] == nil }.map { "\(kind) x \($0.rawValue)" }
                + Fault.allCases.filter { Self.isPossible(kind, $0) && faults[kind]?[$0] == nil }.map { "\(kind) x \($0.rawValue)" }
        }
    }
}
