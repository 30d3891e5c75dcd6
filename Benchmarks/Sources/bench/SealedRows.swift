import Crypto
import Foundation
import GRDB

/// Values in rows of GRDB, sealed by hand as most would write it: JSON, one call of AES-256-GCM for each value, and the
/// name in the clear.
struct SealedRows: Sendable {
    private let queue: DatabaseQueue
    private let key = SymmetricKey(size: .bits256)

    init(path: String) throws {
        var settings = Configuration()
        settings.prepareDatabase { try $0.execute(sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL") }
        queue = try DatabaseQueue(path: path, configuration: settings)
        try queue.write { try $0.execute(sql: "CREATE TABLE note (name TEXT PRIMARY KEY, value BLOB NOT NULL)") }
    }

    /// Stores the value under the names `note-0`, `note-1` and so on, with up to 1,000 of them in a durable transaction.
    func fill(_ count: Int, _ value: some Encodable & Sendable) async throws {
        for start in stride(from: 0, to: count, by: 1_000) {
            try await queue.write { database in
                for index in start..<min(count, start + 1_000) {
                    try database.execute(
                        sql: "INSERT OR REPLACE INTO note VALUES (?, ?)", arguments: ["note-\(index)", try seal(value)])
                }
            }
        }
    }

    /// Stores a value in a durable transaction.
    func set(_ name: String, _ value: some Encodable & Sendable) async throws {
        let sealed = try seal(value)
        try await queue.write { try $0.execute(sql: "INSERT OR REPLACE INTO note VALUES (?, ?)", arguments: [name, sealed]) }
    }

    func get<Value: Decodable>(_ name: String, as type: Value.Type) async throws -> Value {
        let row = try await queue.read { try Data.fetchOne($0, sql: "SELECT value FROM note WHERE name = ?", arguments: [name]) }
        guard let sealed = row else { fatalError("no row") }
        return try JSONDecoder().decode(type, from: AES.GCM.open(AES.GCM.SealedBox(combined: sealed), using: key))
    }

    private func seal(_ value: some Encodable) throws -> Data {
        guard let sealed = try AES.GCM.seal(JSONEncoder().encode(value), using: key).combined else { fatalError("not sealed") }
        return sealed
    }
}
