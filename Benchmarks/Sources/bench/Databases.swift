import Crypto
import Foundation
import GRDB
import GRDBSQLite
import LocalData

/// Sealed rows, against what they cannot do without: SQLite by itself, one keyed hash, one AEAD, one decode.
struct Databases {
    let root: URL

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

    func run() async throws {
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        print(
            "Encrypted SQLite \(String(cString: sqlite3_libversion())), WAL, synchronous=FULL; 4 KiB write + fdatasync: \(each(try flush()))"
        )
        try await reading()
        try await writing()
        try await opening()
    }

    private func each(_ time: Double, _ count: Int = 1) -> String { String(format: "%.1f µs", time / Double(count) * 1e6) }
    private func ratio(_ a: Double, _ b: Double) -> String { String(format: "%.2fx", a / b) }

    /// What the disk takes for one flush.
    private func flush() throws -> Double {
        let path = root.appendingPathComponent("flush").path
        let descriptor = open(path, O_RDWR | O_CREAT, 0o600)
        defer { close(descriptor) }
        let page = [UInt8](repeating: 1, count: 4_096)
        var times: [Double] = []
        for _ in 0..<200 {
            let start = ContinuousClock.now
            guard pwrite(descriptor, page, page.count, 0) == page.count, fdatasync(descriptor) == 0 else { fatalError("the disk refused") }
            times.append(Double((ContinuousClock.now - start).components.attoseconds) / 1e18)
        }
        return times.sorted()[100]
    }

    // MARK: get

    private func reading() async throws {
        let (rows, count) = (10_000, 5_000)
        let router = StorageRouter(configuration: configuration(root.appendingPathComponent("get")))
        try await fill(router, rows)
        let floor = try FloorDatabase(
            path: root.appendingPathComponent("floor.sqlite").path, note: try JSONEncoder().encode(Note()), rows: rows)
        let order = (0..<count).map { $0 * 7_919 % rows }
        var (floorTimes, times): ([Double], [Double]) = ([], [])
        for _ in 0..<15 {
            floorTimes.append(
                try await seconds { for index in order { _ = try JSONDecoder().decode(Note.self, from: floor.get("note-\(index)")) } })
            times.append(try await seconds { for index in order { _ = try await router.get(key(index)) } })
        }
        let (bottom, ours) = (floorTimes.sorted()[7], times.sorted()[7])
        print("Hot get of five fields, \(rows) rows")
        row("  HMAC + raw prepared get + AES-GCM open + decode", each(bottom, count))
        row("  get", each(ours, count), "against it: \(ratio(ours, bottom))")
        try await router.shutdown()
    }

    private func fill(_ router: StorageRouter, _ rows: Int) async throws {
        for start in stride(from: 0, to: rows, by: 1_000) {
            try await router.batch { batch in for index in start..<min(rows, start + 1_000) { batch.set(Note(), for: key(index)) } }
        }
    }

    // MARK: set

    private func writing() async throws {
        let count = 1_000
        let router = StorageRouter(configuration: configuration(root.appendingPathComponent("set")))
        try await fill(router, count)
        var settings = Configuration()
        settings.prepareDatabase { try $0.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL") }
        let queue = try DatabaseQueue(path: root.appendingPathComponent("grdb.sqlite").path, configuration: settings)
        try await queue.write { try $0.execute(sql: "CREATE TABLE note (name TEXT PRIMARY KEY, value BLOB NOT NULL)") }
        let plain = try JSONEncoder().encode(Note())
        @Sendable func put(_ index: Int) async throws {
            try await queue.write { try $0.execute(sql: "INSERT OR REPLACE INTO note VALUES (?, ?)", arguments: ["note-\(index)", plain]) }
        }
        for index in 0..<count { try await put(index) }
        var (peers, ours, together, peersTogether): ([Double], [Double], [Double], [Double]) = ([], [], [], [])
        for _ in 0..<9 {
            peers.append(try await seconds { for index in 0..<count { try await put(index) } })
            ours.append(try await seconds { for index in 0..<count { try await router.set(Note(), for: key(index)) } })
            peersTogether.append(try await seconds { try await many(64, count) { try await put($0) } })
            together.append(try await seconds { try await many(64, count) { try await router.set(Note(), for: key($0)) } })
        }
        let (peer, single, groupPeer, group) = (peers.sorted()[4], ours.sorted()[4], peersTogether.sorted()[4], together.sorted()[4])
        print("Durable set of five fields, \(count) rows")
        row("  GRDB: one put, one transaction, plain", each(peer, count))
        row("  one set", each(single, count), "against it: \(ratio(single, peer))")
        row("  GRDB, 64 tasks: one transaction a put", each(groupPeer, count), "\(Int(Double(count) / groupPeer)) a second")
        row(
            "  set, 64 tasks", each(group, count),
            "\(Int(Double(count) / group)) a second; against GRDB's 64 tasks: \(ratio(groupPeer, group)), against one by one: \(ratio(single, group))"
        )
        try await router.shutdown()
    }

    private func many(_ tasks: Int, _ count: Int, _ work: @escaping @Sendable (Int) async throws -> Void) async throws {
        try await withThrowingTaskGroup { group in
            for task in 0..<tasks {
                group.addTask { for index in stride(from: task, to: count, by: tasks) { try await work(index) } }
            }
            try await group.waitForAll()
        }
    }

    // MARK: Opening

    private func opening() async throws {
        print("Open + first get")
        for rows in [1_000, 100_000] {
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
            let (bottom, time) = (raw.sorted()[20], ours.sorted()[20])
            row("  \(rows) rows: SQLite by itself", each(bottom))
            row("  \(rows) rows: router, key file, database", each(time), "against it: \(ratio(time, bottom))")
        }
    }
}

/// The least a sealed store can do: a row by a keyed hash of its name, sealed with AES-256-GCM.
final class FloorDatabase {
    private let handle: OpaquePointer
    private let statement: OpaquePointer
    private let index = SymmetricKey(size: .bits256)
    private let sealing = SymmetricKey(size: .bits256)

