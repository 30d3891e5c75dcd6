#if SQLite
    import BackendContract
    import Sealing

    /// The header of a database, which is not encrypted. It contains the id, the store context (application, kind and
    /// scope), the features (extensions of the format), the permitted row formats and the wrapped data keys.
    struct DatabaseHeader: Hashable, Sendable {
        /// The id of the database: 16 random bytes.
        private(set) var database: [UInt8]
        /// The application, kind and scope that the database belongs to.
        var context: StoreContext
        /// The features, which add tables to the basic schema.
        var features: [DatabaseFeature]
        /// The formats that rows may have, in ascending order.
        let formats: [UInt8]
        /// The data keys, wrapped for each recipient, which is a key that can unwrap them.
        var keys: KeyTables
        /// The authentication tag of header and keys, computed with the active data key.
        private(set) var tag: [UInt8] = []

        /// Creates a header and computes its tag.
        init(
            database: [UInt8], context: StoreContext, features: [DatabaseFeature] = [], formats: [UInt8] = [SealedRow.format],
            keys: KeyTables, tagged keyset: Keyset
        ) {
            (self.database, self.context, self.features, self.formats, self.keys) = (database, context, features, formats, keys)
            tag = keyset.tag(header: entries, tables: keys)
        }

        /// Returns a changed copy of the header with a new tag.
        func changed(_ keyset: Keyset, _ change: (inout DatabaseHeader) -> Void) -> DatabaseHeader {
            var header = self
            change(&header)
            header.tag = keyset.tag(header: header.entries, tables: header.keys)
            return header
        }

        /// Returns the header with another database id, another store context and other keys.
        func reidentified(_ database: [UInt8], in place: StoreContext, _ tables: KeyTables, _ keyset: Keyset) -> DatabaseHeader {
            changed(keyset) { ($0.database, $0.context, $0.keys) = (database, place, tables) }
        }

        /// Returns the header with one more feature.
        func adding(_ feature: DatabaseFeature, _ keyset: Keyset) -> DatabaseHeader {
            changed(keyset) { $0.features = ($0.features + [feature]).sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) } }
        }

        /// Whether the database has labels, an index that queries use.
        var isIndexed: Bool { features.contains(.labels) }

        /// The entries of the table `header`, except for the tag.
        var entries: [(name: String, value: [UInt8])] {
            [
                ("context", context.bytes), ("database", database), ("features", DatabaseFeature.bytes(of: features)), ("formats", formats),
            ] + (keys.sender.map { [("sender", $0)] } ?? [])
        }

        /// Unwraps the data keys. Checks that header and keys are unchanged, and that the database belongs to the given
        /// context.
        /// - Parameters:
        ///   - holder: The key that unwraps the data keys.
        ///   - place: The context that the database must belong to; nil to accept any context.
        /// - Throws: ``BackendError``: `encryptionKeyMismatch` if no data key is wrapped for the holder; `corrupted`,
        ///   `wrongContext`.
        func open(_ holder: KeyHolder, in place: StoreContext?) throws(BackendError) -> Keyset {
            let keyset = try Keyset.open(keys, database: database, formats: formats, holder: holder)
            guard keyset.isTag(tag, header: entries, tables: keys) else { throw Keyset.damage }
            if let place, place != context {
                throw place.isNot(
                    context, "The database",
                    "Put the file back into its original folder, or move it here for good with StorageRouter.adopt(_:from:application:).")
            }
            return keyset
        }

        /// Throws if every reader must support a feature of this database, and this version of the library does not.
        func requireReadable() throws(BackendError) {
            if let unknown = features.first(where: { !$0.isKnown && $0.need == .reading }) { throw unknown.readingRefused }
        }

        /// Throws if every writer must support a feature of this database, and this version of the library does not.
        func requireWritable() throws(BackendError) {
            if let unknown = features.first(where: { !$0.isKnown && $0.need == .writing }) { throw unknown.writingRefused }
        }
    }

    // MARK: Reading

    extension DatabaseHeader {
        /// Returns the entries of the table `header`.
        /// - Throws: ``BackendError`` with `corrupted`.
        static func entries(_ connection: Connection) throws(BackendError) -> [String: [UInt8]] {
            var values: [String: [UInt8]] = [:]
            try connection.rows("SELECT +name, +value FROM header") { (row) throws(BackendError) in
                guard row.kind(0) == .text, row.kind(1) == .blob else { throw Keyset.damage }
                values[row.text(0)] = row.bytes(1)
            }
            return values
        }

        /// Reads the header of a database whose format has been checked.
        /// - Parameter entries: The entries of the table `header`; nil to read them.
        /// - Throws: ``BackendError``: `corrupted`; `unsupported` for an unknown feature that every reader must
        ///   support. The message names the feature.
        init(reading connection: Connection, entries: [String: [UInt8]]? = nil) throws(BackendError) {
            var values = if let entries { entries } else { try Self.entries(connection) }
            guard let features = values.removeValue(forKey: "features"), let database = values.removeValue(forKey: "database"),
                database.count == Keyset.databaseLength, let tag = values.removeValue(forKey: "tag"),
                let context = values.removeValue(forKey: "context"), let formats = values.removeValue(forKey: "formats"),
                !formats.isEmpty, zip(formats, formats.dropFirst()).allSatisfy({ $0 < $1 })
            else { throw Keyset.damage }
            let sender = values.removeValue(forKey: "sender")
            if let unknown = values.keys.sorted().first {
                throw BackendError(
                    .corrupted,
                    "The database's header has an unknown entry \"\(unknown.prefix(40))\". Restore the file from a backup."
                )
            }
            (self.database, self.formats, self.tag) = (database, formats, tag)
            self.features = try Self.features(features)
            do throws(RecordDamage) { self.context = try StoreContext(bytes: context) } catch { throw Keyset.damage }
            keys = try Self.keys(connection, sender)
            try requireReadable()
        }

        /// Decodes the list of features.
        /// - Throws: ``BackendError`` with `corrupted`.
        static func features(_ bytes: [UInt8]) throws(BackendError) -> [DatabaseFeature] {
            do throws(RecordDamage) { return try DatabaseFeature.features(bytes) } catch { throw Keyset.damage }
        }

        private static func keys(_ connection: Connection, _ sender: [UInt8]?) throws(BackendError) -> KeyTables {
            var keys: [KeyTables.Key] = []
            try connection.rows("SELECT +key, +state FROM keys") { (row) throws(BackendError) in
                guard row.kind(0) == .blob, row.kind(1) == .integer,
                    let state = UInt8(exactly: row.integer(1)).flatMap(KeyTables.State.init)
                else { throw Keyset.damage }
                keys.append(KeyTables.Key(id: row.bytes(0), state: state))
            }
            var wraps: [KeyTables.Wrap] = []
            try connection.rows("SELECT +key, +recipient, +source, +verifier, +wrapped FROM wraps") { (row) throws(BackendError) in
                guard (0..<5).allSatisfy({ row.kind($0) == .blob }), let source = String(validating: row.bytes(2), as: UTF8.self) else {
                    throw Keyset.damage
                }
                wraps.append(
                    KeyTables.Wrap(
                        key: row.bytes(0), recipient: row.bytes(1), source: source, verifier: row.bytes(3), wrapped: row.bytes(4)))
            }
            return try KeyTables(keys: keys, wraps: wraps, sender: sender)
        }
    }

    // MARK: Writing

    extension DatabaseHeader {
        /// Replaces all rows of the tables `header`, `keys` and `wraps` inside the caller's transaction.
        func write(to connection: Connection) throws(SQLiteFault) {
            try connection.execute("DELETE FROM header; DELETE FROM keys; DELETE FROM wraps")
            try connection.insert(
                "INSERT INTO header VALUES (CAST(?1 AS TEXT), ?2)",
                (entries + [("tag", tag)]).map {
                    [.bytes(Array($0.name.utf8)), .bytes($0.value)]
                })
            try connection.insert("INSERT INTO keys VALUES (?1, ?2)", keys.keys.map { [.bytes($0.id), .number(Int64($0.state.rawValue))] })
            try connection.insert(
                "INSERT INTO wraps VALUES (?1, ?2, ?3, ?4, ?5)",
                keys.wraps.map {
                    [.bytes($0.key), .bytes($0.recipient), .bytes(Array($0.source.utf8)), .bytes($0.verifier), .bytes($0.wrapped)]
                })
        }
    }

    extension Connection {
        /// A value for a parameter of a statement.
        enum Parameter {
            case number(Int64)
            case bytes([UInt8])
        }

        /// Runs a statement once for each row of parameters.
        func insert(_ sql: String, _ rows: [[Parameter]]) throws(SQLiteFault) {
            let statement = try keptStatement(sql)
            defer { statement.finalize() }
            for row in rows {
                for (index, parameter) in row.enumerated() {
                    switch parameter {
                    case .number(let number): try statement.bind(number, at: Int32(index + 1))
                    case .bytes(let bytes): try statement.bind(bytes, at: Int32(index + 1))
                    }
                }
                try statement.run()
            }
        }
    }
#endif
