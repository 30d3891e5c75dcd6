import Foundation
import GRDB
import LocalData
import LocalDataQueries

/// Compares queries for sealed records with GRDB rows that have an indexed column and a JSON column. GRDB's rows are not
/// encrypted. Each round runs both, one after the other, and only ratios within one run can be compared.
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
        var configuration = StorageConfiguration(root: root.appendingPathComponent("sealed"), applicationID: "bench")
        configuration.keySource = .keyFile("bench.key")
        configuration.deadlines.files = .seconds(120)
        let router = StorageRouter(configuration: configuration)
        let notes = StorageCollection<Note>(
            "notes", domain: .encryptedSQLite(database: "notes"), owner: "Bench", description: "Notes", typeTag: "Note"
        ).attribute("tag", \.tag)
        let rows = try Rows(path: root.appendingPathComponent("grdb.sqlite").path)
        let ids = stride(from: 0, to: records, by: 1_000).map { $0..<min($0 + 1_000, records) }
        let sealing = try await seconds { for part in ids { try await router.set(part.map(note), in: notes) } }
        let inserting = try await seconds { for part in ids { try await rows.insert(part.map(note)) } }
        print("\(records) records. Stored in commits of 1,000 (durable): \(sealing) s, GRDB \(inserting) s, ratio \(sealing / inserting)")

        let before = peakMemory()
        let tags = (0..<20).map { "tag \($0 * 5)" }
        let changed = (0..<200).map { $0 * (records / 200) }
        var isFailed = false
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
            for tag in tags {
                let page = try await router.page(in: notes, where: \.tag == tag, size: pageSize)
                require(page.records.count == pageSize && page.records.allSatisfy { $0.tag == tag })
            }
        } _: {
            for tag in tags { require(try await rows.page(tag, after: -1, pageSize).count == pageSize) }
        }
        var cursors: [QueryCursor] = []
        for tag in tags {
            let page = try await router.page(in: notes, where: \.tag == tag, size: pageSize)
            if let cursor = page.cursor { cursors.append(cursor) }
        }
        var ends: [Int64] = []
        for tag in tags { ends.append(rows.end(of: try await rows.page(tag, after: -1, pageSize))) }
        require(cursors.count == tags.count)
        try await compare("equality, next page", tags.count, isLimited: true) {
            for (tag, cursor) in zip(tags, cursors) {
                require(try await router.page(in: notes, where: \.tag == tag, size: pageSize, after: cursor).records.count > 0)
            }
        } _: {
            for (tag, end) in zip(tags, ends) { require(try await !rows.page(tag, after: end, pageSize).isEmpty) }
        }
        try await compare("equality, count", tags.count) {
            for tag in tags { require(try await router.count(in: notes, where: \.tag == tag) >= records / 100 - 400) }
        } _: {
            for tag in tags { require(try await rows.count(tag) >= records / 100 - 400) }
        }
        try await compare("change of one (durable)", changed.count) {
            for id in changed { try await router.update(id, in: notes) { $0?.tag = "tag \(Int.random(in: 0..<100))" } }
        } _: {
            for id in changed { try await rows.change(Int64(id)) { $0.tag = "tag \(Int.random(in: 0..<100))" } }
        }
        try await compare("equality with an order, first page", 2) {
            for tag in tags.prefix(2) {
                _ = try await router.records(in: notes, where: \.tag == tag, orderedBy: .descending(\.date), limit: pageSize)
            }
        } _: {
            for tag in tags.prefix(2) { _ = try await rows.page(tag, after: -1, .max).sorted { $0.date > $1.date }.prefix(pageSize) }
        }
        let memory = Double(peakMemory() - before) / 1_024
        print("more memory at its peak, all queries: \(String(format: "%.1f", memory)) MiB, limit \(mostMemory)")
        if memory > mostMemory { isFailed = true }
        try await router.shutdown()
        return isFailed
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

    /// The notes in GRDB: a row id, an indexed column, and the note as JSON.
    final class Rows: Sendable {
        private let queue: DatabaseQueue

        init(path: String) throws {
            var settings = Configuration()
            settings.prepareDatabase { try $0.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL") }
            queue = try DatabaseQueue(path: path, configuration: settings)
            try queue.write {
                try $0.execute(sql: "CREATE TABLE note (id INTEGER PRIMARY KEY, tag TEXT NOT NULL, value BLOB NOT NULL)")
                try $0.execute(sql: "CREATE INDEX tags ON note (tag)")
            }
        }

        func insert(_ notes: [Note]) async throws {
            try await queue.write { database in
                for note in notes {
                    try database.execute(
                        sql: "INSERT INTO note VALUES (?, ?, ?)", arguments: [note.id, note.tag, try JSONEncoder().encode(note)])
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
