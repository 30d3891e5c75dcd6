#if SQLite
    import BackendContract
    import Sealing

    /// Detection of missing label entries. A label is a property by which values are indexed. An enumeration reads the
    /// entries of a label page by page. At the end, they are compared with the label's sealed count.
    extension PageReader {
        enum Comparison {
            case whole
            /// It is unknown whether the entries were complete. Either the label was changed since its first page was
            /// read, or some of its entries were already reported as damaged.
            case changed
            /// The entries do not match the count.
            case damaged
        }

        /// Compares all entries of a label that an enumeration has read with the label's count.
        func compare(_ met: PageCursor.Walked, _ source: Source) throws(Interruption) -> Comparison {
            let count = try storedCount(source.label, source.key)
            if count == met.genuine { return .whole }
            // The count includes entries that lead to no value. They were reported one by one.
            if count == met.all { return .changed }
            let mark = try mark(of: source.label)
            return mark == met.mark ? .damaged : .changed
        }

        /// Returns whether the entries of a label match its count.
        func isWhole(_ label: [UInt8], _ keyset: Keyset) throws(Interruption) -> Bool {
            let statement = try kept(&slots, "SELECT slot FROM labels WHERE label = ?1 AND slot > ?2 ORDER BY slot")
            for key in [keyset.active] + keyset.decryptOnly {
                try bind { () throws(SQLiteFault) in try statement.bind(label, []) }
                defer { statement.reset() }
                var all = CountedSum()
                while try step(statement) { all.add(key.term(of: statement.bytes(0), under: label)) }
                statement.reset()
                if try storedCount(label, key) == all { return true }
            }
            return false
        }

        /// Returns the count of a label. It is zero if none is stored, and nil if the stored count does not open.
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

        /// Returns the single label that answers a query; nil if no single label does.
        private func label(answering query: StorageQuery, _ session: DatabaseSession) throws(Interruption) -> Label? {
            guard session.header.isIndexed, query.namespace != .values, query.conditions.count <= 1,
                let label = try choice(query, session.keyset, nil).label, !isFiltered(query, label)
            else { return nil }
            return label
        }

        /// Returns the number in the sealed count of the single label that answers a query; nil if no single label
        /// does, or if the count does not open. The entries of the label are not counted.
        func sealedNumber(_ query: StorageQuery, _ session: DatabaseSession) throws(Interruption) -> Int? {
            guard let label = try label(answering: query, session) else { return nil }
            var number = 0
            for key in session.keyset.decryptOnly + [session.keyset.active] {
                guard let stored = try storedCount(key.label(of: label.fields), key)?.count else { return nil }
                number += Int(stored)
            }
            return number
        }

        /// Returns the number of entries of the single label that answers a query; nil if no single label does.
        func count(_ query: StorageQuery, _ session: DatabaseSession) throws(Interruption) -> Int? {
            guard let label = try label(answering: query, session) else { return nil }
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

        /// Describes a label whose entries do not match its count.
        static func missing(_ label: [UInt8]) -> DamagedSlot {
            stray(label, [], "is missing, or was put there by another program")
        }

        private static let wrongCount = BackendError(
            .corrupted,
            "The entries of the table of labels are not those that were written: another program changed them. A page of the query lists the damage with a handle. Removing that damage rebuilds the labels from the rows. Nothing was changed."
        )
    }
#endif
