import Foundation
import GRDB
import GRDBSQLite
import LocalData

/// Compares LocalData's encrypted SQLite with the work that any such store must do: one operation of SQLite alone, one
/// keyed hash, one AEAD operation and one decoding. Also compares it with GRDB, a JSON file, SQLCipher and LMDB.
struct Databases {
    let root: URL
    let results: Results
    let isQuick: Bool

    struct Note: Codable, Sendable {
        var title = "A note of some size"
        var x = 1.0
        var y = 2.0
        var width = 3.0
        var body = String(repeating: "text ", count: 12)
    }

    private func key(_ index: Int) -> StorageKey<Note> {
        StorageKey<Note>(name: "note-\(index)", domain: .encryptedSQLite(database: "bench"), owner: "Bench", description: "A note")
    }

    func run(sizes: [Int]) async throws {
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        for rows in sizes { try await reading(rows) }
        try await writing()
        try await opening(sizes)
    }

    /// Returns the median time of writing one page and flushing it to the disk.
    private func flush() throws -> Double {
        let path = root.appendingPathComponent("flush").path
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        let page = [UInt8](repeating: 1, count: 4_096)
        var times: [Double] = []
        for _ in 0..<200 {
            let start = ContinuousClock.now
            guard pwrite(descriptor, page, page.count, 0) == page.count, fdatasync(descriptor) == 0 else { fatalError("the disk refused") }
            times.append((ContinuousClock.now - start).seconds)
        }
        return times.middle
    }

    private func fill(_ router: StorageRouter, _ rows: Int) async throws {
        for start in stride(from: 0, to: rows, by: 1_000) {
            try await router.batch { batch in for index in start..<min(rows, start + 1_000) { batch.set(Note(), for: key(index)) } }
        }
    }

    // MARK: get

    private func reading(_ rows: Int) async throws {
        let count = 5_000
        let folder = root.appendingPathComponent("get-\(rows)")
        let router = StorageRouter(configuration: configuration(folder))
        try await fill(router, rows)
        let note = try JSONEncoder().encode(Note())
        let floor = try FloorDatabase(path: folder.appendingPathComponent("floor.sqlite").path, note: note, rows: rows)
        let sealed = try SealedRows(path: folder.appendingPathComponent("grdb.sqlite").path)
        try await sealed.fill(rows, Note())
        let cipher = try SQLCipherPeer(folder: folder.appendingPathComponent("sqlcipher").path, rows: rows, value: note)
        let lightning = try LightningTable(folder: folder.appendingPathComponent("lightning").path)
        try lightning.put((0..<rows).map { ("note-\($0)", Array(note)) })
        let order = (0..<count).map { $0 * 7_919 % rows }
        var contest = Contest(rounds: 9)
        contest.add("floor") { for index in order { _ = try JSONDecoder().decode(Note.self, from: floor.get("note-\(index)")) } }
        let decoder = JSONDecoder()
        contest.add("careful") { for index in order { _ = try decoder.decode(Note.self, from: floor.get("note-\(index)", .careful)) } }
        contest.add("GRDB") { for index in order { _ = try await sealed.get("note-\(index)", as: Note.self) } }
        if let cipher {
            contest.add("SQLCipher") { try cipher.run("get sealed \(count)") }
            contest.add("SQLCipher, plain") { try cipher.run("get plain \(count)") }
        }
        contest.add("lightning") { for index in order { _ = try lightning.get("note-\(index)") } }
        contest.add("get") { for index in order { _ = try await router.get(key(index)) } }
        let times = try await contest.run()
        results.begin("Hot get of five fields, encrypted SQLite, \(rows) rows")
        func ratio(_ peer: String) -> Double { times["get", default: 0] / times[peer, default: 0] }
        results.time("LMDB, C, plain bytes", times["lightning", default: 0], each: count, size: rows)
        results.time(
            "by hand, as most would write it: HMAC + raw prepared get + AES-GCM open + decode", times["floor", default: 0], each: count,
            size: rows)
        results.time("by a careful hand: the same with kept contexts and decoder", times["careful", default: 0], each: count)
        results.time("GRDB, sealed by hand: get + AES-GCM open + decode", times["GRDB", default: 0], each: count, size: rows)
        if cipher != nil { results.sqlCipher("get", times, each: count) }
        results.time(
            "get", times["get", default: 0], each: count, size: rows, .init("by hand, as most would write it", ratio("floor")),
            .init("by a careful hand", ratio("careful")), .init("GRDB, sealed by hand", ratio("GRDB")))
        if rows == 10_000 {
            var single: [Double] = []
            for index in order { single.append(try await seconds { _ = try await router.get(key(index)) }) }
            results.histogram("get, encrypted SQLite", single)
        }
        try await router.shutdown()
    }

    // MARK: set

