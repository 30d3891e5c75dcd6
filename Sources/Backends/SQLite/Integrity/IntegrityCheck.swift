#if SQLite
    import BackendContract
    import Sealing

    /// Checks a whole database in one read transaction. It opens every row, and compares all rows with the sealed
    /// state, which has their number and a sum of keyed hashes. It also compares the entries of every label with the
    /// label's sealed count and with the rows. Labels are the properties by which queries find rows.
    struct IntegrityCheck {
        typealias Interruption = PageReader.Interruption

        let session: DatabaseSession
        let connection: Connection

        /// Called regularly, with the progress of the check of rows. It throws to end the check.
        typealias Pause = (IntegrityProgress?) throws(Interruption) -> Void

        private var keyset: Keyset { session.keyset }

        /// The number of rows after which progress is reported.
        private static let stride = 256

        /// Runs all checks.
        func report(_ pause: Pause) throws(Interruption) -> IntegrityReport {
            let state = try state()
            let rows = try rows(pause)
            return IntegrityReport(
                commits: state?.commits, rows: rows.found, expectedRows: state.map { Int(clamping: $0.rows.count) },
                areRowsWhole: state?.rows == rows.sum, damagedRows: rows.damaged, rowsOfDestroyedKeys: rows.destroyed,
                damagedLabels: session.header.isIndexed ? try labels(of: rows, pause) : 0)
        }

        /// Returns whether the rows match the sealed state. Opens no row.
        func hasRowsAsWritten(_ pause: Pause) throws(Interruption) -> Bool {
            let state = try state()
            var (sum, found) = (CountedSum(), 0)
            try connection.rows("SELECT slot, version, sealed FROM records", Self.failure) { (statement) throws(Interruption) in
                if found % Self.stride == 0 { try pause(nil) }
                found += 1
                if let term = RawRow(statement, firstColumn: 0).term(keyset) { sum.add(term) }
            }
            return state?.rows == sum
        }

        /// Returns the sealed state; nil unless the table `state` has exactly one row and that row opens.
        private func state() throws(Interruption) -> CommitState? {
            var sealed: [[UInt8]?] = []
            try connection.rows("SELECT id, sealed FROM state LIMIT 2", Self.failure) { (row) throws(Interruption) in
                sealed.append(row.integer(0) == 1 && row.kind(1) == .blob ? row.bytes(1) : nil)
            }
            guard sealed.count == 1, let bytes = sealed[0] else { return nil }
            return keyset.active.openState(bytes)
        }

        // MARK: Rows

        private struct Rows {
            var found = 0
            var sum = CountedSum()
            var damaged = 0
            var destroyed = 0
            /// The number of entries that the rows should have in the table of labels. Not included are the entries
            /// that list the days of changes.
            var labels = 0
            /// The number of entries that are missing in the table of labels, including entries that list the days of
            /// changes.
            var missingLabels = 0
        }

        private func rows(_ pause: Pause) throws(Interruption) -> Rows {
            var rows = Rows()
            var places = DatabaseScanner.Places()
            let entry = try session.header.isIndexed ? statement("SELECT 1 FROM labels WHERE label = ?1 AND slot = ?2") : nil
            defer { entry?.finalize() }
            let total = try number("SELECT count(*) FROM records")
            try connection.rows(
                "SELECT slot, version, sealed, id FROM records ORDER BY id", Self.failure
            ) { (statement) throws(Interruption) in
                if rows.found % Self.stride == 0 { try pause(IntegrityProgress(checked: rows.found, total: total)) }
                rows.found += 1
                let row = RawRow(statement, firstColumn: 0)
                if let term = row.term(keyset) { rows.sum.add(term) }
                guard places.isReachable(statement.integer(3), row.slot) else { return rows.damaged += 1 }
                switch row.open(keyset) {
                case .destroyed: rows.destroyed += 1
                case .damaged, .stranger, .refused: rows.damaged += 1
                case .content(let content, _):
                    if let entry { try count(content, row, entry, &rows) }
                }
            }
            try pause(IntegrityProgress(checked: rows.found, total: total))
            return rows
        }

        /// Checks that the table of labels has the entries of a row.
        private func count(_ content: RowContent, _ row: RawRow, _ entry: Statement, _ rows: inout Rows) throws(Interruption) {
            guard content.kind == .value, content.address.namespace != .values, let slot = row.slot, let key = row.key(keyset) else {
                return
            }
            for label in Label.labels(of: content.metadata, content.address.namespace) {
                rows.labels += 1
                if try !exists(entry, key.label(of: label.fields), Array(slot)) { rows.missingLabels += 1 }
            }
            if let day = content.metadata.modifiedAt.flatMap(Label.day) {
                let days = key.label(of: Label.days(content.address.namespace).fields)
                if try !exists(entry, days, key.hiddenDay(day, under: days)) { rows.missingLabels += 1 }
            }
        }

        // MARK: Labels

        /// Returns the number of problems in the labels: labels that do not match their count, missing entries and
        /// surplus entries. Surplus entries are counted only if no row is damaged and no entry is missing, because an
        /// entry that seems surplus may lead to a damaged row.
        private func labels(of rows: Rows, _ pause: Pause) throws(Interruption) -> Int {
            var (damaged, labels, entries) = (rows.missingLabels, 0, 0)
            var current: Tally?
            let count = try statement("SELECT sealed FROM counts WHERE label = ?1")
            defer { count.finalize() }
            try connection.rows("SELECT label, slot FROM labels ORDER BY label", Self.failure) { (row) throws(Interruption) in
                let (label, slot) = (row.bytes(0), row.bytes(1))
                if current?.label != label {
                    try pause(nil)
                    if let current, !current.isWhole { damaged += 1 }
                    labels += 1
                    current = try tally(label, count)
                }
                guard let key = current?.key else { return }
                current?.found.add(key.term(of: slot, under: label))
                if slot.count != DataKey.slotLength || key.day(hiddenIn: slot, under: label) == nil { entries += 1 }
            }
            if let current, !current.isWhole { damaged += 1 }
            // Each of these counts belongs to a label without entries. Labels without a count were found above.
            damaged += max(0, try number("SELECT count(*) FROM counts") - labels)
            if rows.damaged == 0, rows.missingLabels == 0 { damaged += max(0, entries - rows.labels) }
            return damaged
        }

        /// The sum of the entries that the table contains for a label, and the sum that the label's sealed count
        /// expects.
        private struct Tally {
            let label: [UInt8]
            /// The key that sealed the count; nil if the count does not open.
            let key: DataKey?
            let expected: CountedSum?
            var found = CountedSum()

            var isWhole: Bool { expected == found }
        }

        private func tally(_ label: [UInt8], _ count: Statement) throws(Interruption) -> Tally {
            var sealed: [UInt8]?
            try run { () throws(SQLiteFault) in
                defer { count.reset() }
                try count.bind(label, at: 1)
                if try count.step(), count.kind(0) == .blob { sealed = count.bytes(0) }
            }
            for key in keyset.all {
                if let expected = sealed.flatMap({ key.openCount($0, of: label) }) {
                    return Tally(label: label, key: key, expected: expected)
                }
            }
            return Tally(label: label, key: nil, expected: nil)
        }

        // MARK: Statements

        private static func failure(_ fault: SQLiteFault) -> Interruption { .failed(fault.readError()) }

        private func run<R>(_ body: () throws(SQLiteFault) -> R) throws(Interruption) -> R {
            do throws(SQLiteFault) { return try body() } catch { throw Self.failure(error) }
        }

        private func statement(_ sql: String) throws(Interruption) -> Statement {
            try run { () throws(SQLiteFault) in try connection.keptStatement(sql) }
        }

        private func number(_ sql: String) throws(Interruption) -> Int {
            do throws(BackendError) { return try connection.number(sql) } catch { throw .failed(error) }
        }

        private func exists(_ entry: Statement, _ label: [UInt8], _ slot: [UInt8]) throws(Interruption) -> Bool {
            try run { () throws(SQLiteFault) in try entry.hasRow(label, slot) }
        }
    }
#endif
