#if PostgreSQL
    import BackendContract
    import Sealing

    /// An open database on the server: the version of its header, and the form of its rows.
    final class ServerSession: Sendable {
        /// The version of the header: 16 random bytes, new with each change, and the transaction that has written the row.
        let version: [UInt8]
        let form: RowForm
        /// The unwrapped keys; nil in a plain database.
        let keys: ServerKeys?

        init(version: [UInt8], form: RowForm, keys: ServerKeys?) { (self.version, self.form, self.keys) = (version, form, keys) }
    }

    /// The header of a database, as the server returns it.
    struct StoredHeader: Sendable {
        let version: [UInt8]
        /// The header of a sealed database; nil in a plain one.
        let sealed: ServerHeader?

        /// Reads the results of ``ServerTables/header(_:isStale:)``.
        /// - Returns: Nil if the server has no such database.
        /// - Throws: ``BackendError`` with `corrupted`.
        static func parse(_ results: [ServerRows], context: [UInt8]) throws(BackendError) -> StoredHeader? {
            guard results.count == 5, let row = results[1].rows.first else { throw ServerHeader.damage }
            guard row[1] != nil else { return nil }
            guard row.isTrue(3) else { return StoredHeader(version: row.bytes(1), sealed: nil) }
            var keys: [KeyTables.Key] = []
            for key in results[2].rows {
                guard let state = UInt8(exactly: key.integer(1)).flatMap(KeyTables.State.init) else { throw ServerHeader.damage }
                keys.append(KeyTables.Key(id: key.bytes(0), state: state))
            }
            let wraps = results[3].rows.map {
                KeyTables.Wrap(key: $0.bytes(0), recipient: $0.bytes(1), source: $0.text(2), verifier: $0.bytes(3), wrapped: $0.bytes(4))
            }
            let place: StoreContext
            do throws(RecordDamage) { place = try StoreContext(bytes: row.bytes(2)) } catch { throw ServerHeader.damage }
            let header = ServerHeader(
                database: row.bytes(4), context: place, keys: try KeyTables(keys: keys, wraps: wraps, sender: row[5]), index: row.bytes(6),
                counter: row.integer(8), tag: row.bytes(7), proof: row.bytes(9))
            return StoredHeader(version: row.bytes(1), sealed: header)
        }
    }

    extension ServerTables {
        /// Creates the header of a database unless there is one.
        /// - Parameters:
        ///   - context: The key of the database.
        ///   - origin: The encoded context.
        func create(
            _ context: [UInt8], origin: [UInt8], version: [UInt8], _ header: ServerHeader?
        ) -> [ServerStatement] {
            [
                ServerStatement(
                    """
                    INSERT INTO \(schema).databases (context, version, origin, sealed, database, sender, index_key, tag, counter, proof) \
                    VALUES ($1, $2, $3, \(header == nil ? "false" : "true"), $4, NULL, $5, $6, $7, $8)
                    """,
                    [
                        .bytea(context), .uuid(version), .bytea(origin), header.map { .bytea($0.database) } ?? .null,
                        header.map { .bytea($0.index) } ?? .null, header.map { .bytea($0.tag) } ?? .null, .int8(header?.counter ?? 0),
                        header.map { .bytea($0.proof) } ?? .null,
                    ])
            ] + (header.map { keyRows(context, $0.keys) } ?? [])
        }

        /// Locks the header until the end of the transaction and reads its version.
        func lockHeader(_ context: [UInt8]) -> ServerStatement {
            ServerStatement(
                "SELECT \(Self.version(of: "d")) FROM \(schema).databases d WHERE d.context = $1 FOR UPDATE", [.bytea(context)])
        }

        /// Replaces the locked header of a sealed database. A data key that is no longer listed is deleted; this fails
        /// with 23503 if a row is sealed with it.
        func replace(_ context: [UInt8], version: [UInt8], _ header: ServerHeader) -> [ServerStatement] {
            [
                ServerStatement(
                    """
                    UPDATE \(schema).databases SET version = $2, sender = $3, index_key = $4, tag = $5, counter = $6, proof = $7 \
                    WHERE context = $1
                    """,
                    [
                        .bytea(context), .uuid(version), header.keys.sender.map { .bytea($0) } ?? .null, .bytea(header.index),
                        .bytea(header.tag), .int8(header.counter), .bytea(header.proof),
                    ]),
                ServerStatement("DELETE FROM \(schema).wraps WHERE context = $1", [.bytea(context)]),
                ServerStatement(
                    "DELETE FROM \(schema).keys WHERE context = $1 AND NOT key = ANY ($2)",
                    [.bytea(context), .byteas(header.keys.keys.map(\.id))]),
            ] + keyRows(context, header.keys)
        }

        private func keyRows(_ context: [UInt8], _ keys: KeyTables) -> [ServerStatement] {
            keys.keys.map { key in
                ServerStatement(
                    """
                    INSERT INTO \(schema).keys (context, key, state) VALUES ($1, $2, $3::int8::smallint) \
                    ON CONFLICT (context, key) DO UPDATE SET state = excluded.state
                    """, [.bytea(context), .bytea(key.id), .int8(Int64(key.state.rawValue))])
            }
                + keys.wraps.map { wrap in
                    ServerStatement(
                        "INSERT INTO \(schema).wraps (context, key, recipient, source, verifier, wrapped) VALUES ($1, $2, $3, $4, $5, $6)",
                        [
                            .bytea(context), .bytea(wrap.key), .bytea(wrap.recipient), .text(wrap.source), .bytea(wrap.verifier),
                            .bytea(wrap.wrapped),
                        ])
                }
        }
    }
#endif
