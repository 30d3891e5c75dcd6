import Crypto
import Foundation
import GRDBSQLite

/// Does only the work that any encrypted store must do: find a row by a keyed hash of its name, and encrypt or decrypt
/// it with AES-256-GCM. The statement of a get is always kept.
final class FloorDatabase {
    /// The way in which a program by hand uses the libraries.
    enum Hand {
        /// As most would write it: one call of swift-crypto for each hash and message, which prepares the key again.
        case usual
        /// With the hash's key and the cipher's context kept.
        case careful
    }

    private let handle: OpaquePointer
    private let statement: OpaquePointer
    private let index = SymmetricKey(size: .bits256)
    private let sealing: SymmetricKey
    private let keptIndex: HMAC<SHA256>
    private let keptSealing: KeptCipher

    init(path: String, note: Data, rows: Int) throws {
        handle = Self.open(path)
        let key = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        (sealing, keptSealing) = (SymmetricKey(data: key), KeptCipher(key))
        keptIndex = HMAC<SHA256>(key: index)
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

    private func slot(_ name: String, _ hand: Hand) -> [UInt8] {
        guard hand == .careful else { return Self.slot(name, index) }
        var hash = keptIndex
        hash.update(data: Array(name.utf8))
        return Array(hash.finalize().prefix(16))
    }

    func get(_ name: String, _ hand: Hand = .usual) throws -> Data {
        sqlite3_bind_int64(statement, 1, Self.id(slot(name, hand)))
        defer { sqlite3_reset(statement) }
        guard sqlite3_step(statement) == SQLITE_ROW else { fatalError("no row") }
        return try opened(statement, 2, hand)
    }

    /// Decrypts every row and passes its content to a closure.
    func each(_ hand: Hand = .usual, _ body: (Data) throws -> Void) throws {
        let all = Self.prepare(handle, "SELECT sealed FROM records ORDER BY id")
        defer { sqlite3_finalize(all) }
        while sqlite3_step(all) == SQLITE_ROW { try body(opened(all, 0, hand)) }
    }

    /// Replaces the content of every row with one UPDATE statement for each row, in the given number of durable
    /// commits.
    func updateEach(commits: Int, _ hand: Hand = .usual, _ body: (Data) throws -> Data) throws {
        var ids: [Int64] = []
        let all = Self.prepare(handle, "SELECT id FROM records ORDER BY id")
        while sqlite3_step(all) == SQLITE_ROW { ids.append(sqlite3_column_int64(all, 0)) }
        sqlite3_finalize(all)
        let update = Self.prepare(handle, "UPDATE records SET version = 2, sealed = ?3 WHERE id = ?1")
        defer { sqlite3_finalize(update) }
        for commit in 0..<commits {
            sqlite3_exec(handle, "BEGIN IMMEDIATE", nil, nil, nil)
            for id in ids[ids.count * commit / commits..<ids.count * (commit + 1) / commits] {
                sqlite3_bind_int64(statement, 1, id)
                guard sqlite3_step(statement) == SQLITE_ROW else { fatalError("no row") }
                let content = try body(opened(statement, 2, hand))
                sqlite3_reset(statement)
                let padded = content + Data(count: 384 - content.count % 384)
                sqlite3_bind_int64(update, 1, id)
                Self.bind(try sealed(padded, hand), update)
                sqlite3_reset(update)
            }
            sqlite3_exec(handle, "COMMIT", nil, nil, nil)
        }
    }

    private func opened(_ row: OpaquePointer, _ column: Int32, _ hand: Hand) throws -> Data {
        let blob = UnsafeRawBufferPointer(start: sqlite3_column_blob(row, column), count: Int(sqlite3_column_bytes(row, column)))
        if hand == .careful { return keptSealing.open(blob, prefix: noteLength) }
        return try AES.GCM.open(AES.GCM.SealedBox(combined: blob), using: sealing).prefix(noteLength)
    }

    private func sealed(_ content: Data, _ hand: Hand) throws -> Data {
        if hand == .careful { return keptSealing.seal(content) }
        guard let sealed = try AES.GCM.seal(content, using: sealing).combined else { fatalError("not sealed") }
        return sealed
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