    init(path: String, note: Data, rows: Int) throws {
        handle = Self.open(path)
        for sql in [
            "CREATE TABLE records (id INTEGER PRIMARY KEY, slot BLOB NOT NULL, version INTEGER NOT NULL, sealed BLOB NOT NULL)", "BEGIN",
        ] {
            sqlite3_exec(handle, sql, nil, nil, nil)
        }
        let insert = Self.prepare(handle, "INSERT INTO records VALUES (?1, ?2, 1, ?3)")
        for row in 0..<rows {
            let slot = Self.slot("note-\(row)", index)
            guard let sealed = try AES.GCM.seal(note + Data(count: 384 - note.count % 384), using: sealing).combined else { fatalError() }
            sqlite3_bind_int64(insert, 1, Self.id(slot))
            slot.withUnsafeBytes {
                _ = sqlite3_bind_blob(insert, 2, $0.baseAddress, Int32($0.count), nil); Self.bind(sealed, insert)
            }
            sqlite3_reset(insert)
        }
        sqlite3_finalize(insert)
        sqlite3_exec(handle, "COMMIT", nil, nil, nil)
        statement = Self.prepare(handle, "SELECT slot, version, sealed FROM records WHERE id = ?1")
        noteLength = note.count
    }

    private let noteLength: Int

    deinit {
        sqlite3_finalize(statement)
        sqlite3_close_v2(handle)
    }

    private static func bind(_ sealed: Data, _ insert: OpaquePointer) {
        sealed.withUnsafeBytes {
            sqlite3_bind_blob(insert, 3, $0.baseAddress, Int32($0.count), nil)
            guard sqlite3_step(insert) == SQLITE_DONE else { fatalError("not inserted") }
        }
    }

    private static func open(_ path: String) -> OpaquePointer {
        var handle: OpaquePointer?
        guard sqlite3_open_v2(path, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK, let handle
        else {
            fatalError("not opened")
        }
        for setting in ["journal_mode = WAL", "synchronous = FULL"] { sqlite3_exec(handle, "PRAGMA \(setting)", nil, nil, nil) }
        return handle
    }

    private static func prepare(_ handle: OpaquePointer, _ sql: String) -> OpaquePointer {
        var statement: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &statement, nil) == SQLITE_OK, let statement else { fatalError("not prepared") }
        return statement
    }

    private static func slot(_ name: String, _ key: SymmetricKey) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Array(name.utf8), using: key).prefix(16))
    }

    private static func id(_ slot: [UInt8]) -> Int64 { Int64(slot.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) } >> 2) }

    func get(_ name: String) throws -> Data {
        let slot = Self.slot(name, index)
        sqlite3_bind_int64(statement, 1, Self.id(slot))
        defer { sqlite3_reset(statement) }
        guard sqlite3_step(statement) == SQLITE_ROW else { fatalError("no row") }
        let blob = UnsafeRawBufferPointer(start: sqlite3_column_blob(statement, 2), count: Int(sqlite3_column_bytes(statement, 2)))
        return try AES.GCM.open(AES.GCM.SealedBox(combined: blob), using: sealing).prefix(noteLength)
    }

    /// Opens the database and reads one row.
    static func openAndGet(_ path: String) throws {
        let handle = open(path)
        let statement = prepare(handle, "SELECT sealed FROM records LIMIT 1")
        guard sqlite3_step(statement) == SQLITE_ROW else { fatalError("no row") }
        sqlite3_finalize(statement)
        sqlite3_close_v2(handle)
    }
}
