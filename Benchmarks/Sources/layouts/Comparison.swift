import Foundation

/// Compares all layouts of a table (`Layout`) for one size of value and one number of rows.
final class Comparison {
    private static let rounds = 15
    private static let gets = 2_000
    private static let puts = 250

    private let count: Int
    private let value: Int
    private let rows: Rows
    private let folder: URL
    private let tables: [(layout: Layout, table: Table)]
    private var random = SplitMix(state: 1)
    private var orders: [Order] = []
    private var bytes: [Double] = []
    private var times: [String: [[Double]]] = [:]
    private var syncs: [String: [Double]] = [:]

    init(rows count: Int, value: Int, folder: URL) throws {
        (self.count, self.value, self.folder) = (count, value, folder)
        rows = Rows(count: count + (Self.rounds + 1) * Self.puts, sealedSize: Rows.sealedSize(value: value))
        tables = try Layout.allCases.map { ($0, try Table($0, path: folder.path + "/\($0.rawValue).sqlite")) }
    }

    func run() throws {
        for (_, table) in tables {
            for start in stride(from: 0, to: count, by: 1_000) {
                try table.transaction { for index in start..<min(start + 1_000, count) { try write(index, to: table) } }
            }
            bytes.append(Double(try table.contents().count) / Double(count))
            orders.append(try Order(of: table, count: count))
        }
        try measure("get", each: Self.gets) { table, _, some in
            for index in some {
                guard try table.get(rows.slot(index)) == rows.versions[index] else {
                    throw Failure(description: "row \(index) is not there")
                }
            }
        }
        try measure("enumerate", each: count) { table, _, _ in
            guard try table.enumerate() == count else { throw Failure(description: "rows are missing") }
        }
        try measure("replace", each: Self.puts) { table, _, some in
            for index in some { try table.transaction { try write(index, to: table) } }
        }
        try measure("insert", each: Self.puts) { table, round, _ in
            let start = count + round * Self.puts
            for index in start..<start + Self.puts { try table.transaction { try write(index, to: table) } }
        }
    }

    func report() {
        for (index, (layout, _)) in tables.enumerated() {
            func each(_ name: String) -> Double { median(times[name, default: []].map { $0[index] }) }
            func put(_ name: String) -> String {
                String(format: "%.0f + %.0f µs", each(name) * 1e6, each(name + " checkpoint") * 1e6)
            }
            let cells = [
                "\(count)", "\(value) B", layout.title, String(format: "%.1f µs", each("get") * 1e6), put("replace"), put("insert"),
                String(format: "%.2f M/s", 1 / each("enumerate") / 1e6), String(format: "%.0f", bytes[index]),
                String(format: "%.0f %%", orders[index].byKey * 100), String(format: "%.0f %%", orders[index].byPlace * 100),
            ]
            print("| " + cells.joined(separator: " | ") + " |")
        }
    }

    /// Measures some work. Each round runs it in every layout, and the first round only warms up.
    private func measure(
        _ name: String, each: Int, _ work: (_ table: Table, _ round: Int, _ some: [Int]) throws -> Void
    ) throws {
        for round in 0...Self.rounds {
            let some = (0..<min(each, Self.gets)).map { _ in Int.random(in: 0..<count, using: &random) }
            if name == "replace" { some.forEach(rows.change) }
            var seconds: [Double] = []
            for (_, table) in tables {
                seconds.append(try elapsed { try work(table, round, some) } / Double(each))
            }
            if round > 0 { times[name, default: []].append(seconds) }
            guard name == "replace" || name == "insert" else { continue }
            let checkpoints = try tables.map { _, table in try elapsed(table.checkpoint) / Double(each) }
            if round > 0 { times[name + " checkpoint", default: []].append(checkpoints) }
            try syncs[name, default: []].append(bareSync())
        }
    }

    /// The median time of a durable write of one page. It was measured after each round of replacements and of
    /// insertions.
    var bareSyncs: String {
        ["replace", "insert"].map { "\($0) " + String(format: "%.0f µs", median(syncs[$0, default: []]) * 1e6) }.joined(separator: ", ")
    }

    private func write(_ index: Int, to table: Table) throws {
        try table.write(rows.slot(index), version: rows.versions[index], sealed: rows.seal(index))
    }

    /// Returns the median time of durable writes of one page at the start of a file. The first write extends the file
    /// and is not measured.
    private func bareSync() throws -> Double {
        let file = open(folder.path + "/page", O_RDWR | O_CREAT, 0o600)
        defer { close(file) }
        let page = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: 4_096)
        func write() throws {
            guard pwrite(file, page, page.count, 0) == page.count, sync(file) == 0 else {
                throw Failure(description: "a page cannot be written")
            }
        }
        try write()
        return median(try (0..<9).map { _ in try elapsed(write) })
    }

    private func sync(_ file: Int32) -> Int32 {
        #if os(Linux)
            fdatasync(file)
        #else
            fsync(file)
        #endif
    }
}

private func median(_ values: [Double]) -> Double { values.sorted()[values.count / 2] }

private func elapsed(_ work: () throws -> Void) rethrows -> Double {
    let start = ContinuousClock.now
    try work()
    let (seconds, attoseconds) = (ContinuousClock.now - start).components
    return Double(seconds) + Double(attoseconds) / 1e18
}
