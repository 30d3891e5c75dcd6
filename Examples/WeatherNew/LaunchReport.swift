import Foundation
import LocalData

/// The result of a launch: the report of the sweep, which migrates the values of all keys, and an audit of all stored
/// values after the sweep.
struct LaunchReport: Encodable {
    let report: MigrationReport
    let audit: StorageAudit

    func json() throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
        return String(decoding: try encoder.encode(self), as: UTF8.self)
    }

    func text(style: Style) -> String {
        var table = Table(columns: ["KEY", "FROM", "TO", "PROTECTION", ">BYTES", "STATE"])
        for row in report.rows {
            let found = audit.rows.first { $0.key == row.key && $0.domain == row.to }
            table.add([
                style(.bold, row.key), row.from.isEmpty ? style(.faint, "·") : row.from.map(\.description).joined(separator: "\n"),
                "\(row.to)",
                row.protectionBefore.map { $0 == row.protection ? "\($0)" : "\($0) → \(row.protection)" } ?? "\(row.protection)",
                "\(row.bytes > 0 ? row.bytes : found?.bytes ?? 0)",
                style(color(row.state), "\(row.state)") + (found?.isForeign == true ? style(.faint, " (adopted)") : ""),
            ])
        }
        return ([table.text { style(.faint, $0) }, "", summary(style)] + notes(style)).joined(separator: "\n")
    }

    private func summary(_ style: Style) -> String {
        let duration = "\((report.duration / .milliseconds(1)).formatted(.number.precision(.fractionLength(0)))) ms"
        let count = report.rows.count
        if report.isComplete, report.moved.isEmpty {
            return style(.green, "Nothing to do") + ": \(count) keys, all up to date · \(duration)"
        }
        var parts = ["\(report.moved.count) of \(count) moved"]
        if !report.blocked.isEmpty { parts.append(style(.yellow, "\(report.blocked.count) blocked")) }
        if !report.failed.isEmpty { parts.append(style(.red, "\(report.failed.count) failed")) }
        return (parts + [duration]).joined(separator: " · ")
    }

    /// Messages for the user about problems, about older copies that remain, and about values in the quarantine. The
    /// quarantine keeps values that a migration had to displace.
    private func notes(_ style: Style) -> [String] {
        let messages = report.rows.compactMap { row in row.message.map { "\(row.key): \($0)" } }
        let copies = audit.rows.flatMap { row in row.residue.map { "\(row.key): \($0) still holds a value" } }
        let kept = audit.quarantine.map { "\($0.key): \($0.reason), kept in quarantine as \($0.id)" }
        return (messages + copies + kept).map { style(.yellow, "! ") + $0 }
    }

    private func color(_ state: MigrationReport.State) -> Style.Look {
        switch state {
        case .moved, .copied, .converted, .purged, .resolved: .green
        case .unchanged, .mirrored, .absent, .removed, .expired: .faint
        case .pending, .conflict, .cannotTell, .leftOver, .blocked: .yellow
        case .failed: .red
        }
    }
}
