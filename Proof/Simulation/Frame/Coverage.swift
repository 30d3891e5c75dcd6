/// Counts in which states programs found values when they read them. The states, such as pending or removed, are called
/// rows. Each row is counted by the kind of the run, and by the faults that had occurred earlier in the same run.
package struct Coverage<S: Subject>: Sendable {
    package private(set) var rows: [S.Kind: [S.Row: Int]] = [:]
    package private(set) var faults: [S.Row: [Fault: Int]] = [:]
    package private(set) var kinds: [S.Kind: [Fault: Int]] = [:]
    private var active: Set<Fault> = []

    package init() {}

    /// Notes a fault. Each state that is counted later in this run also counts as one that was found after this fault.
    mutating func begin(_ fault: Fault) { active.insert(fault) }

    mutating func hit(_ kind: S.Kind, _ row: S.Row) {
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

    /// A table of counts. Each count says how often the name of a line (`side`) and the name of a column (`head`)
    /// occurred together. It is nil if they cannot occur together.
    private struct Table {
        let heads: [String]
        let lines: [(side: String, counts: [Int?])]

        init<Side: Label, Head: Label>(_ isPossible: (Side, Head) -> Bool, _ counts: [Side: [Head: Int]]) {
            let heads = Head.allCases.filter { head in Side.allCases.contains { isPossible($0, head) } }
            self.heads = heads.map(\.rawValue)
            lines = Side.allCases.map { side in
                (side.rawValue, heads.map { isPossible(side, $0) ? counts[side]?[$0] ?? 0 : nil })
            }
        }

        func text(_ title: String) -> String {
            func pad(_ text: String, _ width: Int) -> String { String(repeating: " ", count: max(0, width - text.count)) + text }
            let first = ([title] + lines.map(\.side)).map(\.count).max() ?? 0
            let widths = heads.map { max(9, $0.count) }
            func line(_ side: String, _ cells: [String]) -> String {
                pad(side, first) + zip(cells, widths).map { "  " + pad($0, $1) }.joined()
            }
            return ([line(title, heads)] + lines.map { line($0.side, $0.counts.map { $0.map(String.init) ?? "-" }) }).joined(
                separator: "\n")
        }

        var gaps: [String] {
            lines.flatMap { side, counts in zip(heads, counts).filter { $1 == 0 }.map { "\(side) x \($0.0)" } }
        }
    }

    private var tables: [(title: String, table: Table)] {
        [
            ("row", Table(S.isPossible as (S.Row, Fault) -> Bool, faults)), ("kind", Table(S.isPossible as (S.Kind, Fault) -> Bool, kinds)),
            ("kind", Table(S.isPossible as (S.Kind, S.Row) -> Bool, rows)),
        ]
    }

    /// The tables as text.
    package var text: String { tables.map { $0.table.text($0.title) }.joined(separator: "\n\n") }

    /// The names of the possible combinations that never occurred.
    package var gaps: [String] { tables.flatMap(\.table.gaps) }
}
