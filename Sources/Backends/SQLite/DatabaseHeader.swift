#if SQLite
    import BackendContract
    import Sealing

    /// A database's header, which is not encrypted: its id, the key source in use, the features a reader must know, and the wrapped keys.
    struct DatabaseHeader: Hashable, Sendable {
        /// The database's id.
        let database: [UInt8]
        /// The short name of the key source in use.
        let source: String
        /// The features beyond format 1 that a reader must know.
        let features: [String]
        /// The wrapped data keys.
        let keyset: [KeysetEntry]
        /// The tag over all of it.
        let tag: [UInt8]

        /// A header with a new tag.
        init(database: [UInt8], source: String, features: [String] = [], keyset: Keyset, entries: [KeysetEntry]) {
            self.database = database
            self.source = source
            self.features = features
            self.keyset = entries
            tag = keyset.tag(header: Self.entries(database, source, features), entries: entries)
        }

        /// The same header with one more feature.
        func adding(_ feature: String, _ keys: Keyset) -> DatabaseHeader {
            let all = (features + [feature]).sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            return DatabaseHeader(database: database, source: source, features: all, keyset: keys, entries: keyset)
        }

        /// Whether there are labels.
        var isIndexed: Bool { features.contains(DatabaseFormat.index) }

        /// Reads the header of a database whose format was checked.
        /// - Throws: ``BackendError``: `corrupted`; `unsupported` for a feature that is not known here, by its name.
        init(reading connection: Connection) throws(BackendError) {
            var values: [String: [UInt8]] = [:]
            try connection.rows("SELECT name, value FROM header") { (row) throws(BackendError) in
                guard row.kind(0) == .text, row.kind(1) == .blob else { throw Keyset.damage }
                values[row.text(0)] = row.bytes(1)
            }
            guard let features = values.removeValue(forKey: "features"), let database = values.removeValue(forKey: "database"),
                database.count == Keyset.databaseLength, let tag = values.removeValue(forKey: "tag"),
                let source = values.removeValue(forKey: "source").flatMap({ String(validating: $0, as: UTF8.self) })
            else { throw Keyset.damage }
            self.features = try Self.features(features)
            if let unknown = values.keys.sorted().first {
                throw BackendError(
                    .corrupted,
                    "The database's header has an unknown entry \"\(unknown.prefix(40))\". Restore the file from a backup."
                )
            }
            var entries: [KeysetEntry] = []
            try connection.rows("SELECT key, state, kek, verifier, wrapped FROM keyset ORDER BY key") { (row) throws(BackendError) in
                guard row.kind(1) == .integer, [0, 2, 3, 4].allSatisfy({ row.kind($0) == .blob }) else { throw Keyset.damage }
                entries.append(
                    try KeysetEntry(
                        key: row.bytes(0), state: row.integer(1), kek: row.bytes(2), verifier: row.bytes(3), wrapped: row.bytes(4)))
            }
            guard !entries.isEmpty else { throw Keyset.damage }
            self.database = database
            self.source = source
            self.tag = tag
            keyset = entries
        }

        /// Reads the list of features.
        /// - Throws: ``BackendError``: `unsupported` for one that is not known here, by its name; `corrupted`.
        static func features(_ bytes: [UInt8]) throws(BackendError) -> [String] {
            var reader = ByteReader(bytes[...])
            var features: [String] = []
            while !reader.isAtEnd {
                let feature: String
                do throws(RecordDamage) { feature = try reader.text() } catch { throw Keyset.damage }
                guard feature == DatabaseFormat.index else {
                    throw BackendError(
                        .unsupported,
                        "The database uses \"\(feature.prefix(40))\", which this version of the library does not know. Update the program; nothing was changed."
                    )
                }
                guard features.isEmpty else { throw Keyset.damage }
                features.append(feature)
            }
            return features
        }

        /// The list of features as the table holds it.
        static func bytes(ofFeatures features: [String]) -> [UInt8] {
            var writer = ByteWriter()
            for feature in features { writer.counted(feature.utf8) }
            return writer.bytes
        }

        /// The entries of the table, without the tag.
        static func entries(_ database: [UInt8], _ source: String, _ features: [String]) -> [(name: String, value: [UInt8])] {
            [("database", database), ("features", bytes(ofFeatures: features)), ("source", Array(source.utf8))]
        }

        /// Unwraps the keys, and checks that header and keyset are unchanged.
        /// - Throws: ``BackendError``: `encryptionKeyMismatch`, `corrupted`.
        func open(_ kek: SealingKey) throws(BackendError) -> Keyset {
            let keys = try Keyset.open(keyset, database: database, kek: kek)
            guard keys.isTag(tag, header: Self.entries(database, source, features), entries: keyset) else { throw Keyset.damage }
            return keys
        }

        /// The id of the key that wraps the data keys.
        var kek: [UInt8] { keyset.first?.kek ?? [] }
    }
#endif
