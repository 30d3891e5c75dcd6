import Foundation
import GRDB
import LocalData
import LocalDataQueries

/// Compares queries for sealed records with GRDB rows that have indexed columns and a JSON column. GRDB's rows are not
/// encrypted. Each round runs both, one after the other, and only ratios within one run can be compared. The memory is that
/// of another process, which runs the queries for sealed records alone.
///
/// The program fails if queries need more memory than a page and a result. It prints whether a ratio reaches its goal.
@main struct Queries {
    struct Note: Codable, Identifiable, Sendable {
        var id: Int
        var tag: String
        var date: Date
        var text: String
    }

    static let usage = """
        usage: queries [--records number] [--rounds number]

        Stores records (1,000,000 by default), and measures a page of an equality query, its next page, a count, and a change of one record.
        """
    /// The highest ratio for a page of an equality query, and the most memory in MiB.
    static let (goal, mostMemory) = (2.0, 64.0)
    static let pageSize = 50

    static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        if arguments.contains("--help") || arguments.contains("-h") { return print(usage) }
        let records = number(after: "--records") ?? 1_000_000
        if let place = arguments.firstIndex(of: "--once"), place + 1 < arguments.endIndex {
            return try await measureMemory(records, URL(fileURLWithPath: arguments[place + 1]))
        }
        let rounds = number(after: "--rounds") ?? 5
        let root = FileManager.default.temporaryDirectory.appendingPathComponent("queries-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: root) }
        let failed = try await run(records, rounds, root)
        if failed {
            try? FileManager.default.removeItem(at: root)
            exit(1)
        }
    }

    private static func number(after option: String) -> Int? {
        let arguments = CommandLine.arguments
        guard let place = arguments.firstIndex(of: option), place + 1 < arguments.count else { return nil }
        return Int(arguments[place + 1])
    }

    /// The tag of a record. Each of 100 tags has the same number of records.
    private static func note(_ id: Int) -> Note {
        Note(
            id: id, tag: "tag \(id % 100)", date: Date(timeIntervalSinceReferenceDate: Double(id &* 7_919 % 1_000_003)),
            text: "Note number \(id), with some words that make it as long as a short message is.")
    }

    private static func run(_ records: Int, _ rounds: Int, _ root: URL) async throws -> Bool {
        let folder = root.appendingPathComponent("sealed")
        let router = Self.router(folder)
        let rows = try Rows(path: root.appendingPathComponent("grdb.sqlite").path)
        let ids = stride(from: 0, to: records, by: 1_000).map { $0..<min($0 + 1_000, records) }
        let sealing = try await seconds { for part in ids { try await router.set(part.map(note), in: notes) } }
        let inserting = try await seconds { for part in ids { try await rows.insert(part.map(note)) } }
        print("\(records) records. Stored in commits of 1,000 (durable): \(sealing) s, GRDB \(inserting) s, ratio \(sealing / inserting)")

        let memory = try memoryInNewProcess(records, folder)
        let changed = (0..<200).map { $0 * (records / 200) }
        func compare(
            _ what: String, _ count: Int, isLimited: Bool = false, _ sealed: () async throws -> Void, _ plain: () async throws -> Void
        ) async throws {
            var (ours, theirs): ([Double], [Double]) = ([], [])
            // The first round only warms up.
            for round in 0...rounds {
                let (our, their) = (try await seconds(sealed), try await seconds(plain))
                if round > 0 {
                    ours.append(our / Double(count))
                    theirs.append(their / Double(count))
                }
            }
            let (our, their) = (ours.sorted()[rounds / 2], theirs.sorted()[rounds / 2])
            let limit = isLimited ? ", goal \(goal)\(our / their > goal ? ": missed" : "")" : ""
            print("\(what): \(microseconds(our)) µs, GRDB \(microseconds(their)) µs, ratio \(String(format: "%.2f", our / their))\(limit)")
        }
        try await compare("equality, first page of \(pageSize)", tags.count, isLimited: true) {
            _ = try await firstPages(router)
        } _: {
            for tag in tags { require(try await rows.page(tag, after: -1, pageSize).count == pageSize) }
        }
        let cursors = try await firstPages(router)
        var ends: [Int64] = []
        for tag in tags { ends.append(rows.end(of: try await rows.page(tag, after: -1, pageSize))) }
        try await compare("equality, next page", tags.count, isLimited: true) {
            try await nextPages(router, cursors)
        } _: {
            for (tag, end) in zip(tags, ends) { require(try await !rows.page(tag, after: end, pageSize).isEmpty) }
        }
        try await compare("equality, count", tags.count) {
            try await counts(router, records)
        } _: {
            for tag in tags { require(try await rows.count(tag) >= records / 100 - 400) }
        }
        try await compare("change of one (durable)", changed.count) {
            for id in changed { try await router.update(id, in: notes) { $0?.tag = "tag \(Int.random(in: 0..<100))" } }
        } _: {
            for id in changed { try await rows.change(Int64(id)) { $0.tag = "tag \(Int.random(in: 0..<100))" } }
        }
        try await rows.indexDates()
        try await compare("equality with an order, first page (GRDB by an index for the order)", 2) {
            try await orderedPages(router)
        } _: {
            for tag in tags.prefix(2) { _ = try await rows.newest(tag, pageSize) }
        }
        try await router.shutdown()
        let mebibytes = String(format: "%.1f", memory)
        print("memory at its peak above the start of a new process, all queries: \(mebibytes) MiB, limit \(mostMemory)")
        return memory > mostMemory
    }

    // MARK: Queries for sealed records

    private static let tags = (0..<20).map { "tag \($0 * 5)" }

    private static let notes = StorageCollection<Note>(
        "notes", domain: .encryptedSQLite(database: "notes"), owner: "Bench", description: "Notes", typeTag: "Note"
    ).attribute("tag", \.tag)

