package import BackendContract
import Crypto

/// The data keys of a database, unwrapped.
package struct Keyset: Sendable {
    /// The database's id: 16 random bytes.
    package let database: [UInt8]
    /// The key that seals new data.
    package let active: DataKey
    /// The keys that only open data which they sealed earlier.
    package let decryptOnly: [DataKey]
    /// The ids of the destroyed keys. All data that they sealed is lost.
    package let destroyed: Set<[UInt8]>
    /// The formats that a row may have.
    package let formats: Set<UInt8>

    /// Creates the keys that are used while a database gets another id. The former keys open the rows that were sealed
    /// under the former id, and the new key seals.
    package init(replacing former: Keyset, by new: Keyset) {
        (database, active, formats) = (new.database, new.active, new.formats)
        (decryptOnly, destroyed) = (former.all, former.destroyed)
    }

    private init(
        database: [UInt8], active: DataKey, decryptOnly: [DataKey], destroyed: Set<[UInt8]>, formats: Set<UInt8>
    ) {
        (self.database, self.active, self.decryptOnly) = (database, active, decryptOnly)
        (self.destroyed, self.formats) = (destroyed, formats)
    }

    /// The number of bytes of a database's id.
    package static let databaseLength = 16

    /// Creates a keyset with one new data key, and the tables that store this data key, wrapped with one key-encryption
    /// key.
    /// - Parameters:
    ///   - database: The id of the database.
    ///   - formats: The formats that a row may have.
    ///   - kek: The key-encryption key, which wraps the data key.
    ///   - source: The short name of the source that holds `kek`.
    ///   - randomBytes: Returns the given number of unpredictable bytes.
    package static func make(
        database: [UInt8], formats: [UInt8], kek: SealingKey, source: String, randomBytes: (Int) -> [UInt8]
    ) throws(BackendError) -> (Keyset, KeyTables) {
        let key = SymmetricKey.random(randomBytes)
        let wrap = try KeyEncryptionKey(kek, database: database).wrap(key, source: source, randomBytes)
        let tables = try KeyTables(keys: [KeyTables.Key(id: wrap.key, state: .active)], wraps: [wrap])
        let keyset = Keyset(
            database: database, active: try DataKey(key: key, database: database), decryptOnly: [], destroyed: [], formats: Set(formats))
        return (keyset, tables)
    }

    /// Unwraps the data keys of a database.
    /// - Throws: ``BackendError``: `encryptionKeyMismatch` if no data key is wrapped for the holder; `corrupted` if the
    ///   tables were changed.
    package static func open(
        _ tables: KeyTables, database: [UInt8], formats: [UInt8], holder: KeyHolder
    ) throws(BackendError) -> Keyset {
        let keys = try holder.open(tables, database: database)
        var active: DataKey?
        var decryptOnly: [DataKey] = []
        var destroyed: Set<[UInt8]> = []
        for entry in tables.keys {
            guard let known = keys[entry.id] else {
                destroyed.insert(entry.id)
                continue
            }
            // The holder has compared the id with the key.
            let key = try DataKey(key: known, id: entry.id, database: database)
            if entry.state == .active { active = key } else { decryptOnly.append(key) }
        }
        guard let active else { throw damage }
        return Keyset(
            database: database, active: active, decryptOnly: decryptOnly, destroyed: destroyed, formats: Set(formats))
    }

    /// Unwraps the data keys of a database with the key of a source.
    package static func open(_ tables: KeyTables, database: [UInt8], formats: [UInt8], kek: SealingKey) throws(BackendError) -> Keyset {
        try open(tables, database: database, formats: formats, holder: .key(kek))
    }

    /// All keys that open data, the active one first.
    package var all: [DataKey] { [active] + decryptOnly }

    /// Returns the key with an id; nil if it is destroyed or not in the set.
    package func key(_ id: [UInt8]) -> DataKey? { id.withUnsafeBytes { key($0) } }

    /// Returns the key with an id; nil if it is destroyed or not in the set.
    package func key(_ id: UnsafeRawBufferPointer) -> DataKey? {
        guard id.count == SealingKey.idLength else { return nil }
        let number = id.loadUnaligned(as: UInt64.self)
        if active.number == number { return active }
        return decryptOnly.first { $0.number == number }
    }

    /// Returns a tag that binds the header and the data keys together. It authenticates every row of the tables
    /// `header` (except the tag), `keys` and `wraps` with the active key.
    package func tag(header: [(name: String, value: [UInt8])], tables: KeyTables) -> [UInt8] {
        active.tag(Self.fields(header, tables))
    }

    /// Returns whether a tag belongs to this header and these keys.
    package func isTag(_ tag: [UInt8], header: [(name: String, value: [UInt8])], tables: KeyTables) -> Bool {
        active.isTag(tag, of: Self.fields(header, tables))
    }

    private static func fields(_ header: [(name: String, value: [UInt8])], _ tables: KeyTables) -> Fields {
        var entries = Fields("entries")
        for (name, value) in header.sorted(by: { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }) {
            entries.add(name)
            entries.add(value)
        }
        let (keys, wraps) = tables.fields
        return Fields("LocalData SQLite 1 header", entries.bytes, keys.bytes, wraps.bytes)
    }

    /// The error for key tables that were damaged or changed.
    package static var damage: BackendError {
        BackendError(
            .corrupted,
            "The database's keys were damaged, or changed by another program. Restore the file from a backup; nothing was changed.")
    }
}
