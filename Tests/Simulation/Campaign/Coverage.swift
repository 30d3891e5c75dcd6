/// How often a run came to each row of the state table, and what had gone wrong by then.
package struct Coverage: Sendable {
    /// A row of the state table (`Docs/Design.md`).
    package enum Row: String, CaseIterable, Sendable {
        case absent, pending, superseded, conflict, done, removed
        case removedConflict = "removed, conflict"
        case torn
        case inPlace = "older shape"
        case damaged, unknown
    }

    /// What goes wrong, or comes from elsewhere.
    package enum Fault: String, CaseIterable, Sendable {
        case none, locked, unavailable
        case failure = "failed call"
        case deadline
        case processEnd = "process ended"
        case powerCut = "power cut"
        case torn = "torn write"
        case cancelled
        case secondProcess = "two processes"
        case olderVersion = "older version"
        case foreign = "other program"
    }

    package private(set) var rows: [Kind: [Row: Int]] = [:]
    package private(set) var faults: [Row: [Fault: Int]] = [:]
    package private(set) var kinds: [Kind: [Fault: Int]] = [:]
    private var active: Set<Fault> = []

    package init() {}

    /// From here on, a fault has been in play.
    mutating func begin(_ fault: Fault) { active.insert(fault) }

    mutating func hit(_ kind: Kind, _ row: Row) {
        rows[kind, default: [:]][row, default: 0] += 1
        for fault in active.isEmpty ? [.none] : active {
            faults[row, default: [:]][fault, default: 0] += 1
            kinds[kind, default: [:]][fault, default: 0] += 1
        }
    }

    package mutating func merge(_ other: Coverage) {
        rows.merge(other.rows) { $0.merging($1, uniquingKeysWith: +) }
        faults.merge(other.faults) { $0.merging($1, uniquingKeysWith: +) }
        kinds.merge(other.kinds) { $0.merging($1, uniquingKeysWith: +) }
    }

    /// Whether a kind can come to a row at all.
    package static func isPossible(_ kind: Kind, _ row: Row) -> Bool {
        switch row {
        case .inPlace: kind == .inPlace
        // A place that protects less may not know a fingerprint of what stands in the other.
        case .superseded where kind == .weaker: false
        case .pending, .superseded, .conflict, .removedConflict, .torn: kind != .inPlace
        default: true
        }
    }

    /// Whether a fault can meet a kind.
    package static func isPossible(_ kind: Kind, _ fault: Fault) -> Bool {
        switch fault {
        case .torn: kind.tears
        case .foreign: ![.inPlace, .byHand, .weaker].contains(kind)
        case .secondProcess, .olderVersion: kind != .byHand
        default: true
        }
    }

    /// Whether a fault can meet a row: what is unknown is so because of one; nobody but LocalData writes what has an older shape here.
    package static func isPossible(_ row: Row, _ fault: Fault) -> Bool {
        (row, fault) != (.inPlace, .foreign) && (row, fault) != (.unknown, .none)
    }

    /// The tables, for people.
    package var text: String {
        func table<Head: RawRepresentable & Hashable, Side: RawRepresentable & Hashable>(
            _ title: String, _ sides: [Side], _ heads: [Head], _ count: (Side, Head) -> String
        ) -> String where Head.RawValue == String, Side.RawValue == String {
            func pad(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }
            let first = ([title] + sides.map(\.rawValue)).map(\.count).max() ?? 0
            let lines = [pad(title, first) + heads.map { "  " + pad($0.rawValue, 9) }.joined()]
            return
                (lines
                + sides.map { side in
                    pad(side.rawValue, first) + heads.map { "  " + pad(count(side, $0), max(9, $0.rawValue.count)) }.joined()
                }).joined(separator: "\n")
        }
        return [
            table("row", Row.allCases, Fault.allCases) { Self.isPossible($0, $1) ? "\(faults[$0]?[$1] ?? 0)" : "-" },
            table("kind", Kind.allCases, Fault.allCases) { Self.isPossible($0, $1) ? "\(kinds[$0]?[$1] ?? 0)" : "-" },
            table("kind", Kind.allCases, Row.allCases) { Self.isPossible($0, $1) ? "\(rows[$0]?[$1] ?? 0)" : "-" },
        ].joined(separator: "\n\n")
    }

    /// What was not tried, by name.
    package var gaps: [String] {
        var gaps: [String] = []
        for row in Row.allCases {
            for fault in Fault.allCases where Self.isPossible(row, fault) && faults[row]?[fault] == nil {
                gaps.append("\(row.rawValue) x \(fault.rawValue)")
            }
        }
        for kind in Kind.allCases {
            for fault in Fault.allCases where Self.isPossible(kind, fault) && kinds[kind]?[fault] == nil {
                gaps.append("\(kind) x \(fault.rawValue)")
            }
            for row in Row.allCases where Self.isPossible(kind, row) && rows[kind]?[row] == nil { gaps.append("\(kind) x \(row.rawValue)") }
        }
        return gaps
    }
}
