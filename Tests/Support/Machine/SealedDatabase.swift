#if SQLite
    package import BackendContract
    import BackendRuntime
    import Foundation
    package import GRDB
    package import Sealing

    /// A database of sealed rows, seen by somebody who has the key and SQLite's own tools: to look behind a store, and to do to its file what an attacker would.
    package struct SealedDatabase {
        /// The database.
        package let path: String
        private let key: SealingKey

        /// Names a database and its key.
        package init(path: String, key: SealingKey) {
            self.path = path
            self.key = key
        }

        /// Names a database whose key is in a file.
        package init(path: String, keyFile: String) throws {
            self.init(path: path, key: try SealingKey(text: String(contentsOf: URL(filePath: keyFile), encoding: .utf8)))
        }

        /// A connection that checks nothing.
        package func write<R>(_ body: (Database) throws -> R) throws -> R {
            let queue = try DatabaseQueue(path: path)
            defer { try? queue.close() }
            return try queue.writeWithoutTransaction(body)
        }

        /// The keyset, opened.
        package func keyset() throws -> Keyset {
            try write { database in
                let id = try Data.fetchOne(database, sql: "SELECT value FROM header WHERE name = 'database'") ?? Data()
                let entries = try Row.fetchAll(database, sql: "SELECT key, state, kek, verifier, wrapped FROM keyset").map { row in
                    try KeysetEntry(
                        key: Array(row[0] as Data), state: row[1], kek: Array(row[2] as Data), verifier: Array(row[3] as Data),
                        wrapped: Array(row[4] as Data))
                }
                return try Keyset.open(entries, database: Array(id), kek: key)
            }
        }

        /// The blind index of a name.
        package func slot(_ address: StorageAddress) throws -> [UInt8] { try keyset().active.slot(of: address, table: "records") }

        /// Changes the sealed bytes of a name's row.
        package func tamper(_ address: StorageAddress, _ change: (inout [UInt8]) -> Void) throws {
            let slot = Data(try slot(address))
            try write { database in
                guard let sealed = try Data.fetchOne(database, sql: "SELECT sealed FROM records WHERE slot = ?", arguments: [slot]) else {
                    throw MissingRow()
                }
                var bytes = Array(sealed)
                change(&bytes)
                try database.execute(sql: "UPDATE records SET sealed = ? WHERE slot = ?", arguments: [Data(bytes), slot])
            }
        }
    }

    /// There is no row of that name.
    package struct MissingRow: Error {}
#endif
