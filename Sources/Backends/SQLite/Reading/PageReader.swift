#if SQLite
    import BackendContract
    import Sealing

    /// Reads pages of query results on one connection, inside the caller's transaction. Only one caller uses it at a
    /// time.
    final class PageReader {
        /// The query, the maximum number of entries and the session (the open database with its keys) of a page.
        struct Request {
            let query: StorageQuery
            let limit: Int
            let session: DatabaseSession
        }

        /// The reason why a page was not completed.
        enum Interruption: Error {
            /// The caller has stopped waiting, or the database is being closed.
            case ended
            case failed(BackendError)
        }

        let database: Connection
        let finder: RowFinder
        let rows: Statement
        /// Prepared when first needed, because only a database with labels (an index for queries) has their tables.
        var slots: Statement?
        private var earlier: Statement?
        var counting: Statement?
        var sealedCounts: Statement?
        var anyEntry: Statement?

        init(_ database: Connection) throws(SQLiteFault) {
            self.database = database
            try database.execute(DatabaseFormat.sorting)
            finder = try RowFinder(database)
            rows = try database.keptStatement("SELECT slot, version, sealed, id FROM records WHERE id >= ?1 ORDER BY id")
        }

        /// The limits of a page. The number of bytes limits the memory of the page. The number of rows that are read
        /// for the page limits its time.
        static let (maximumBytes, maximumRows) = (4 << 20, 16_384)

        /// The result of reading one row or one label entry.
        enum Found {
            case entry(StoragePage.Entry)
            case damaged(DamagedSlot)
            /// An entry of the table of labels that leads to no value with the label.
            case stray(DamagedSlot)
            case nothing

            var isStray: Bool { if case .stray = self { true } else { false } }
        }

        /// A page that is being filled.
        struct Filling {
            let limit: Int
            private(set) var entries: [StoragePage.Entry] = []
            private(set) var damaged: [DamagedSlot] = []
            private var bytes = 0
            private var rows = 0

            init(_ limit: Int) { self.limit = max(limit, 1) }

            mutating func look() { rows += 1 }

            mutating func add(_ found: Found) {
                switch found {
                case .entry(let entry):
                    entries.append(entry)
                    bytes += entry.record.map { $0.payload.byteCount + $0.metadata.byteCount } ?? 0
                case .damaged(let slot), .stray(let slot):
                    damaged.append(slot)
                    bytes += slot.corruption.bytes.count
                case .nothing: return
                }
            }

            /// Returns the page.
            /// - Parameter isComplete: Whether no value was left out, if this is the last page.
            func page(next: PageCursor?, isComplete: Bool = true) -> StoragePage {
                StoragePage(entries, damaged: damaged, next: next?.cursor, isComplete: next == nil && isComplete)
            }

            var isFull: Bool { entries.count + damaged.count >= limit || bytes >= maximumBytes || rows >= maximumRows }
            var isTimeToAsk: Bool { rows % 64 == 0 }
        }

        /// Reads a page of a query.
        /// - Parameter isWanted: Called regularly. If it returns false, reading ends.
        func page(
            _ request: Request, after cursor: StorageCursor?, isWanted: () -> Bool
        ) throws(Interruption) -> StoragePage {
            let start: PageCursor?
            do throws(BackendError) { start = try cursor.map { (cursor) throws(BackendError) in try PageCursor(cursor) } } catch {
                throw .failed(error)
            }
            let isIndexed = request.session.header.isIndexed && request.query.namespace != .values
            switch start {
            case .scan(let mark, let slot):
                // A row that was resealed (sealed again with another key) has another slot, and so another position in
                // the list. Without labels it is unknown which rows were already listed.
                guard try mark == self.mark(request.session.keyset) else { throw .failed(Self.otherKeys) }
                return try scan(request, after: slot, isWanted)
            case .label(let position):
                guard isIndexed else { throw .failed(StorageCursor.stranger) }
                return try walk(request, after: position, isWanted)
            case nil: return isIndexed ? try walk(request, after: nil, isWanted) : try scan(request, after: nil, isWanted)
            }
        }

        // MARK: Labels

        /// A label whose entries are read in the order of their slots.
        struct Source {
            let key: DataKey
            let day: Int64
            let label: [UInt8]
            /// The condition that every value with the label meets.
            var condition: StorageQuery.Condition?
            /// Whether the label is that of a day.
            var isOfDay = false
        }

        /// The place in the labels of a query from which a page is read.
        private struct Start {
            /// The labels that are still to be read.
            var sources: ArraySlice<Source>
            /// The slot of the first label after which the page begins.
            var slot: [UInt8] = []
            /// The part of the first label that the previous pages read.
            var walked: PageCursor.Walked?
            /// The ranges of slots that the previous pages listed.
            var met: [PageCursor.Met] = []
        }

        /// Returns where the page after a position begins.
        private func start(
            after position: PageCursor.Position, in sources: [Source], tag: [UInt8], _ keyset: Keyset
        ) throws(Interruption) -> Start {
            // The previous page ended at `position`. If only other keys have changed, the labels of the position's
            // key are still the same.
            let isSame = position.tag == tag
            guard isSame || ([position.key] + position.met.map(\.key)).allSatisfy({ keyset.key($0) != nil }) else {
                throw .failed(Self.otherKeys)
            }
            // Skip the labels of earlier days, because the previous page read them to the end. Continue in the
            // label of the position's day, after the position's slot.
            let place = sources.firstIndex { $0.key.id == position.key && $0.day >= position.day }
            let next = place ?? sources.lastIndex { $0.key.id == position.key }.map { $0 + 1 }
            var start = Start(
                sources: sources[(next ?? sources.startIndex)...], slot: position.slot, walked: position.walked, met: position.met)
            guard let first = start.sources.first, first.key.id == position.key, first.day == position.day, first.label == position.label
            else { throw .failed(isSame ? StorageCursor.stranger : Self.otherKeys) }
            if !isSame || !keyset.decryptOnly.isEmpty, try !hasEntry(first.label, upTo: start.slot) {
                // Rows after the slot may have been resealed too, so this page does not extend the last range of
                // listed slots.
                start.met.append(PageCursor.Met(key: [], first: [], last: []))
            }
            return start
        }

        private func walk(
            _ request: Request, after position: PageCursor.Position?, _ isWanted: () -> Bool
        ) throws(Interruption) -> StoragePage {
            var filling = Filling(request.limit)
            let (query, session) = (request.query, request.session)
            let tag = PageCursor.tag(session.header)
            let choice = try choice(query, session.keyset, position)
            let (all, strayDays, areDaysWhole) = try sources(query, choice, session.keyset)
            var start = Start(sources: all[...])
            if let position {
                start = try self.start(after: position, in: all, tag: tag, session.keyset)
            } else {
                for stray in strayDays { filling.add(.damaged(stray)) }
            }
            var isWhole = start.walked?.isWhole ?? true
            let statement = try kept(&slots, "SELECT slot FROM labels WHERE label = ?1 AND slot > ?2 ORDER BY slot")
            for source in start.sources {
                try bind { () throws(SQLiteFault) in try statement.bind(source.label, start.slot) }
                start.slot = []
                defer { statement.reset() }
                var walk = PageCursor.Walked(mark: [], isWhole: isWhole)
                if let before = start.walked { walk = before } else { walk.mark = try mark(of: source.label) }
                start.walked = nil
                while try step(statement) {
                    filling.look()
                    if filling.isTimeToAsk, !isWanted() { throw .ended }
                    let slot = statement.bytes(0)
                    let found = try found(at: slot, source, query, session.keyset, start.met)
                    filling.add(found)
                    start.met.note(slot, of: source.key)
                    let term = source.key.term(of: slot, under: source.label)
                    walk.all.add(term)
                    if !found.isStray { walk.genuine.add(term) }
                    // A cursor must contain a slot, so the page can end only at a valid one.
                    if filling.isFull, slot.count == DataKey.slotLength {
                        guard start.met.count <= PageCursor.Met.maximum else { throw .failed(Self.otherKeys) }
                        let place = PageCursor.Position(
                            tag: tag, key: source.key.id, day: source.day, label: source.label, slot: slot, walked: walk, met: start.met)
                        return filling.page(next: .label(place))
                    }
                }
                switch try compare(walk, source) {
                case .whole: break
                case .changed: isWhole = false
                case .damaged:
                    isWhole = false
                    filling.add(.damaged(Self.missing(source.label)))
                }
            }
            return filling.page(next: nil, isComplete: isWhole && areDaysWhole && choice.isWhole)
        }

        /// Returns the labels to read for a query. They are chosen so that probably few values must be checked. The
        /// labels of decrypt-only keys, which seal no new rows, come first. A value that is resealed during the
        /// enumeration is then found later, among the values of the active key.
        private func sources(
            _ query: StorageQuery, _ choice: LabelChoice, _ keyset: Keyset
        ) throws(Interruption) -> (sources: [Source], strays: [DamagedSlot], areDaysWhole: Bool) {
            var sources: [Source] = []
            var strays: [DamagedSlot] = []
            var areDaysWhole = true
            for key in keyset.decryptOnly + [keyset.active] {
                // While rows are being resealed, use a single label for each key.
                // Reason: "An enumeration lists a resealed row once" in Docs/Decisions/Keys.md.
                if let label = choice.label ?? (keyset.decryptOnly.isEmpty ? nil : .all(query.namespace)) {
                    sources.append(Source(key: key, day: 0, label: key.label(of: label.fields), condition: choice.condition))
                } else {
                    let days = try days(query, key)
                    strays += days.strays
                    areDaysWhole = areDaysWhole && days.isWhole
                    sources += days.known.map { day in
                        Source(key: key, day: day, label: key.label(of: Label.day(day, query.namespace).fields), isOfDay: true)
                    }
                }
            }
            return (sources, strays, areDaysWhole)
        }

        /// Returns the days on which values of the query may have been changed, the earliest first, and the invalid
        /// entries.
        private func days(
            _ query: StorageQuery, _ key: DataKey
        ) throws(Interruption) -> (known: [Int64], strays: [DamagedSlot], isWhole: Bool) {
            var first = Int64.min
            for case .modified(let since) in query.conditions {
                guard let day = Label.day(of: since) else { return ([], [], true) }
                first = max(first, day)
            }
            let label = key.label(of: Label.days(query.namespace).fields)
            let statement = try kept(&slots, "SELECT slot FROM labels WHERE label = ?1 AND slot > ?2 ORDER BY slot")
            try bind { () throws(SQLiteFault) in try statement.bind(label, []) }
            var met = PageCursor.Walked(mark: try mark(of: label), isWhole: true)
            defer { statement.reset() }
            var days: [Int64] = []
            var strays: [DamagedSlot] = []
            while try step(statement) {
                let entry = statement.bytes(0)
                let term = key.term(of: entry, under: label)
                met.all.add(term)
                if let day = key.day(hiddenIn: entry, under: label) {
                    met.genuine.add(term)
                    if day >= first { days.append(day) }
                } else {
                    strays.append(Self.stray(label, entry, "is not a valid day"))
                }
            }
            let comparison = try compare(met, Source(key: key, day: 0, label: label))
            if case .damaged = comparison { strays.append(Self.missing(label)) }
            var isWhole = false
            if case .whole = comparison { isWhole = true }
            return (days.sorted(), strays, isWhole)
        }

        /// Reads the row that a label entry leads to. The result is `nothing` if the value does not meet the other
        /// conditions, or was already listed.
        private func found(
            at slot: [UInt8], _ source: Source, _ query: StorageQuery, _ keyset: Keyset, _ met: [PageCursor.Met]
        ) throws(Interruption) -> Found {
            func stray(_ how: String) -> Found { .stray(Self.stray(source.label, slot, how)) }
            guard slot.count == DataKey.slotLength else { return stray("names no slot") }
            do throws(SQLiteFault) {
                switch try finder.find(slot, source.key, keyset, inTransaction: true) {
                case .absent, .needsTransaction: return stray("names a slot without a row")
                case .found(let row):
                    switch row.probe {
                    case .value(let record):
                        // The table of labels is not authenticated, so check the row itself.
                        guard let address = row.address, address.namespace == query.namespace, isUnder(source, record.metadata)
                        else { return stray("names a row of another kind") }
                        if row.isResealed, wasMet(address, source, keyset, met) { return .nothing }
                        return query.matches(record.metadata) ? .entry(StoragePage.Entry(address, .record(record))) : .nothing
                    case .tombstone, .absent, .locked: return stray("names a row without a value")
                    case .corrupt, .unavailable: break
                    }
                }
                return try finder.damage(of: slot, keyset).map(Found.damaged) ?? stray("names a slot without a row")
            } catch {
                throw .failed(error.readError())
            }
        }

        /// Returns whether a row was already listed under its previous key.
        private func wasMet(_ address: StorageAddress, _ source: Source, _ keyset: Keyset, _ met: [PageCursor.Met]) -> Bool {
            for key in keyset.decryptOnly where key.id != source.key.id {
                let older = met.filter { $0.key == key.id }
                if older.isEmpty { continue }
                let slot = key.slot(of: address, table: DatabaseFormat.table)
                if older.contains(where: { $0.contains(slot) }) { return true }
            }
            return false
        }

        /// Returns whether a label has an entry at a slot or before it.
        private func hasEntry(_ label: [UInt8], upTo slot: [UInt8]) throws(Interruption) -> Bool {
            let statement = try kept(&earlier, "SELECT 1 FROM labels WHERE label = ?1 AND slot <= ?2 LIMIT 1")
            try bind { () throws(SQLiteFault) in try statement.bind(label, slot) }
            defer { statement.reset() }
            return try step(statement)
        }

        /// Returns the damage at a location, which the user identified by a damage handle; nil if there is no damage.
        func damage(at place: DamagePlace, _ session: DatabaseSession) throws(Interruption) -> StorageCorruption? {
            if case .label(let label, let slot) = place, slot.isEmpty {
                guard session.header.isIndexed, try !isWhole(label, session.keyset) else { return nil }
                return Self.missing(label).corruption
            }
            do throws(SQLiteFault) {
                switch place {
                case .row(let id, _):
                    return try finder.damage(at: id, session.keyset).flatMap { $0.row.handle == place.handle ? $0.row.corruption : nil }
                case .label(let label, let slot):
                    guard session.header.isIndexed else { return nil }
                    let statement = try database.statement("SELECT 1 FROM labels WHERE label = ?1 AND slot = ?2")
                    defer { statement.finalize() }
                    guard try statement.hasRow(label, slot), try finder.isStray(label, slot, session.keyset) else { return nil }
                    return Self.stray(label, slot, "names no value that has the label").corruption
                }
            } catch {
                throw .failed(error.readError())
            }
        }

        private func isUnder(_ source: Source, _ metadata: StorageMetadata) -> Bool {
            if source.isOfDay { return metadata.modifiedAt.flatMap(Label.day) == source.day }
            guard let condition = source.condition else { return true }
            if case .attribute = condition, !metadata.indexesAttributes { return false }
            return condition.matches(metadata)
        }

        // MARK: Statements

        func bind(_ body: () throws(SQLiteFault) -> Void) throws(Interruption) {
            do throws(SQLiteFault) { try body() } catch { throw .failed(error.backendError()) }
        }

        func kept(_ statement: inout Statement?, _ sql: String) throws(Interruption) -> Statement {
            if let statement { return statement }
            do throws(SQLiteFault) {
                let made = try database.keptStatement(sql)
                statement = made
                return made
            } catch {
                throw .failed(error.backendError())
            }
        }

        /// Steps to the next row. Returns false after the last row.
        func step(_ statement: Statement) throws(Interruption) -> Bool {
            do throws(SQLiteFault) { return try statement.step() } catch { throw .failed(error.readError()) }
        }

        // MARK: Errors

        /// Describes an entry of the table of labels that was damaged, or changed by another program.
        static func stray(_ label: [UInt8], _ slot: [UInt8], _ how: String) -> DamagedSlot {
            DamagedSlot(
                DamagePlace.label(label, slot: slot).handle,
                StorageCorruption(bytes: label + slot, revision: nil, reason: "an entry of the table of labels \(how)"))
        }

        private static let otherKeys = BackendError(
            .unsupported, "The database's keys have changed since the first page. Begin again with the first page.")
    }

    extension [PageCursor.Met] {
        /// Extends the range of the key's listed slots to a slot.
        fileprivate mutating func note(_ slot: [UInt8], of key: DataKey) {
            if let last = indices.last, self[last].key == key.id {
                self[last].last = slot
            } else {
                if last?.key.isEmpty == true { removeLast() }
                append(PageCursor.Met(key: key.id, first: slot, last: slot))
            }
        }
    }
#endif
