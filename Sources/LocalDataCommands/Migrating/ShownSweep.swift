import LocalData

/// The output for the report of a sweep or a plan.
struct ShownSweep: Encodable {
    /// The output for one key or collection.
    struct Row: Encodable {
        let key, owner, state: String
        let from: [String]
        let to: String
        let bytes: Int
        let records: Int?
        let residue: [String]
        let error, message: String?

        init(_ row: MigrationReport.Row) {
            (key, owner, state) = (row.key, row.owner, row.state.rawValue)
            from = row.from.map { "\($0.domain.text)/\($0.name)" }
            (to, bytes, records) = (row.to.text, row.bytes, row.records)
            residue = row.residue.map(DomainWords.replacing(in:))
            (error, message) = (row.errorCode?.name, row.message.map(DomainWords.replacing(in:)))
        }

        /// The row as one line of text.
        var line: String {
            var parts = [state, key, from.isEmpty ? to : "\(from.joined(separator: ", ")) -> \(to)"]
            if let records { parts.append(quantity(records, of: "record")) }
            if bytes > 0 { parts.append("\(bytes) bytes") }
            if !residue.isEmpty { parts.append("not deleted yet: \(residue.joined(separator: ", "))") }
            if let message { parts.append(message) }
            return parts.joined(separator: "  ")
        }
    }

    let isComplete: Bool
    let rows: [Row]
    /// The problems of a catalog that was registered nevertheless.
    let problems: [String]

    init(_ report: MigrationReport) {
        (isComplete, rows) = (report.isComplete, report.rows.map(Row.init))
        problems = report.problems.map(\.description)
    }

    /// The exit status of an incomplete sweep; nil for a complete one.
    var exit: ExitStatus? {
        if rows.contains(where: { $0.state == MigrationReport.State.failed.rawValue }) { return .damaged }
        return isComplete ? nil : .tryAgain
    }

    /// Prints the report as text or JSON.
    func show(asJSON json: Bool) throws {
        if json { return try Output.json(self) }
        for row in rows { Output.line(row.line) }
        for problem in problems { Failure.write(problem) }
        if rows.isEmpty { Failure.write("The program registers no keys.") }
    }
}
