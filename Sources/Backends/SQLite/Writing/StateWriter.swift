#if SQLite
    import BackendContract
    import Sealing

    /// The sealed state of a database (see ``StateWriter``), and its decrypted content.
    struct KnownState: Sendable {
        let sealed: [UInt8]
        /// The id of the data key that sealed the state.
        let key: [UInt8]
        let state: CommitState
    }

    /// Updates the sealed state inside one transaction. The sealed state has the number of commits and rows, and the
    /// sum of the rows' terms. A term is a keyed hash of a row. The state is sealed once for all changes of the
    /// transaction.
    ///
    /// A stored state that is missing or does not open is left unchanged. No commit repairs it, so that a check of the
    /// database finds the damage.
    final class StateWriter {
        private let statements: WriterStatements
        /// The state before the transaction; nil if the stored state is missing or does not open.
        private(set) var current: CommitState?
        /// The terms of the added rows, less those of the removed rows.
        var change = CountedSum()

        /// Reads the stored state.
        /// - Parameters:
        ///   - known: The state after this connection's last transaction. It is not decrypted again if the stored bytes
        ///     are the same.
        ///   - isStored: Whether `known` is certainly the stored state. Then the table is not read.
        ///   - isAnchored: Whether the database has a freshness anchor, which detects older files. If it has one, a
        ///     valid stored state must be `known` or have more commits. Otherwise it is refused with `rolledBack`.
        /// - Throws: ``BackendError`` with `rolledBack`.
        init(
            _ statements: WriterStatements, _ keyset: Keyset, known: KnownState?, isStored: Bool, isAnchored: Bool
        ) throws(BackendError) {
            self.statements = statements
            if isStored, let known, known.key == keyset.active.id {
                current = known.state
                return
            }
            let sealed = try onDatabase { () throws(SQLiteFault) in try statements.state() }
            let key = keyset.active
            if let known, known.sealed == sealed, known.key == key.id {
                current = known.state
            } else {
                current = sealed.flatMap { key.openState($0) }
                if isAnchored, let known, let current, current.commits <= known.state.commits {
                    throw AnchorFollower.wentBack(from: known.state.commits, to: current.commits)
                }
            }
        }

        /// Adds the term of a new row.
        func add(_ term: [UInt8]?) { if let term { change.add(term) } }

        /// Subtracts the term of a row that was removed.
        func remove(_ term: [UInt8]?) { if let term { change.remove(term) } }

        /// Replaces the sum of rows, and raises the number of commits to at least the given one.
        func begin(with rows: CountedSum, above commits: Int64) {
            var state = current ?? CommitState()
            state.rows = rows
            (current, change) = (state, CountedSum())
            raise(above: commits)
        }

        /// Records that the database, which gets another id, has no freshness anchor yet.
        func reidentify() { current?.isAnchored = false }

        /// Raises the number of commits to at least the given one.
        func raise(above commits: Int64) { if let known = current?.commits { current?.commits = max(known, commits) } }

        /// Seals and stores the state after the transaction. Its number of commits is one higher than before.
        /// - Parameters:
        ///   - key: The data key that is active after the commit.
        ///   - header: The tag of the header after the commit.
        ///   - isAnchored: Whether the program has a freshness anchor.
        /// - Returns: The new state; nil if there was no valid state before.
        func flush(_ key: DataKey, header: [UInt8], isAnchored: Bool, _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> KnownState? {
            // Reason: "No write repairs a missing or invalid sealed state" in Docs/Decisions/Database.md.
            guard var state = current else { return nil }
            state.commits &+= 1
            state.rows.add(change)
            state.isAnchored = state.isAnchored || isAnchored
            state.header = header
            let sealed = try key.seal(state, randomBytes)
            do throws(SQLiteFault) { try statements.putState(sealed) } catch { throw error.backendError() }
            return KnownState(sealed: sealed, key: key.id, state: state)
        }
    }

    extension RawRow {
        /// Returns the row's term in the sum of all rows. Returns nil if no available key can have sealed the row; such
        /// a row is not part of the sum, and the check of single rows reports it.
        func term(_ keyset: Keyset) -> [UInt8]? {
            guard let slot, slot.count == DataKey.slotLength, let version, version > 0, let sealed, sealed.first == SealedRow.format,
                sealed.count >= SealedRow.minimumLength, let key = key(keyset)
            else { return nil }
            let (nonce, tag) = SealedRow.nonceAndTag(of: sealed)
            return key.term(ofRow: slot, version: version, nonce: nonce, tag: tag)
        }
    }

    extension SealedRow {
        /// Returns the nonce and the tag of sealed bytes. No other sealed bytes have the same pair.
        static func nonceAndTag(of sealed: UnsafeRawBufferPointer) -> (nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer) {
            (
                UnsafeRawBufferPointer(rebasing: sealed[headLength..<headLength + XAES256GCM.nonceLength]),
                UnsafeRawBufferPointer(rebasing: sealed[(sealed.count - XAES256GCM.tagLength)...])
            )
        }
    }

    extension DatabaseWriter.Rows {
        /// Returns the term of a row that was just sealed.
        func term(_ slot: [UInt8], _ version: Int64, _ sealed: [UInt8]) -> [UInt8]? {
            slot.withUnsafeBytes { slot in
                sealed.withUnsafeBytes { RawRow(slot: slot, version: version, sealed: $0).term(keyset) }
            }
        }

        /// Returns the term of the row at an id; nil if there is no row, or the row has no term.
        func term(at id: Int64) throws(BackendError) -> [UInt8]? {
            try onDatabase { () throws(SQLiteFault) in try finder.row(at: id) { $0.term(keyset) }.flatMap(\.self) }
        }

        /// Replaces header and keys. Subtracts the terms of the rows whose key the new header destroys.
        func replaceHeader(_ other: DatabaseHeader, _ keys: Keyset) throws(BackendError) {
            do throws(SQLiteFault) { try other.write(to: finder.database) } catch { throw error.backendError() }
            for key in keyset.all where keys.destroyed.contains(key.id) {
                try finder.database.rows("SELECT slot, version, sealed FROM records") { (statement) throws(BackendError) in
                    let row = RawRow(statement, firstColumn: 0)
                    if row.key(keyset)?.id == key.id { state.remove(row.term(keyset)) }
                }
            }
            (header, keyset) = (other, keys)
        }
    }
#endif
