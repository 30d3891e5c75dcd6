#if SQLite
    import BackendContract
    import Sealing

    /// What the sealed counts of labels say of the entries that an enumeration has met.
    extension PageReader {
        enum Comparison {
            case whole
            /// The label was changed since its first page, or its damage was reported entry by entry: nothing more can be said.
            case changed
            /// The entries are not those that were written.
            case damaged
        }

        /// Compares all entries of a label with its count.
        func compare(_ met: PageCursor.Walked, _ source: Source) throws(Interruption) -> Comparison {
            let count = try storedCount(source.label, source.key)
            if count == met.genuine { return .whole }
            // What leads nowhere was reported by itself.
            if count == met.all { return .changed }
            let mark = try mark(of: source.label)
            return mark == met.mark ? .damaged : .changed
        }

        /// Whether the entries of a label are those that were written, as far as its count says.
        func isWhole(_ label: [UInt8], _ keyset: Keyset) throws(Interruption) -> Bool {
            let statement = try kept(&slots, "SELECT slot FROM labels WHERE label = ?1 AND slot > ?2 ORDER BY slot")
            for key in [keyset.active] + keyset.decryptOnly {
                try bind { () throws(SQLiteFault) in
                    try statement.bind(label, at: 1)
                    try statement.bind([], at: 2)
                }
                defer { statement.reset() }
                var all = CountedSum()
                while try step(statement) { all.add(key.term(of: statement.bytes(0), under: label)) }
                statement.reset()
                if try storedCount(label, key) == all { return true }
            }
            return false
        }

        /// The count of a label: that of no slots where there is none, nil where it is not one.
        private func storedCount(_ label: [UInt8], _ key: DataKey) throws(Interruption) -> CountedSum? {
            guard let sealed = try sealedCount(label) else { return CountedSum() }
            return key.openCount(sealed, of: label)
        }

        func mark(of label: [UInt8]) throws(Interruption) -> [UInt8] {
            let mark = try sealedCount(label)?.prefix(PageCursor.Walked.markLength) ?? []
            return mark + [UInt8](repeating: 0, count: PageCursor.Walked.markLength - mark.count)
        }

        private func sealedCount(_ label: [UInt8]) throws(Interruption) -> [UInt8]? {
            let statement = try kept(&sealedCounts, "SELECT sealed FROM counts WHERE label = ?1")
            try bind { () throws(SQLiteFault) in try statement.bind(label, at: 1) }
            defer { statement.reset() }
            return try step(statement) ? statement.bytes(0) : nil
        }

        /// How many slots the one label has that answers a query; nil where no single label does.
        func count(_ query: StorageQuery, _ session: DatabaseSession) throws(Interruption) -> Int? {
            guard session.header.isIndexed, query.namespace != .values, query.conditions.count <= 1,
                let label = try choice(query, session.keyset, nil).label, !isFiltered(query, label)
            else {
                return nil
            }
            let statement = try kept(&counting, "SELECT count(*) FROM labels WHERE label = ?1")
            defer { statement.reset() }
            var count = 0
            for key in session.keyset.decryptOnly + [session.keyset.active] {
                let bytes = key.label(of: label.fields)
                try bind { () throws(SQLiteFault) in try statement.bind(bytes, at: 1) }
                let entries = try step(statement) ? statement.integer(0) : 0
                statement.reset()
                guard let stored = try storedCount(bytes, key)?.count, stored == entries else { throw .failed(Self.wrongCount) }
                count += Int(stored)
            }
            return count
        }

        // MARK: Errors

        /// A label whose entries are not those that were written.
        static func missing(_ label: [UInt8]) -> DamagedSlot {
            stray(label, [], "is missing, or was put there by another program")
        }

        private static let wrongCount = BackendError(
            .corrupted,
            "The entries of the table of labels are not those that were written: another program changed them. The pages of the query have the damage by a handle; removing it makes the labels anew from the rows. Nothing was changed."
        )
    }
#endif
