import CLMDB
import Foundation

/// A table of LMDB, called through its C interface. It shows the lowest cost that a local store can have: it encrypts
/// nothing, but its readers see the changes of other processes.
final class LightningTable {
    private var environment: OpaquePointer?
    private var table: MDB_dbi = 0

    init(folder: String) throws {
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        try Self.check(mdb_env_create(&environment))
        try Self.check(mdb_env_set_mapsize(environment, 1 << 30))
        try Self.check(mdb_env_open(environment, folder, 0, 0o600))
        try transaction(0) { table = try Self.open($0) }
    }

    deinit { mdb_env_close(environment) }

    private static func open(_ transaction: OpaquePointer?) throws -> MDB_dbi {
        var table: MDB_dbi = 0
        try check(mdb_dbi_open(transaction, nil, 0, &table))
        return table
    }

    private static func check(_ code: Int32) throws {
        guard code == 0 else {
            throw CocoaError(.fileWriteUnknown, userInfo: [NSDebugDescriptionErrorKey: String(cString: mdb_strerror(code))])
        }
    }

    private func transaction(_ flags: Int32, _ body: (OpaquePointer?) throws -> Void) throws {
        var transaction: OpaquePointer?
        try Self.check(mdb_txn_begin(environment, nil, UInt32(flags), &transaction))
        do { try body(transaction) } catch {
            mdb_txn_abort(transaction)
            throw error
        }
        try Self.check(mdb_txn_commit(transaction))
    }

    /// Stores values in one durable transaction.
    func put(_ values: [(name: String, bytes: [UInt8])]) throws {
        try transaction(0) { transaction in
            for var (name, bytes) in values {
                try name.withUTF8 { name in
                    try bytes.withUnsafeMutableBytes { bytes in
                        var key = MDB_val(mv_size: name.count, mv_data: UnsafeMutableRawPointer(mutating: name.baseAddress))
                        var value = MDB_val(mv_size: bytes.count, mv_data: bytes.baseAddress)
                        try Self.check(mdb_put(transaction, table, &key, &value, 0))
                    }
                }
            }
        }
    }

    /// Returns the number of bytes of a value. Each call is one transaction.
    func get(_ name: String) throws -> Int {
        var (name, count) = (name, 0)
        try transaction(MDB_RDONLY) { transaction in
            try name.withUTF8 { name in
                var key = MDB_val(mv_size: name.count, mv_data: UnsafeMutableRawPointer(mutating: name.baseAddress))
                var value = MDB_val()
                try Self.check(mdb_get(transaction, table, &key, &value))
                count = value.mv_size
            }
        }
        return count
    }
}