    private func writing() async throws {
        let count = isQuick ? 200 : 1_000
        let router = StorageRouter(configuration: configuration(root.appendingPathComponent("set")))
        try await fill(router, count)
        var settings = Configuration()
        settings.prepareDatabase { try $0.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL") }
        let queue = try DatabaseQueue(path: root.appendingPathComponent("grdb.sqlite").path, configuration: settings)
        try await queue.write { try $0.execute(sql: "CREATE TABLE note (name TEXT PRIMARY KEY, value BLOB NOT NULL)") }
        let plain = try JSONEncoder().encode(Note())
        let sealed = try SealedRows(path: root.appendingPathComponent("grdb-sealed.sqlite").path)
        try await sealed.fill(count, Note())
        let file = JSONFile(
            root.appendingPathComponent("notes.json").path, Dictionary(uniqueKeysWithValues: (0..<count).map { ("note-\($0)", Note()) }))
        let cipher = try SQLCipherPeer(folder: root.appendingPathComponent("sqlcipher").path, rows: count, value: plain)
        let lightning = try LightningTable(folder: root.appendingPathComponent("lightning").path)
        @Sendable func put(_ index: Int) async throws {
            try await queue.write { try $0.execute(sql: "INSERT OR REPLACE INTO note VALUES (?, ?)", arguments: ["note-\(index)", plain]) }
        }
        for index in 0..<count { try await put(index) }
        // Each of these sets encodes and writes all rows.
        let fileSets = count / 20
        var contest = Contest(rounds: isQuick ? 5 : 7)
        contest.add("lightning") { for index in 0..<count { try lightning.put([("note-\(index)", Array(plain))]) } }
        contest.add("GRDB") { for index in 0..<count { try await put(index) } }
        contest.add("set") { for index in 0..<count { try await router.set(Note(), for: key(index)) } }
        contest.add("GRDB, sealed") { for index in 0..<count { try await sealed.set("note-\(index)", Note()) } }
        contest.add("JSON file") { for index in 0..<fileSets { try file.set("note-\(index)", Note()) } }
        if let cipher {
            contest.add("SQLCipher") { try cipher.run("set sealed \(count)") }
            contest.add("SQLCipher, plain") { try cipher.run("set plain \(count)") }
        }
        contest.add("GRDB, 64") { try await sharedOut(64, count) { try await put($0) } }
        contest.add("set, 64") { try await sharedOut(64, count) { try await router.set(Note(), for: key($0)) } }
        let times = try await contest.run()
        let (single, many) = (times["set", default: 0], times["set, 64", default: 0])
        results.begin(
            "Durable set of five fields, encrypted SQLite \(String(cString: sqlite3_libversion())), WAL, synchronous=FULL, \(count) rows")
        results.time("4 KiB write + fdatasync", try flush())
        results.time("LMDB, C: one put, one transaction, plain", times["lightning", default: 0], each: count)
        results.time("GRDB: one put, one transaction, plain", times["GRDB", default: 0], each: count)
        results.time("GRDB, sealed by hand: encode + AES-GCM seal + one put", times["GRDB, sealed", default: 0], each: count)
        results.time("JSON file of all rows: encode, replace atomically, flush", times["JSON file", default: 0], each: fileSets)
        if cipher != nil { results.sqlCipher("put", times, each: count) }
        results.time(
            "set, one task", single, each: count, .init("GRDB's put", single / times["GRDB", default: 0]),
            .init("GRDB, sealed by hand", single / times["GRDB, sealed", default: 0]),
            .init("the JSON file", single / Double(count) / (times["JSON file", default: 0] / Double(fileSets))))
        results.time("GRDB, 64 tasks: one transaction a put", times["GRDB, 64", default: 0], each: count)
        results.time(
            "set, 64 tasks", many, each: count, .init("GRDB's rate with 64 tasks", times["GRDB, 64", default: 0] / many),
            .init("the rate of one task", single / many))
        var alone: [Double] = []
        for index in 0..<count { alone.append(try await seconds { try await router.set(Note(), for: key(index)) }) }
        results.histogram("durable set, encrypted SQLite, one task", alone)
        try await router.shutdown()
    }

    private func sharedOut(_ tasks: Int, _ count: Int, _ work: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            for task in 0..<tasks {
                group.addTask { for index in stride(from: task, to: count, by: tasks) { try await work(index) } }
            }
            try await group.waitForAll()
        }
    }

    // MARK: Opening

    private func opening(_ sizes: [Int]) async throws {
        results.begin("Open + first get, encrypted SQLite")
        for rows in sizes {
            let folder = root.appendingPathComponent("open-\(rows)")
            let filling = StorageRouter(configuration: configuration(folder))
            try await fill(filling, rows)
            try await filling.shutdown()
            let path = folder.appendingPathComponent("plain.sqlite").path
            _ = try FloorDatabase(path: path, note: Data(repeating: 1, count: 200), rows: rows)
            var (raw, ours): ([Double], [Double]) = ([], [])
            for _ in 0..<41 {
                raw.append(try await seconds { try FloorDatabase.openAndGet(path) })
                let router = StorageRouter(configuration: configuration(folder))
                ours.append(try await seconds { _ = try await router.get(key(7)) })
                try await router.shutdown()
            }
            results.time("raw SQLite, \(rows) rows", raw.middle, size: rows)
            results.time(
                "router, key file, database, \(rows) rows", ours.middle, size: rows,
                .init("raw SQLite", ours.middle / raw.middle))
        }
    }
}

extension Results {
    /// Adds the rows of ``SQLCipherPeer``.
    fileprivate func sqlCipher(_ operation: String, _ times: [String: Double], each count: Int) {
        time("SQLCipher 4, another process, from Python: \(operation)", times["SQLCipher", default: 0], each: count)
        time("the same library without its cipher: \(operation)", times["SQLCipher, plain", default: 0], each: count)
    }
}
