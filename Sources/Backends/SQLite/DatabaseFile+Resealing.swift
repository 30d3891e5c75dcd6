#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing

    /// Rows of keys that only open, sealed again with the active key: part by part, each in one transaction under the lock.
    extension DatabaseFile {
        /// What one part came to.
        struct Resealed: Sendable {
            /// The rows that were sealed again.
            var rows = 0
            /// The rows that name such a key, and are none that a read of their name finds: they were left as they are.
            var damaged = 0
            /// Where the next part begins; nil at the end.
            var next: Int64?
        }

        /// Seals some rows again; their revisions stay. In the order of their slots, so that pages can tell which they have met.
        /// - Parameters:
        ///   - id: The place to begin at.
        ///   - limit: How many rows to look at.
        ///   - session: The database, with the keys that it has now.
        /// - Returns: Nil when file or keys have changed since the session was opened.
        func reseal(
            from id: Int64, limit: Int, _ session: DatabaseSession, deadline: MonotonicInstant
        ) throws(BackendError) -> Resealed? {
            try locked(deadline: deadline) { () throws(BackendError) -> Resealed? in
                guard let writer = try writer(deadline: deadline) else { return nil }
                var result: Resealed?
                try writer.transaction(deadline: deadline) { header in
                    !isLocked && session.file == writer.file && session.header == header ? session.keyset : nil
                } _: { (rows) throws(BackendError) in
                    let part = try reseal(from: id, limit, rows)
                    result = part
                    return part.rows > 0
                }
                guard let part = result else { return nil }
                if part.rows > 0 {
                    try confirm(writer.file)
                    writer.scrubIfNeeded(deadline: min(deadline, clock.now.advanced(by: Self.scrubLimit)))
                }
                return part
            }
        }

        private func reseal(from id: Int64, _ limit: Int, _ rows: DatabaseWriter.Rows) throws(BackendError) -> Resealed {
            guard let (found, next) = try rows.older(from: id, limit) else { return Resealed() }
            var part = Resealed(next: next)
            for old in found {
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
            // A row that was above one of these because its place was taken may have moved to it.
            if part.rows > 0 { part.next = min(part.next ?? .max, found.map(\.id).min() ?? id) }
            return part
        }

        /// Gives the database another id, in one transaction. Every row is sealed again with a new key, and every earlier key is destroyed. A damaged row
        /// is not changed. Reads report it as damaged.
        /// - Parameters:
        ///   - header: The header that is replaced.
        ///   - change: The new header, with the keys of both headers.
        ///   - onProgress: Called after each part of the rows.
        /// - Returns: Whether it is done; false when the header is another one by now.
        func reidentify(
            _ header: DatabaseHeader, _ change: HeaderChange, deadline: MonotonicInstant, onProgress: () -> Void
        ) throws(BackendError) -> Bool {
            try locked(deadline: deadline) { () throws(BackendError) -> Bool in
                guard let writer = try writer(deadline: deadline) else { return false }
                var isDone = false
                try writer.transaction(deadline: deadline) { current in
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
                    isDone = true
                    return true
                }
                guard isDone else { return false }
                try confirm(writer.file)
                writer.scrubIfNeeded(deadline: min(deadline, clock.now.advanced(by: Self.scrubLimit)))
                return true
            }
        }

        /// How many rows are looked at before progress is reported.
        private static let partLength = 500

        /// Destroys the keys that only open, once no row needs them: their wraps are overwritten in the file and in its log.
        /// - Parameters:
        ///   - header: The header without these keys, and its keyset.
        /// - Returns: Nil when file or keys have changed since the session was opened, or a row needs one of the keys; else whether the log is overwritten too.
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

        /// How long readers of an older state are waited for, so that their log can be overwritten.
        private static let destructionLimit = Duration.seconds(2)
    }

    extension RowContent {
        /// The content of a row that was found and opened; nil for damage.
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
        /// A row of a key that only opens.
        fileprivate struct Older {
            let id: Int64
            let slot: [UInt8]
            /// Nil for a row that does not open.
            let address: StorageAddress?
            let revision: StorageRevision?
        }

        /// After how many bytes of rows a part ends.
        private static let partLength = 4 << 20

        /// The next rows of keys that only open, in the order of their slots.
        /// - Returns: The rows, and where to go on, or nil at the end; nil when there is no row of another key than the active one.
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
            // Rows without a gap between them are in no order: they stay together.
            if next != nil, let cut = ids.indices.dropFirst().last(where: { ids[$0] != ids[$0 - 1] + 1 }) {
                next = ids[cut]
                found.removeAll { $0.id >= ids[cut] }
            }
            return (found.sorted { $0.slot.lexicographicallyPrecedes($1.slot) }, next)
        }

        /// The row that a read of a name finds.
        fileprivate func row(of address: StorageAddress) throws(BackendError) -> RowFinder.Found? {
            do throws(SQLiteFault) {
                guard case .found(let row) = try finder.find(address, keyset, inTransaction: true, computesTerm: true) else { return nil }
                return row
            } catch {
                throw error.backendError()
            }
        }

        /// Whether any row names a key.
        fileprivate func holdsRow(of key: DataKey) throws(BackendError) -> Bool {
            try finder.database.number(
                "SELECT count(*) FROM records WHERE substr(sealed, 1, 9) = x'\(hexadecimalText(of: [SealedRow.format] + key.id))'") > 0
        }
    }
#endif
