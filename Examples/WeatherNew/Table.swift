/// Text in aligned columns; a cell may have several lines. A title that starts with ">" aligns its column to the right.
struct Table {
    private let titles: [String]
    private let alignsRight: [Bool]
    private var rows: [[[String]]] = []

    init(columns: [String]) {
        alignsRight = columns.map { $0.hasPrefix(">") }
        titles = columns.map { $0.hasPrefix(">") ? String($0.dropFirst()) : $0 }
    }

    mutating func add(_ cells: [String]) { rows.append(cells.map { $0.split(separator: "\n").map(String.init) }) }

    /// Returns the table as text. `decorate` formats the line with the titles.
    func text(_ decorate: (String) -> String) -> String {
        let widths = titles.indices.map { column in
            rows.flatMap { $0[column] }.map(visibleWidth).reduce(titles[column].count, max)
        }
        var lines = [decorate(line(titles, widths))]
        for row in rows {
            for part in 0..<(row.map(\.count).max() ?? 0) {
                lines.append(line(row.map { part < $0.count ? $0[part] : "" }, widths))
            }
        }
        return lines.joined(separator: "\n")
    }

    private func line(_ cells: [String], _ widths: [Int]) -> String {
        var line = ""
        for (column, cell) in cells.enumerated() {
            let space = String(repeating: " ", count: widths[column] - visibleWidth(cell))
            line += (column == 0 ? "" : "  ") + (alignsRight[column] ? space + cell : cell + space)
        }
        return String(line.reversed().drop { $0 == " " }.reversed())
    }

    /// Returns the number of visible characters, without the escape sequences for colours.
    private func visibleWidth(_ text: String) -> Int { text.replacing(#/\u{1B}\[[0-9;]*m/#, with: "").count }
}
