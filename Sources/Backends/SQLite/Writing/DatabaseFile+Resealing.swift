#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// Resealing: rows that were sealed with a decrypt-only key are sealed again with the active key. A decrypt-only
    /// key opens older rows but seals no new ones. The rows are resealed in parts. A part is a range of row ids, and is
    /// one transaction under the lock.
    extension DatabaseFile {
        /// The result of resealing one part of the rows.
        struct Resealed: Sendable {
            /// The number of rows that were resealed.
            var rows = 0
            /// The number of rows of a decrypt-only key that are damaged: they do not open, or a read of their name
            /// does not find them. They were left unchanged.
            var damaged = 0
            /// The id at which the next part begins; nil at the end.
            var next: Int64?
        }

        /// Reseals some rows and keeps their revisions. The rows are processed in the order of their slots (keyed
        /// hashes of their names). So a query that reads page by page can determine which of them it has already
        /// listed.
        /// - Parameters:
        ///   - id: The first id to check.
        ///   - limit: The maximum number of rows to check.
        ///   - session: The session, which is the open database with its current keys.
        /// - Returns: The result; nil if file or keys have changed since the session was opened.
        func reseal(
            from id: Int64, limit: Int, _ session: DatabaseSession, deadline: MonotonicInstant
        ) throws(BackendError) -> Resealed? {
            try transaction(deadline: deadline) { file, header in
                !isLocked && session.file == file && session.header == header ? session.keyset : nil
            } _: { (rows) throws(BackendError) in
                let part = try reseal(from: id, limit, rows)
                return (part, isChanged: part.rows > 0)
            }
        }

        /// Runs one transaction under the lock. After a change, it confirms that the file was not replaced, and scrubs the log.
        /// - Parameters:
        ///   - keyset: Returns the keys for the header of a file; nil to do nothing.
        ///   - body: Returns the result, and whether it changed something.
        /// - Returns: The result; nil if there is no file or no keyset.
        func transaction<R>(
            deadline: MonotonicInstant, keyset: (FileID, DatabaseHeader) -> Keyset?,
            _ body: (DatabaseWriter.Rows) throws(BackendError) -> (result: R, isChanged: Bool)
        ) throws(BackendError) -> R? {
            try locked(deadline: deadline) { () throws(BackendError) -> R? in
                guard let writer = try writer(deadline: deadline) else { return nil }
                var done: (result: R, isChanged: Bool)?
                try writer.transaction(deadline: deadline) {
                    keyset(writer.file, $0)
                } _: { (rows) throws(BackendError) in
                    let made = try body(rows)
                    done = made
                    return made.isChanged
                }
                if done?.isChanged == true {
                    try confirm(writer.file)
                    writer.scrubIfNeeded(deadline: min(deadline, clock.now.advanced(by: Self.scrubLimit)))
                }
                return done?.result
            }
        }

        private func reseal(from id: Int64, _ limit: Int, _ rows: DatabaseWriter.Rows) throws(BackendError) -> Resealed {
            guard let (found, next) = try rows.older(from: id, limit) else { return Resealed() }
            var part = Resealed(next: next)
            for old in found {
                // Reason: "A resealed row keeps its revision" in Docs/Decisions/Keys.md.
                guard let address = old.address, let row = try rows.row(of: address), row.probe.revision == old.revision,
                    row.key.id != rows.keyset.active.id, var content = RowContent(row)
                else {
                    part.damaged += 1
                    continue
                }
                content.keptRevision = old.revision
                _ = try write(content, over: row, rows.keyset, rows)
                part.rows += 1
            }
            // The resealed rows have left their ids. Rows with higher ids may have moved there. So the next part begins
            // at the lowest id of this part's rows.
            if part.rows > 0 { part.next = min(part.next ?? .max, found.map(\.id).min() ?? id) }
            return part
        }

        /// Gives the database another id in one transaction. Every row is resealed with a new key, and every earlier
        /// key is destroyed. A damaged row is left unchanged, and reads report it as damaged.
        /// - Parameters:
        ///   - header: The header to replace.
        ///   - change: The new header, with the keys before and after the change.
        ///   - onProgress: Called after each part of the rows.
        /// - Returns: Whether the id was changed; false if the database has another header now.
        func reidentify(
            _ header: DatabaseHeader, _ change: HeaderChange, deadline: MonotonicInstant, onProgress: () -> Void
        ) throws(BackendError) -> Bool {
            let isDone = try transaction(deadline: deadline) { _, current in
                current == header ? change.before : nil
            } _: { (rows) throws(BackendError) in
                rows.keyset = Keyset(replacing: change.before, by: change.after)
                var (id, hasMoved) = (Int64.min, false)
                while true {
                    let part = try reseal(from: id, Self.partLength, rows)
                    onProgress()
                    hasMoved = hasMoved || part.rows > 0
                    if let next = part.next {
                        id = next
                    } else if hasMoved {
                        (id, hasMoved) = (.min, false)
                    } else {
                        break
                    }
                }
                for key in rows.keyset.decryptOnly { try rows.labels?.purge(key) }
                try rows.replaceHeader(change.header, change.after)
                rows.state.reidentify()
                rows.hasRemoved = true
                return (true, isChanged: true)
            }
            return isDone == true
        }

        /// The maximum number of rows to check before progress is reported.
        private static let partLength = 500

        /// Destroys the decrypt-only keys if no row needs them. Their wrapped copies are overwritten in the file and in
        /// its write-ahead log.
        /// - Parameters:
        ///   - change: The header without these keys, with the keys before and after the change.
        /// - Returns: Whether the old bytes in the log were overwritten too. Nil if nothing was changed, because a row
        ///   needs one of the keys, or file or keys have changed since the session was opened.
        func deleteOlderKeys(
            _ session: DatabaseSession, _ change: HeaderChange, deadline: MonotonicInstant
        ) throws(BackendError) -> Bool? {
            try locked(deadline: deadline) { () throws(BackendError) -> Bool? in
                guard let writer = try writer(deadline: deadline) else { return nil }
                var isDone = false
                try writer.transaction(deadline: deadline) { header in
                    !isLocked && session.file == writer.file && session.header == header ? session.keyset : nil
                } _: { (rows) throws(BackendError) in
                    for key in rows.keyset.decryptOnly {
                        if try rows.holdsRow(of: key) { return false }
                        try rows.labels?.purge(key)
                    }
                    try rows.replaceHeader(change.header, change.after)
                    rows.hasRemoved = true
                    isDone = true
                    return true
                }
                guard isDone else { return nil }
                try confirm(writer.file)
                return writer.scrub(until: min(deadline, clock.now.advanced(by: Self.destructionLimit)))
            }
        }

        /// How long to wait for readers of an older state, so that the log can be overwritten.
        private static let destructionLimit = Duration.seconds(2)
    }

    extension RowContent {
        /// Creates the content to seal again from a row that a search found; nil if the row is damaged.
        fileprivate init?(_ row: RowFinder.Found) {
            guard let address = row.address else { return nil }
            switch row.probe {
            case .value(let record):
                guard case .bytes(let payload) = record.payload else { return nil }
                self.init(address, .value, record.metadata, payload: payload)
            case .tombstone(let tombstone): self.init(address, .tombstone, tombstone.metadata)
            case .absent, .locked, .unavailable, .corrupt: return nil
            }
        }
    }

    extension DatabaseWriter.Rows {
        /// A row that was sealed with a decrypt-only key.
        fileprivate struct Older {
            let id: Int64
            let slot: [UInt8]
            /// Nil if the row does not open.
            let address: StorageAddress?
            let revision: StorageRevision?
        }

        /// When the rows of a part have this number of bytes, the part ends.
        private static let partLength = 4 << 20

        /// Returns the rows of one part that were sealed with a decrypt-only key, sorted by their slots.
        /// - Parameters:
        ///   - id: The first id to check.
        ///   - limit: The maximum number of rows to check.
        /// - Returns: Nil if all rows from `id` on were sealed with the active key. Otherwise `rows`, and in `next` the
        ///   id at which the next part begins; `next` is nil if this part is the last one.
        fileprivate func older(from id: Int64, _ limit: Int) throws(BackendError) -> (rows: [Older], next: Int64?)? {
            let active = hexadecimalText(of: keyset.active.id)
            var first: Int64?
            try finder.database.rows(
                "SELECT id FROM records WHERE id >= \(id) AND substr(sealed, 2, 8) != x'\(active)' ORDER BY id LIMIT 1"
            ) { (statement) throws(BackendError) in first = statement.integer(0) }
            guard let first else { return nil }
            var found: [Older] = []
            var ids: [Int64] = []
            var bytes = 0
            var end: Int64?
            try finder.database.rows(
                "SELECT slot, version, sealed, id FROM records WHERE id >= \(first) ORDER BY id LIMIT \(max(limit, 1))"
            ) { (statement) throws(BackendError) in
                let id = statement.integer(3)
                if bytes > Self.partLength { end = end ?? id }
                if end != nil { return }
                let row = RawRow(statement, firstColumn: 0)
                bytes += row.sealed?.count ?? 0
                ids.append(id)
                guard let key = row.key(keyset), key.id != keyset.active.id else { return }
                var content: (address: StorageAddress, revision: StorageRevision)?
                if case .content(let opened, let revision) = row.open(keyset) { content = (opened.address, revision) }
                found.append(
                    Older(id: id, slot: row.slot.map { Array($0) } ?? [], address: content?.address, revision: content?.revision))
            }
            var next = end ?? (ids.count < limit ? nil : ids.last.map { $0 + 1 })
            // Rows with consecutive ids can have their slots in any order. So they must be in the same part, which is
            // sorted below.
            if next != nil, let cut = ids.indices.dropFirst().last(where: { ids[$0] != ids[$0 - 1] + 1 }) {
                next = ids[cut]
                found.removeAll { $0.id >= ids[cut] }
            }
            return (found.sorted { $0.slot.lexicographicallyPrecedes($1.slot) }, next)
        }

        /// Returns the row that a read of this name would find; nil if it would find none.
        fileprivate func row(of address: StorageAddress) throws(BackendError) -> RowFinder.Found? {
            let found = try onDatabase { () throws(SQLiteFault) in
                try finder.find(address, keyset, inTransaction: true, computesTerm: true)
            }
            return if case .found(let row) = found { row } else { nil }
        }

        /// Returns whether any row was sealed with this key, according to the key id in the row.
        fileprivate func holdsRow(of key: DataKey) throws(BackendError) -> Bool {
            try finder.database.number(
                "SELECT count(*) FROM records WHERE substr(sealed, 1, 9) = x'\(hexadecimalText(of: [SealedRow.format] + key.id))'") > 0
        }
    }
#endif
