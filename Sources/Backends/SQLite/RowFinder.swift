#if SQLite
    import BackendContract
    import Sealing

    /// Finds rows by their slot on one connection, with a statement that is kept. Used by one caller at a time.
    final class RowFinder {
        /// A row that answers to a slot.
        struct Found {
            /// Where it stands.
            let id: Int64
            /// Nil in a row that is damaged beyond having one.
            let version: Int64?
            /// The key whose slot it answers to.
            let key: DataKey
            /// The name in it; nil in a row that does not open.
            let address: StorageAddress?
            let probe: StorageProbe
        }

        /// What a search came to.
        enum Result {
            case found(Found)
            case absent
            /// A row was met whose key the keyset does not have.
            case unknownKey([UInt8])
            /// One look does not do: the search has to be made again on one state of the database.
            case needsTransaction
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

        /// The first place where a slot's row may stand: 62 bits of it, so that going up never runs out.
        static func home(of slot: some Sequence<UInt8>) -> Int64 { Int64(slot.prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) } >> 2) }

        /// Looks at one place.
        /// - Returns: What `body` makes of the row there; nil where none is.
        func row<R>(at id: Int64, _ body: (RawRow) -> R) throws(SQLiteFault) -> R? {
            statement.bind(id, at: 1)
            defer { statement.reset() }
            return try statement.step() ? body(RawRow(statement, firstColumn: 0)) : nil
        }

        private enum Step {
            case mine(version: Int64?, StorageAddress?, StorageProbe)
            case unknownKey([UInt8])
            case neighbour
        }

        /// Looks for the row of a name: under the active key, then under those that only open.
        /// - Parameter isStill: Whether the caller holds a transaction. Without one, a search that takes more than one look is not made.
        func find(_ address: StorageAddress, _ keyset: Keyset, isStill: Bool) throws(SQLiteFault) -> Result {
            guard isStill || keyset.decryptOnly.isEmpty else { return .needsTransaction }
            var result = try find(keyset.active.slot(of: address, table: DatabaseFormat.table), keyset.active, keyset, isStill: isStill)
            for key in keyset.decryptOnly {
                guard case .absent = result else { break }
                result = try find(key.slot(of: address, table: DatabaseFormat.table), key, keyset, isStill: isStill)
            }
            return result
        }

        /// Looks for a slot's row, going up from its home without a gap.
        ///
        /// More than one look is needed only where two names share 62 bits of their slots. What stands in the way must be a whole row of its own: a row whose
        /// slot was changed is reported as the damage it is, not passed over.
        func find(_ slot: [UInt8], _ key: DataKey, _ keyset: Keyset, isStill: Bool) throws(SQLiteFault) -> Result {
            var id = Self.home(of: slot)
            while true {
                let step = try row(at: id) { row -> Step in
                    let isAnother = row.slot.map { !$0.elementsEqual(slot) } ?? false
                    return switch row.open(keyset) {
                    case .content where isAnother, .destroyed where isAnother: .neighbour
                    case .content(let content, let revision): .mine(version: row.version, content.address, content.probe(revision))
                    case .destroyed: .mine(version: row.version, nil, .corrupt(row.corruption("claims a key that has been destroyed")))
                    case .damaged(let corruption): .mine(version: row.version, nil, .corrupt(corruption))
                    case .refused(let error): .mine(version: row.version, nil, .unavailable(error))
                    case .unknownKey(let id): .unknownKey(id)
                    }
                }
                switch step {
                case nil: return .absent
                case .neighbour where !isStill: return .needsTransaction
                case .neighbour: id += 1
                case .unknownKey(let id): return .unknownKey(id)
                case .mine(let version, let address, let probe):
                    return .found(Found(id: id, version: version, key: key, address: address, probe: probe))
                }
            }
        }
    }

    extension RowContent {
        /// What a look at the row finds.
        func probe(_ revision: StorageRevision) -> StorageProbe {
            switch kind {
            case .value: .value(StorageRecord(payload: .bytes(payload), metadata: metadata, revision: revision))
            case .tombstone: .tombstone(StorageTombstone(metadata: metadata, revision: revision))
            }
        }
    }
#endif
