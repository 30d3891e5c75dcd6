#if SQLite
    import BackendContract
    import Sealing

    /// Pages of queries that cannot use labels, which are the index of a database. Either the database has no labels,
    /// or the query is for a namespace without labels.
    extension PageReader {
        /// Reads a page of all rows, sorted by their slots (keyed hashes of the names). Without labels every row must
        /// be opened.
        ///
        /// The id of a row is its home id, or a higher id if the home id was taken. The home id contains the first bits
        /// of the slot. So rows in the order of their ids are almost sorted by slot. Only rows with consecutive ids
        /// must be sorted.
        func scan(_ request: Request, after slot: [UInt8]?, _ isWanted: () -> Bool) throws(Interruption) -> StoragePage {
            var filling = Filling(request.limit)
            var together: [(slot: [UInt8], found: Found)] = []
            var places = DatabaseScanner.Places()
            var last = slot
            let mark = try mark(request.session.keyset)
            /// Adds the rows of one run of consecutive ids to the page, until the page is full. Returns whether the
            /// page has room for more.
            func take() -> Bool {
                defer { together.removeAll(keepingCapacity: true) }
                for (slot, found) in together.sorted(by: { $0.slot.lexicographicallyPrecedes($1.slot) }) {
                    if let last, !last.lexicographicallyPrecedes(slot) { continue }
                    if filling.isFull { return false }
                    filling.add(found)
                    last = slot
                }
                return !filling.isFull
            }
            let first = try slot.map { (slot) throws(Interruption) in try beginning(of: RowFinder.home(of: slot)) }
            try bind { () throws(SQLiteFault) in try rows.bind(first ?? .min, at: 1) }
            defer { rows.reset() }
            var before: Int64?
            while try step(rows) {
                let id = rows.integer(3)
                if let before, before + 1 != id, !take() { return filling.page(next: last.map { .scan(mark: mark, slot: $0) }) }
                before = id
                filling.look()
                if filling.isTimeToAsk, !isWanted() { throw .ended }
                let row = RawRow(rows, firstColumn: 0)
                let isReachable = places.isReachable(id, row.slot)
                if isReachable, let slot = row.slot, case .content(let content, let revision) = row.open(request.session.keyset) {
                    together.append((Array(slot), Self.found(content, revision, request.query)))
                } else if let corruption = row.damage(isReachable: isReachable, request.session.keyset) {
                    // The slot may be a copy of another row's slot, so the row is sorted by its id.
                    together.append((Self.slot(ofPlace: id), .damaged(row.damagedSlot(at: id, corruption))))
                }
            }
            let isEnd = take()
            return filling.page(next: isEnd ? nil : last.map { .scan(mark: mark, slot: $0) })
        }

        func mark(_ keyset: Keyset) throws(Interruption) -> [UInt8] {
            do throws(BackendError) {
                return PageCursor.mark(keyset, state: keyset.decryptOnly.isEmpty ? nil : try database.bytes(DatabaseFormat.stateQuery))
            } catch {
                throw .failed(error)
            }
        }

        /// Returns the first slot whose home id is the given one.
        private static func slot(ofPlace id: Int64) -> [UInt8] {
            withUnsafeBytes(of: (UInt64(bitPattern: id) << 2).bigEndian) { Array($0) }
                + [UInt8](repeating: 0, count: DataKey.slotLength - 8)
        }

        private static func found(_ content: RowContent, _ revision: StorageRevision, _ query: StorageQuery) -> Found {
            guard content.address.namespace == query.namespace, case .value(let record) = content.probe(revision),
                query.matches(record.metadata)
            else { return .nothing }
            return .entry(StoragePage.Entry(content.address, .record(record)))
        }

        /// Returns the first id of the run of consecutive ids that ends just before the given id.
        private func beginning(of id: Int64) throws(Interruption) -> Int64 {
            do throws(SQLiteFault) { return try finder.beginningOfRun(before: id) } catch { throw .failed(error.backendError()) }
        }
    }
#endif
