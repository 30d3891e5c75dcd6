#if SQLite
    package import BackendContract
    import BackendRuntime
    import Foundation
    package import Sealing

    /// An encrypted database, opened with its key and without the store.
    /// Tests use it to inspect what a store wrote, and to change the file as an attacker would.
    package struct SealedDatabase {
        /// The path of the database.
        package let path: String
        private let key: SealingKey

        /// Creates access to a database with its key.
        package init(path: String, key: SealingKey) {
            self.path = path
            self.key = key
        }

        /// Creates access to a database whose key is in a file.
        package init(path: String, keyFile: String) throws {
            self.init(path: path, key: try SealingKey(text: String(contentsOf: URL(filePath: keyFile), encoding: .utf8)))
        }

        /// Runs work on a connection that checks nothing.
        package func write<R>(_ body: (PlainDatabase) throws -> R) throws -> R { try body(PlainDatabase(path: path)) }

        /// Returns the id of the database, and the tables of its data keys.
        package func tables() throws -> (database: [UInt8], keys: KeyTables) {
            try write { database in
                let id = try database.value("SELECT value FROM header WHERE name = 'database'")?.blob ?? Data()
                let keys = try database.rows("SELECT key, state FROM keys").map { row in
                    KeyTables.Key(
                        id: Array(row[0].blob ?? Data()), state: KeyTables.State(rawValue: UInt8(row[1].integer ?? 0)) ?? .destroyed)
                }
                let wraps = try database.rows("SELECT key, recipient, source, verifier, wrapped FROM wraps").map { row in
                    func bytes(_ column: Int) -> [UInt8] { Array(row[column].blob ?? Data()) }
                    return KeyTables.Wrap(
                        key: bytes(0), recipient: bytes(1), source: String(decoding: bytes(2), as: UTF8.self), verifier: bytes(3),
                        wrapped: bytes(4))
                }
                let sender = try database.value("SELECT value FROM header WHERE name = 'sender'")?.blob.map { Array($0) }
                return (Array(id), try KeyTables(keys: keys, wraps: wraps, sender: sender))
            }
        }

        /// Opens the keyset of the database.
        package func keyset() throws -> Keyset {
            let (database, keys) = try tables()
            return try Keyset.open(keys, database: database, formats: [1], kek: key)
        }

        /// Returns the slot of a name, which is a keyed hash of the name under the active data key.
        package func slot(_ address: StorageAddress) throws -> [UInt8] { try keyset().active.slot(of: address, table: "records") }

        /// Changes the sealed bytes in the row of a name.
        package func tamper(_ address: StorageAddress, _ change: (inout [UInt8]) -> Void) throws {
            let slot = Data(try slot(address))
            try write { database in
                guard let sealed = try database.value("SELECT sealed FROM records WHERE slot = ?", [slot])?.blob else { throw MissingRow() }
                var bytes = Array(sealed)
                change(&bytes)
                try database.execute("UPDATE records SET sealed = ? WHERE slot = ?", [Data(bytes), slot])
            }
        }
    }

    /// The error for a name without a row.
    package struct MissingRow: Error {}
#endif