    private static func router(_ folder: URL) -> StorageRouter {
        var configuration = StorageConfiguration(root: folder, applicationID: "bench")
        configuration.keySource = .keyFile("bench.key")
        configuration.deadlines.files = .seconds(120)
        return StorageRouter(configuration: configuration)
    }

    /// Reads the first page of each tag, and returns the cursors.
    private static func firstPages(_ router: StorageRouter) async throws -> [QueryCursor] {
        var cursors: [QueryCursor] = []
        for tag in tags {
            let page = try await router.page(in: notes, where: \.tag == tag, size: pageSize)
            require(page.records.count == pageSize && page.records.allSatisfy { $0.tag == tag })
            if let cursor = page.cursor { cursors.append(cursor) }
        }
        require(cursors.count == tags.count)
        return cursors
    }

    private static func nextPages(_ router: StorageRouter, _ cursors: [QueryCursor]) async throws {
        for (tag, cursor) in zip(tags, cursors) {
            require(try await router.page(in: notes, where: \.tag == tag, size: pageSize, after: cursor).records.count > 0)
        }
    }

    private static func counts(_ router: StorageRouter, _ records: Int) async throws {
        for tag in tags { require(try await router.count(in: notes, where: \.tag == tag) >= records / 100 - 400) }
    }

    private static func orderedPages(_ router: StorageRouter) async throws {
        for tag in tags.prefix(2) {
            _ = try await router.records(in: notes, where: \.tag == tag, orderedBy: .descending(\.date), limit: pageSize)
        }
    }

    // MARK: Memory

    /// Runs the queries in this process, and prints its largest resident set at the beginning and at the end.
    private static func measureMemory(_ records: Int, _ folder: URL) async throws {
        let before = peakMemory()
        let router = Self.router(folder)
        try await nextPages(router, try await firstPages(router))
        try await counts(router, records)
        try await orderedPages(router)
        try await router.shutdown()
        print("\(before) \(peakMemory())")
    }

    /// Runs the queries in a new process. The largest resident set of this one includes what was stored.
    /// - Returns: The growth of its largest resident set in MiB.
    private static func memoryInNewProcess(_ records: Int, _ folder: URL) throws -> Double {
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        process.arguments = ["--records", "\(records)", "--once", folder.path]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        let numbers = text.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
        require(process.terminationStatus == 0 && numbers.count == 2)
        return (numbers[1] - numbers[0]) / 1_024
    }

    private static func require(_ holds: Bool) { if !holds { fatalError("a query has another result than it should have") } }

    private static func microseconds(_ seconds: Double) -> String { String(format: "%.1f", seconds * 1e6) }

    private static func seconds(_ work: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await work()
        let time = (ContinuousClock.now - start).components
        return Double(time.seconds) + Double(time.attoseconds) / 1e18
    }

    /// Returns the largest resident set of the process so far, in KiB.
    private static func peakMemory() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
        return Int(line.split(separator: " ").dropFirst().first ?? "") ?? 0
    }

    /// The notes in GRDB: a row id, two indexed columns, and the note as JSON.
    final class Rows: Sendable {
        private let queue: DatabaseQueue

        init(path: String) throws {
            var settings = Configuration()
            settings.prepareDatabase { try $0.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL") }
            queue = try DatabaseQueue(path: path, configuration: settings)
            try queue.write {
                try $0.execute(
                    sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, tag TEXT NOT NULL, date REAL NOT NULL, value BLOB NOT NULL)")
                try $0.execute(sql: "CREATE INDEX tags ON note (tag)")
            }
        }

        func insert(_ notes: [Note]) async throws {
            try await queue.write { database in
                for note in notes {
                    try database.execute(
                        sql: "INSERT INTO note VALUES (?, ?, ?, ?)",
                        arguments: [note.id, note.tag, note.date.timeIntervalSinceReferenceDate, try JSONEncoder().encode(note)])
                }
            }
        }

        func page(_ tag: String, after id: Int64, _ size: Int) async throws -> [Note] {
            try await queue.read { database in
                try Data.fetchAll(
                    database, sql: "SELECT value FROM note WHERE tag = ? AND id > ? ORDER BY id LIMIT ?", arguments: [tag, id, size]
                ).map { try JSONDecoder().decode(Note.self, from: $0) }
            }
        }

        /// Makes the index for ``newest(_:_:)``. The queries before it need none, and a change of a row is slower with it.
        func indexDates() async throws { try await queue.write { try $0.execute(sql: "CREATE INDEX dates ON note (tag, date)") } }

        /// The notes of a tag with the latest dates.
        func newest(_ tag: String, _ size: Int) async throws -> [Note] {
            try await queue.read { database in
                try Data.fetchAll(
                    database, sql: "SELECT value FROM note WHERE tag = ? ORDER BY date DESC LIMIT ?", arguments: [tag, size]
                ).map { try JSONDecoder().decode(Note.self, from: $0) }
            }
        }

        func end(of page: [Note]) -> Int64 { Int64(page.last?.id ?? 0) }

        func count(_ tag: String) async throws -> Int {
            try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM note WHERE tag = ?", arguments: [tag]) ?? 0 }
        }

        func change(_ id: Int64, _ body: @escaping @Sendable (inout Note) -> Void) async throws {
            try await queue.write { database in
                guard let value = try Data.fetchOne(database, sql: "SELECT value FROM note WHERE id = ?", arguments: [id]) else { return }
                var note = try JSONDecoder().decode(Note.self, from: value)
                body(&note)
                try database.execute(
                    sql: "UPDATE note SET tag = ?, value = ? WHERE id = ?", arguments: [note.tag, try JSONEncoder().encode(note), id])
            }
        }
    }
}
