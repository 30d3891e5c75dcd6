#if SQLite
    import BackendContract
    import Sealing

    /// What a call came to, inside its transaction.
    struct CallOutcome {
        var results: [MutationResult]
        var isChanged = false
        /// Why its changes have to be undone.
        var failure: BackendError?
    }

    extension DatabaseWriter {
        /// The rows, inside one transaction.
        final class Rows {
            let finder: RowFinder
            let statements: WriterStatements
            /// The header in this transaction.
            var header: DatabaseHeader
            /// Its keys.
            var keyset: Keyset
            /// Notes what becomes of the rows.
            let state: StateWriter
            /// The labels; nil where the database has none.
            var labels: LabelWriter?
            /// Whether anything was deleted or replaced by a removal.
            var hasRemoved = false
            /// How many rows have moved to another place.
            private(set) var moves = 0

            init(
                _ finder: RowFinder, _ statements: WriterStatements, _ header: DatabaseHeader, _ keyset: Keyset, _ state: StateWriter
            ) throws(BackendError) {
                self.finder = finder
                self.statements = statements
                self.header = header
                self.keyset = keyset
                self.state = state
                if header.isIndexed { labels = try LabelWriter(statements) }
            }

            /// Carries out one of several calls. If it fails, what it changed is undone, and nothing of the others.
            /// - Throws: ``BackendError``, the call's own, when the transaction cannot go on for any of them.
            func one(_ call: () -> CallOutcome) throws(BackendError) -> CallOutcome {
                do throws(SQLiteFault) { try statements.beginSavepoint() } catch { throw error.backendError() }
                let before = (header: header, labels: labels, change: state.change)
                labels?.beginCall()
                let outcome = call()
                if let failure = outcome.failure {
                    let isDamaged = finder.database.hasMetDamage
                    do throws(SQLiteFault) { try statements.undoSavepoint() } catch { throw failure }
                    // Once SQLite has met a damaged page, every later change of the transaction fails.
                    if isDamaged { throw failure }
                    finder.database.forgetPages()
                    (header, labels, state.change) = before
                    labels?.undoCall()
                } else {
                    do throws(SQLiteFault) { try statements.releaseSavepoint() } catch { throw error.backendError() }
                }
                return outcome
            }

            /// Inserts a row at its slot's home, or at the next free place above it.
            func insert(_ slot: [UInt8], version: Int64, sealed: [UInt8]) throws(BackendError) {
                var id = RowFinder.home(of: slot)
                while try row(at: id) != nil { id += 1 }
                do throws(SQLiteFault) { try statements.insertRow(id, slot, version, sealed) } catch { throw error.backendError() }
                state.add(term(slot, version, sealed))
            }

            /// Replaces a row that was found in this transaction, with its term.
            func replace(_ row: RowFinder.Found, version: Int64, sealed: [UInt8]) throws(BackendError) {
                do throws(SQLiteFault) { try statements.replaceRow(row.id, row.slot, version, sealed) } catch { throw error.backendError() }
                state.remove(row.term)
                state.add(term(row.slot, version, sealed))
            }

            /// Removes every row of a slot. There is one, unless another program has copied an older one beside it.
            func deleteAll(_ slot: [UInt8]) throws(BackendError) { try deleteOthers(slot, above: RowFinder.home(of: slot) - 1) }

            /// Removes every row of a slot above a place.
            func deleteOthers(_ slot: [UInt8], above id: Int64) throws(BackendError) {
                var next = id + 1
                while let row = try row(at: next) {
                    if row.slot == slot { try delete(at: next) } else { next += 1 }
                }
            }

            /// Deletes the row at a place, and moves rows down that were above it only because their home was taken.
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

            /// The row at a place; nil where there is none. A row without a slot counts as being at home, so that it stays.
            private func row(at id: Int64) throws(BackendError) -> Place? {
                do throws(SQLiteFault) {
                    return try finder.row(at: id) { row in
                        Place(slot: row.slot.map { Array($0) }, home: row.slot.map(RowFinder.home) ?? id)
                    }
                } catch {
                    throw error.backendError()
                }
            }
        }
    }
#endif
