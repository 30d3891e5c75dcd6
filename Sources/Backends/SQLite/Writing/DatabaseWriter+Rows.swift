#if SQLite
    import BackendContract
    import Sealing

    /// The result of one call inside a transaction.
    struct CallOutcome {
        var results: [MutationResult]
        var isChanged = false
        /// The error that requires the call's changes to be undone; nil if there is none.
        var failure: BackendError?
    }

    extension DatabaseWriter {
        /// The rows of the database inside one transaction.
        final class Rows {
            let finder: RowFinder
            let statements: WriterStatements
            /// The header in this transaction.
            var header: DatabaseHeader
            /// The data keys in this transaction.
            var keyset: Keyset
            /// Tracks added and removed rows for the sealed state, which has the number of rows and a sum over them.
            let state: StateWriter
            /// Writes the labels, which are index entries by which queries find values; nil if the database has none.
            var labels: LabelWriter?
            /// Whether a value was deleted, or replaced by a tombstone (the record of a removal). Then the write-ahead
            /// log contains bytes that must be overwritten.
            var hasRemoved = false
            /// The number of rows that have moved to another id.
            private(set) var moves = 0

            init(
                _ finder: RowFinder, _ statements: WriterStatements, _ header: DatabaseHeader, _ keyset: Keyset, _ state: StateWriter
            ) throws(BackendError) {
                (self.finder, self.statements, self.header, self.keyset, self.state) = (finder, statements, header, keyset, state)
                if header.isIndexed { labels = try LabelWriter(statements) }
            }

            /// Runs one of several calls that share the transaction. If the call fails, only its changes are undone.
            /// - Throws: ``BackendError`` if the transaction itself has failed, so that no further call can run in it.
            func one(_ call: () -> CallOutcome) throws(BackendError) -> CallOutcome {
                do throws(SQLiteFault) { try statements.beginSavepoint() } catch { throw error.backendError() }
                let before = (header: header, labels: labels, change: state.change)
                labels?.beginCall()
                let outcome = call()
                if let failure = outcome.failure {
                    let isDamaged = finder.database.hasMetDamage
                    do throws(SQLiteFault) { try statements.undoSavepoint() } catch { throw failure }
                    // After SQLite has read a damaged page, every later change in the transaction fails.
                    if isDamaged { throw failure }
                    finder.database.forgetPages()
                    (header, labels, state.change) = before
                    labels?.undoCall()
                } else {
                    do throws(SQLiteFault) { try statements.releaseSavepoint() } catch { throw error.backendError() }
                }
                return outcome
            }

            /// Inserts a row at the home id of its slot, or at the next free id above it. The slot is a keyed hash of
            /// the row's name. The home id is computed from the slot.
            func insert(_ slot: [UInt8], version: Int64, sealed: [UInt8]) throws(BackendError) {
                var id = RowFinder.home(of: slot)
                while try row(at: id) != nil { id += 1 }
                do throws(SQLiteFault) { try statements.insertRow(id, slot, version, sealed) } catch { throw error.backendError() }
                state.add(term(slot, version, sealed))
            }

            /// Replaces a row that was found in this transaction, and updates the sum over all rows.
            func replace(_ row: RowFinder.Found, version: Int64, sealed: [UInt8]) throws(BackendError) {
                do throws(SQLiteFault) { try statements.replaceRow(row.id, row.slot, version, sealed) } catch { throw error.backendError() }
                state.remove(row.term)
                state.add(term(row.slot, version, sealed))
            }

            /// Deletes every row of a slot. There is only one, unless another program inserted a copy of an older row.
            func deleteAll(_ slot: [UInt8]) throws(BackendError) { try deleteOthers(slot, above: RowFinder.home(of: slot) - 1) }

            /// Deletes every row of a slot above an id.
            func deleteOthers(_ slot: [UInt8], above id: Int64) throws(BackendError) {
                var next = id + 1
                while let row = try row(at: next) {
                    if row.slot == slot { try delete(at: next) } else { next += 1 }
                }
            }

            /// Deletes the row at an id. Then moves down the rows above it that are there only because their home id
            /// was taken.
            func delete(at id: Int64) throws(BackendError) {
                let deleted = try term(at: id)
                do throws(SQLiteFault) { try statements.deleteRow(id) } catch { throw error.backendError() }
                state.remove(deleted)
                hasRemoved = true
                var (gap, next) = (id, id + 1)
                while let row = try row(at: next) {
                    if row.home <= gap {
                        do throws(SQLiteFault) { try statements.moveRow(next, to: gap) } catch { throw error.backendError() }
                        moves += 1
                        gap = next
                    }
                    next += 1
                }
            }

            private struct Place {
                let slot: [UInt8]?
                let home: Int64
            }

            /// Returns the row at an id; nil if there is none. A row without a slot counts as being at its home id, so
            /// it is not moved.
            private func row(at id: Int64) throws(BackendError) -> Place? {
                try onDatabase { () throws(SQLiteFault) in
                    try finder.row(at: id) { row in Place(slot: row.slot.map { Array($0) }, home: row.slot.map(RowFinder.home) ?? id) }
                }
            }
        }
    }
#endif
