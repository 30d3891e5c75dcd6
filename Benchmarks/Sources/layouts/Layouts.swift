import Foundation
import GRDBSQLite

/// Measures the cost of three layouts of an encrypted row in SQLite. Run it with `Scripts/bench layouts`. It takes
/// about a minute and prints Markdown.
///
/// Each round measures every layout, so that a disturbance affects all layouts alike. A figure is the median of the
/// rounds. Compare figures of one run only.
@main
struct Layouts {
    static let usage = """
        usage: Scripts/bench layouts [rows ...]
        Measures three layouts of a sealed row in SQLite with so many rows (10000 and 100000 if none are given), in TMPDIR.
        Prints a Markdown table. It takes about a minute, and 1 GB while it runs.
        """

    static func main() throws {
        let arguments = CommandLine.arguments.dropFirst()
        let counts = arguments.compactMap { Int($0) }.filter { $0 > 1 }
        guard counts.count == arguments.count else {
            print(usage)
            exit(arguments.contains("--help") || arguments.contains("-h") ? 0 : 2)
        }
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("localdata-layouts-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        try Self.checkWalk(root)

        print("SQLite \(String(cString: sqlite3_libversion())), pages of 4,096 bytes, page cache as SQLite sets it, WAL, synchronous=FULL.")
        print("A put: one durable transaction that looks for the row and writes it; after the +, its share of a checkpoint every 250 puts.")
        print("Rows are filled in random order of slots; 4,000 more are inserted at the end. Bytes a row are those of the filled file.")
        print("The last two columns: neighbours that stand in the order of insertion (100 %: all of it shows, 50 %: chance).\n")
        print("| rows | value | layout | get | replace | insert | enumerate | bytes a row | order by key | by place |")
        print("|---:|---:|---|---:|---:|---:|---:|---:|---:|---:|")
        var syncs: [String] = []
        for count in counts.isEmpty ? [10_000, 100_000] : counts {
            for value in [100, 1_000] {
                let folder = root.appendingPathComponent("\(count)-\(value)")
                try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
                let comparison = try Comparison(rows: count, value: value, folder: folder)
                try comparison.run()
                comparison.report()
                syncs.append("* \(count) rows, \(value) B: \(comparison.bareSyncs)")
                try FileManager.default.removeItem(at: folder)
            }
        }
        print("\n4 KiB written in place + fdatasync, median between the puts:\n\n\(syncs.joined(separator: "\n"))")
    }

    /// Checks that layout C finds rows whose ids collide. In this layout, the id of a row is a prefix of its slot, the
    /// keyed hash that identifies the row. If layout C lost such rows, its figures could not be compared with those of
    /// the other layouts.
    private static func checkWalk(_ root: URL) throws {
        let table = try Table(.c, path: root.path + "/walk.sqlite")
        let slots = [UInt8](repeating: 7, count: 15).withUnsafeBytes { shared in (0..<3).map { [UInt8](shared) + [UInt8($0)] } }
        for (version, slot) in slots.enumerated() {
            try slot.withUnsafeBytes { slot in try table.transaction { try table.write(slot, version: Int64(version), sealed: slot) } }
        }
        for (version, slot) in slots.enumerated() {
            let found = try slot.withUnsafeBytes { try table.get($0) }
            guard found == Int64(version) else { throw Failure(description: "a collision loses a row") }
        }
    }
}
