#if SQLite
    import BackendContract
    import Sealing

    /// Finds rows by their slot on one connection, with a prepared statement. The slot of a row is a keyed hash of its
    /// namespace and name. Only one caller uses the finder at a time.
    final class RowFinder {
        /// A row that was found.
        struct Found {
            /// The id of the row, its primary key.
            let id: Int64
            /// Nil if the version of the row is damaged.
            let version: Int64?
            /// The data key that the slot was computed with.
            let key: DataKey
            /// The slot that was searched for.
            let slot: [UInt8]
            /// The name in the decrypted row; nil if the row does not open.
            let address: StorageAddress?
            let probe: StorageProbe
            /// Whether the row names a format or a key that the keyset does not permit. That is damage if the keyset
            /// was read in the row's transaction.
            var isStranger = false
            /// Whether the row was resealed with another key after it was written. Its revision is unchanged.
            var isResealed = false
            /// The row's term, a keyed hash that is part of the sum of all rows. Nil if the search did not compute it,
            /// or if the row has no term.
            var term: [UInt8]?
        }

        /// The result of a search.
        enum Result {
            case found(Found)
            case absent
            /// The search must read more than one row, or a row and the header. The caller repeats it in a transaction.
            case needsTransaction

            var needsTransaction: Bool { if case .needsTransaction = self { true } else { false } }
        }

        let database: Connection
        private let statement: Statement

        init(_ database: Connection) throws(SQLiteFault) {
            self.database = database
            statement = try database.keptStatement("SELECT +slot, +version, +sealed FROM records WHERE id = ?1")
        }

        /// How often SQLite has prepared the statement again because the schema had changed.
        var schemaChanges: Int32 { statement.schemaChanges }

        /// Returns the home id of a slot, which is the lowest id that its row may have. The home id has 62 bits of the
        /// slot, so there are always ids above it.
        /// Reason: "The id of a row is computed from its slot" in Docs/Decisions/Database.md.
        static func home(of slot: some Sequence<UInt8>) -> Int64 { Int64(slot.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) } >> 2) }

        /// Reads the row at an id.
        /// - Returns: The result of `body`; nil if there is no row.
        func row<R>(at id: Int64, _ body: (RawRow) -> R) throws(SQLiteFault) -> R? {
            try statement.bind(id, at: 1)
            defer { statement.reset() }
            return try statement.step() ? body(RawRow(statement, firstColumn: 0)) : nil
        }

        /// Returns whether a row is stored with exactly these bytes.
        func stores(_ written: WrittenRows.Row) throws(SQLiteFault) -> Bool {
            var id = Self.home(of: written.slot)
            while true {
                let isSame = try row(at: id) { row -> Bool? in
                    guard row.slot?.hasBytes(written.slot) == true else { return nil }
                    return row.version == written.version && row.sealed?.hasBytes(written.sealed) == true
                }
                guard let isSame else { return false }
                if let isSame { return isSame }
                id += 1
            }
        }

        /// Finds the row of a name: first under the active key, then under the decrypt-only keys, which seal no new
        /// rows.
        /// - Parameters:
        ///   - inTransaction: Whether the caller has begun a transaction. Without one, a search that needs more than
        ///     one read returns `needsTransaction`.
        ///   - computesTerm: Whether to compute the row's term. A caller that replaces the row needs it.
        ///   - known: A record of the slot that the caller has read. If the row has its revision, the row is not opened.
        ///     Reason: "A row that its caller has read is not opened again" in Docs/Decisions/Database.md.
        func find(
            _ address: StorageAddress, _ keyset: Keyset, inTransaction: Bool, computesTerm: Bool = false, known: StorageRecord? = nil
        ) throws(SQLiteFault) -> Result {
            guard inTransaction || keyset.decryptOnly.isEmpty else { return .needsTransaction }
            func found(_ key: DataKey) throws(SQLiteFault) -> Result {
                let slot = key.slot(of: address, table: DatabaseFormat.table)
                return try find(slot, key, keyset, inTransaction: inTransaction, computesTerm: computesTerm, known: known)
            }
            var result = try found(keyset.active)
            for key in keyset.decryptOnly {
                guard case .absent = result else { break }
                result = try found(key)
            }
            return result
        }

        /// Searches for the row of a slot, going up from the slot's home id until an id has no row.
        ///
        /// More than one read is needed only if two names share 62 bits of their slots. Each row on the way must open
        /// and belong to another slot. A row whose slot was changed is reported as damaged, not skipped.
        func find(
            _ slot: [UInt8], _ key: DataKey, _ keyset: Keyset, inTransaction: Bool, computesTerm: Bool = false, known: StorageRecord? = nil
        ) throws(SQLiteFault) -> Result {
            var id = Self.home(of: slot)
            while true {
                // Nil if the row belongs to another slot, or must be read in a transaction.
                let found = try row(at: id) { row -> Found? in
                    let isAnother = row.slot?.hasBytes(slot) == false
                    func mine(
                        _ probe: StorageProbe, isStranger: Bool = false, of address: StorageAddress? = nil, isResealed: Bool = false
                    ) -> Found {
                        Found(
                            id: id, version: row.version, key: key, slot: slot, address: address, probe: probe,
                            isStranger: isStranger, isResealed: isResealed, term: computesTerm ? row.term(keyset) : nil)
                    }
                    if let known, !isAnother, row.hasRevision(known.revision) { return mine(.value(known)) }
                    return switch row.open(keyset) {
                    case .content where isAnother, .destroyed where isAnother: nil
                    case .content(let content, let revision):
                        mine(content.probe(revision), of: content.address, isResealed: content.keptRevision != nil)
                    case .destroyed: mine(.corrupt(row.corruption("names a destroyed key")))
                    case .damaged(let corruption): mine(.corrupt(corruption))
                    case .refused(let error): mine(.unavailable(error))
                    case .stranger(let corruption): mine(.corrupt(corruption), isStranger: true)
                    }
                }
                guard let found else { return .absent }
                if let found, inTransaction || !found.isStranger { return .found(found) }
                if !inTransaction { return .needsTransaction }
                id += 1
            }
        }
    }

    extension RowContent {
        /// Returns the content as the result of a read.
        func probe(_ revision: StorageRevision) -> StorageProbe {
            switch kind {
            case .value: .value(StorageRecord(payload: .bytes(payload), metadata: metadata, revision: revision))
            case .tombstone: .tombstone(StorageTombstone(metadata: metadata, revision: revision))
            }
        }
    }
#endif
