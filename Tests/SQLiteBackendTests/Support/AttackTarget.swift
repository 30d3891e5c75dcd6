#if SQLite
    import BackendContract
    import BackendRuntime
    import Crypto
    import Foundation
    import SQLiteBackend
    import Sealing
    import TestSupport
    import Testing

    /// Whether the tests check every bit and every length instead of a sample.
    let isLong = LawSettings().isLong

    /// A database with a few records and its key, as the target of attacks.
    final class AttackTarget: Sendable {
        let folder: TemporaryDirectory
        let path: String
        let keyFile: String
        let key: SealingKey
        /// The probe (the result of a read) of each name in the untouched database. The last name was never written.
        let expected: [(address: StorageAddress, probe: StorageProbe)]
        /// The rows of `records` in the untouched database. The next properties have the rows of the other tables.
        let rows: [RawRecord]
        let header: [RawHeader]
        let keys: [RawKey]
        let wraps: [RawWrap]
        /// A connection that checks nothing and does not flush.
        let attacker: PlainDatabase

        static let key = SealingKey(key: SymmetricKey(data: [UInt8](repeating: 0xA7, count: 32)))

        /// Creates the database and writes the records.
        init(_ name: String = "store", key: SealingKey = AttackTarget.key, in folder: TemporaryDirectory? = nil) async throws {
            let folder = try folder ?? TemporaryDirectory()
            self.folder = folder
            self.key = key
            path = folder.file("\(name).sqlite")
            keyFile = try folder.folder("keys") + "/key"
            try writeFile(key.text + "\n", to: keyFile)
            let store = sqliteStore(at: path, keyFile: keyFile)
            var addresses: [StorageAddress] = []
            for (number, record) in Self.records(name).enumerated() {
                addresses.append(record.address)
                let result = try await store.apply(record)
                #expect(result.isApplied, "record \(number): \(result)")
            }
            addresses.append(StorageAddress("never written"))
            let probes = try await store.probes(addresses)
            expected = Array(zip(addresses, probes))
            await store.close()
            attacker = try PlainDatabase(path: path)
            let contents = try Self.contents(attacker)
            (header, keys, wraps, rows) = (contents.header, contents.keys, contents.wraps, contents.rows)
        }

        /// The rows of the four tables of a database.
        struct Contents: Equatable {
            let header: [RawHeader]
            let keys: [RawKey]
            let wraps: [RawWrap]
            let rows: [RawRecord]
        }

        static func contents(of path: String) throws -> Contents { try contents(try PlainDatabase(path: path)) }

        private static func contents(_ database: PlainDatabase) throws -> Contents {
            try database.execute("PRAGMA synchronous = OFF")
            return Contents(
                header: try RawHeader.all(database), keys: try RawKey.all(database), wraps: try RawWrap.all(database),
                rows: try RawRecord.all(database))
        }

        /// Returns the same target with other expected probes.
        func expecting(_ probes: [StorageProbe]) -> AttackTarget { AttackTarget(self, Array(zip(expected.map(\.address), probes))) }

        private init(_ other: AttackTarget, _ expected: [(address: StorageAddress, probe: StorageProbe)]) {
            (folder, path, keyFile, key, attacker) = (other.folder, other.path, other.keyFile, other.key, other.attacker)
            (rows, header, keys, wraps) = (other.rows, other.header, other.keys, other.wraps)
            self.expected = expected
        }

        private static func records(_ name: String) -> [StorageMutation] {
            let metadata = StorageMetadata(serializer: "json", createdAt: 1_700_000_000, attributes: ["from": name])
            return [
                .put(.bytes(Array("\"attacked in \(name)\"".utf8)), metadata, at: StorageAddress("attacked")),
                .put(.bytes([]), at: StorageAddress("empty")),
                .put(.bytes(Array(repeating: 0x5A, count: 300)), metadata, at: StorageAddress("attacked", in: StorageNamespace("ledger"))),
                .tombstone(metadata, at: StorageAddress("removed")),
                .put(.bytes(Array("other".utf8)), at: StorageAddress("other")),
            ]
        }

        /// Makes a store on the database, or on another path or key file if one is given.
        func store(at other: String? = nil, keyFile otherKeyFile: String? = nil) -> SQLiteStore {
            sqliteStore(at: other ?? path, keyFile: otherKeyFile ?? keyFile)
        }

        /// Returns the row of a name in the untouched database.
        func row(_ address: StorageAddress) throws -> RawRecord {
            let slot = try SealedDatabase(path: path, key: key).slot(address)
            return try #require(rows.first { $0.slot == Data(slot) })
        }

        /// Restores the original rows of `records`.
        func restore() throws {
            try attacking { database in
                try database.execute("DELETE FROM records")
                for row in rows { try row.insert(database) }
            }
        }

        /// Restores the original header and keys.
        func restoreHeader() throws {
            try attacking { database in
                try database.execute("DELETE FROM header; DELETE FROM keys; DELETE FROM wraps")
                try insertHeader(database)
            }
        }

        /// Inserts the original header and keys into empty tables.
        func insertHeader(_ database: PlainDatabase) throws {
            for row in header { try row.insert(database) }
            for row in keys { try row.insert(database) }
            for row in wraps { try row.insert(database) }
        }

        /// Executes one statement and commits it.
        func attack(_ sql: String, _ arguments: [any PlainArgument] = []) throws { try attacker.execute(sql, arguments) }

        /// Changes the database as an attacker would, in one transaction.
        func attacking<R>(_ body: (PlainDatabase) throws -> R) throws -> R { try attacker.transaction(body) }

        func rowsNow() throws -> [RawRecord] { try RawRecord.all(attacker) }
    }

    /// A row of `records`.
    struct RawRecord: Hashable, Sendable {
        var id: Int64
        var slot: Data
        var version: Int64
        var sealed: Data

        static func all(_ database: PlainDatabase) throws -> [RawRecord] {
            try database.rows("SELECT id, slot, version, sealed FROM records ORDER BY id").compactMap { row in
                // Skip rows whose columns an attack changed to another type. They cannot be restored.
                guard let id = row[0].integer, let slot = row[1].blob, let version = row[2].integer, let sealed = row[3].blob else {
                    return nil
                }
                return RawRecord(id: id, slot: slot, version: version, sealed: sealed)
            }
        }

        func insert(_ database: PlainDatabase) throws {
            try database.execute("INSERT INTO records VALUES (?, ?, ?, ?)", [id, slot, version, sealed])
        }
    }

    /// A row of `header`.
    struct RawHeader: Hashable, Sendable {
        var name: String
        var value: Data

        static func all(_ database: PlainDatabase) throws -> [RawHeader] {
            try database.rows("SELECT name, value FROM header ORDER BY name").map {
                RawHeader(name: try #require($0[0].text), value: try #require($0[1].blob))
            }
        }

        func insert(_ database: PlainDatabase) throws {
            try database.execute("INSERT INTO header VALUES (?, ?)", [name, value])
        }
    }

    /// A row of `keys`.
    struct RawKey: Hashable, Sendable {
        var key: Data
        var state: Int64

        static func all(_ database: PlainDatabase) throws -> [RawKey] {
            try database.rows("SELECT key, state FROM keys ORDER BY key").map {
                RawKey(key: try #require($0[0].blob), state: try #require($0[1].integer))
            }
        }

        func insert(_ database: PlainDatabase) throws { try database.execute("INSERT INTO keys VALUES (?, ?)", [key, state]) }
    }

    /// A row of `wraps`.
    struct RawWrap: Hashable, Sendable {
        var key: Data
        var recipient: Data
        var source: Data
        var verifier: Data
        var wrapped: Data

        static let columns = ["key", "recipient", "source", "verifier", "wrapped"]

        static func all(_ database: PlainDatabase) throws -> [RawWrap] {
            try database.rows("SELECT key, recipient, source, verifier, wrapped FROM wraps ORDER BY key, recipient").map {
                RawWrap(
                    key: try #require($0[0].blob), recipient: try #require($0[1].blob), source: try #require($0[2].blob),
                    verifier: try #require($0[3].blob), wrapped: try #require($0[4].blob))
            }
        }

        func insert(_ database: PlainDatabase) throws {
            try database.execute("INSERT INTO wraps VALUES (?, ?, ?, ?, ?)", [key, recipient, source, verifier, wrapped])
        }
    }

    extension SQLiteStore {
        /// Reads several names.
        func probes(_ addresses: [StorageAddress]) async throws(BackendError) -> [StorageProbe] { try await read(addresses, .validated) }
    }

    /// Makes a store whose lock file is next to the database.
    func sqliteStore(
        at path: String, context: StoreContext = .test, source: any KeySource, otherSources: [any KeySource] = [],
        deadline: Duration = .seconds(60), runtime: Runtime = .live
    ) -> SQLiteStore {
        SQLiteStore(
            path: path, lockPath: path + ".lock", context: context, keys: SealingKeys(pins: .none, randomBytes: runtime.randomBytes),
            source: source, otherSources: otherSources, deadline: deadline, runtime: runtime)
    }

    func sqliteStore(at path: String, keyFile: String, deadline: Duration = .seconds(60), runtime: Runtime = .live) -> SQLiteStore {
        sqliteStore(
            at: path, source: KeyFileSource(path: keyFile, deadline: deadline, runtime: runtime), deadline: deadline, runtime: runtime)
    }

    /// Returns the code of the error in a probe.
    func code(of probe: StorageProbe) -> BackendError.Code? {
        if case .unavailable(let error) = probe { error.code } else { nil }
    }
#endif
