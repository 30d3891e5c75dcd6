#if SQLite
    import BackendContract
    import Sealing

    /// Finds rows by their slot on one connection, with a statement that is kept. Used by one caller at a time.
    final class RowFinder {
        /// A row of a slot.
        struct Found {
            /// Its place.
            let id: Int64
            /// Nil in a row whose version is damaged.
            let version: Int64?
            /// The key that made its slot.
            let key: DataKey
            /// The slot that was looked for.
            let slot: [UInt8]
            /// The name in it; nil in a row that does not open.
            let address: StorageAddress?
            let probe: StorageProbe
            /// Whether the row names a format or a key that the keyset does not permit: damage, if the keyset is that of the row's own
            /// transaction.
            var isStranger = false
            /// Whether the row was sealed again since it was written, under its revision.
            var isResealed = false
            /// The row's term in the sum of all rows, where the search was told to compute it; nil for a row that has none.
            var term: [UInt8]?
        }

        /// The result of a search.
        enum Result {
            case found(Found)
            case absent
            /// More than one row has to be read, or the header with the row: repeat the search in a transaction.
            case needsTransaction

            var needsTransaction: Bool { if case .needsTransaction = self { true } else { false } }
        }

        /// The connection.
        let database: Connection
        private let statement: Statement

        init(_ database: Connection) throws(SQLiteFault) {
            self.database = database
            statement = try database.keptStatement("SELECT slot, version, sealed FROM records WHERE id = ?1")
        }

        /// How often SQLite has prepared the statement again because the schema had changed.
        var schemaChanges: Int32 { statement.schemaChanges }

        /// The first place where a slot's row may be: 62 bits of the slot, so that there is always a place above.
        static func home(of slot: some Sequence<UInt8>) -> Int64 { Int64(slot.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) } >> 2) }

        /// Reads one place.
        /// - Returns: What `body` makes of the row there; nil where there is none.
        func row<R>(at id: Int64, _ body: (RawRow) -> R) throws(SQLiteFault) -> R? {
            try statement.bind(id, at: 1)
            defer { statement.reset() }
            return try statement.step() ? body(RawRow(statement, firstColumn: 0)) : nil
        }

        private enum Step {
            case mine(version: Int64?, RowContent?, StorageProbe, term: [UInt8]?, isStranger: Bool = false)
            case neighbour
        }

        /// Finds the row of a name: under the active key, then under those that only open.
        /// - Parameters:
        ///   - inTransaction: Whether the caller holds a transaction. Without one, a search that needs more than one read is not made.
        ///   - computesTerm: Whether the caller is going to replace the row.
        func find(
            _ address: StorageAddress, _ keyset: Keyset, inTransaction: Bool, computesTerm: Bool = false
        ) throws(SQLiteFault) -> Result {
            guard inTransaction || keyset.decryptOnly.isEmpty else { return .needsTransaction }
            func found(_ key: DataKey) throws(SQLiteFault) -> Result {
                let slot = key.slot(of: address, table: DatabaseFormat.table)
                return try find(slot, key, keyset, inTransaction: inTransaction, computesTerm: computesTerm)
            }
            var result = try found(keyset.active)
            for key in keyset.decryptOnly {
                guard case .absent = result else { break }
                result = try found(key)
            }
            return result
        }

        /// Finds a slot's row, going up from its home until there is a gap.
        ///
        /// More than one read is needed only where two names share 62 bits of their slots. A row in between must open and belong to another
        /// slot: a row whose slot was changed is reported as damage, not skipped.
        func find(
            _ slot: [UInt8], _ key: DataKey, _ keyset: Keyset, inTransaction: Bool, computesTerm: Bool = false
        ) throws(SQLiteFault) -> Result {
            var id = Self.home(of: slot)
            while true {
                let step = try row(at: id) { row -> Step in
                    let isAnother = row.slot.map { !$0.elementsEqual(slot) } ?? false
                    let term = computesTerm ? row.term(keyset) : nil
                    return switch row.open(keyset) {
                    case .content where isAnother, .destroyed where isAnother: .neighbour
                    case .content(let content, let revision): .mine(version: row.version, content, content.probe(revision), term: term)
                    case .destroyed:
                        .mine(version: row.version, nil, .corrupt(row.corruption("claims a key that has been destroyed")), term: term)
                    case .damaged(let corruption): .mine(version: row.version, nil, .corrupt(corruption), term: term)
                    case .refused(let error): .mine(version: row.version, nil, .unavailable(error), term: term)
                    case .stranger(let corruption): .mine(version: row.version, nil, .corrupt(corruption), term: term, isStranger: true)
                    }
                }
                switch step {
                case nil: return .absent
                case .neighbour where !inTransaction: return .needsTransaction
                case .neighbour: id += 1
                case .mine(_, _, _, _, isStranger: true) where !inTransaction: return .needsTransaction
                case .mine(let version, let content, let probe, let term, let isStranger):
                    return .found(
                        Found(
                            id: id, version: version, key: key, slot: slot, address: content?.address, probe: probe, isStranger: isStranger,
                            isResealed: content?.keptRevision != nil, term: term))
                }
            }
        }
    }

    extension RowContent {
        /// What a read of the row returns.
        func probe(_ revision: StorageRevision) -> StorageProbe {
            switch kind {
            case .value: .value(StorageRecord(payload: .bytes(payload), metadata: metadata, revision: revision))
            case .tombstone: .tombstone(StorageTombstone(metadata: metadata, revision: revision))
            }
        }
    }
#endif
