#if SQLite
    import BackendContract
    import Sealing

    /// A sealed state that was opened before: the bytes, and what they say.
    struct KnownState: Sendable {
        let sealed: [UInt8]
        /// The id of the data key.
        let key: [UInt8]
        let state: CommitState
    }

    /// Keeps the sealed state in step with the rows, inside one transaction: it notes what becomes of each row, and seals the state once.
    ///
    /// A state that is missing or does not open is left as it is: no change repairs it, so that a check of the database finds it.
    final class StateWriter {
        private let statements: WriterStatements
        /// The state that the transaction goes on from; nil where what is stored is not one.
        private(set) var current: CommitState?
        /// The rows that were added, less those that were removed.
        var change = CountedSum()

        /// Reads the state.
        /// - Parameters:
        ///   - known: The state after this connection's last transaction: it is not opened again if the bytes are the same.
        ///   - isStored: Whether `known` is certainly what the table holds: then the table is not read.
        ///   - isAnchored: Whether a state that is older than `known` is refused.
        /// - Throws: ``BackendError``: `rolledBack`.
        init(
            _ statements: WriterStatements, _ keyset: Keyset, known: KnownState?, isStored: Bool, isAnchored: Bool
        ) throws(BackendError) {
            self.statements = statements
            if isStored, let known, known.key == keyset.active.id {
                current = known.state
                return
            }
            let sealed: [UInt8]?
            do throws(SQLiteFault) { sealed = try statements.state() } catch { throw error.backendError() }
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

        /// Notes a row that is there from now on.
        func add(_ term: [UInt8]?) { if let term { change.add(term) } }

        /// Notes a row that was there.
        func remove(_ term: [UInt8]?) { if let term { change.remove(term) } }

        /// Goes on from other rows than those of the state.
        func begin(with rows: CountedSum, above commits: Int64) {
            var state = current ?? CommitState()
            state.rows = rows
            (current, change) = (state, CountedSum())
            raise(above: commits)
        }

        /// Goes on as another database, whose freshness anchor is not known yet.
        func reidentify() { current?.isAnchored = false }

        /// Goes on from at least a number of commits.
        func raise(above commits: Int64) { if let known = current?.commits { current?.commits = max(known, commits) } }

        /// Seals the state of the transaction, one commit later than the one before.
        /// - Parameters:
        ///   - key: The data key that is active once the transaction is committed.
        ///   - header: The tag of the header after the commit.
        ///   - isAnchored: Whether the program has a freshness anchor.
        /// - Returns: The state; nil where there was none to go on from.
        func flush(_ key: DataKey, header: [UInt8], isAnchored: Bool, _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> KnownState? {
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
        /// The row's term in the sum of all rows; nil for a row that names no key that can be used: it is not in the sum,
        /// and is damage of its own.
        func term(_ keyset: Keyset) -> [UInt8]? {
            guard let slot, slot.count == DataKey.slotLength, let version, version > 0, let sealed, sealed.first == SealedRow.format,
                sealed.count >= SealedRow.minimumLength, let key = key(keyset)
            else { return nil }
            let (nonce, tag) = SealedRow.nonceAndTag(of: sealed)
            return key.term(ofRow: slot, version: version, nonce: nonce, tag: tag)
        }
    }

    extension SealedRow {
        /// The parts of sealed bytes that no other sealed bytes have.
        static func nonceAndTag(of sealed: UnsafeRawBufferPointer) -> (nonce: UnsafeRawBufferPointer, tag: UnsafeRawBufferPointer) {
            (
                UnsafeRawBufferPointer(rebasing: sealed[headLength..<headLength + XAES256GCM.nonceLength]),
                UnsafeRawBufferPointer(rebasing: sealed[(sealed.count - XAES256GCM.tagLength)...])
            )
        }
    }

    extension DatabaseWriter.Rows {
        /// The term of a row that was just sealed.
        func term(_ slot: [UInt8], _ version: Int64, _ sealed: [UInt8]) -> [UInt8]? {
            slot.withUnsafeBytes { slot in
                sealed.withUnsafeBytes { RawRow(slot: slot, version: version, sealed: $0).term(keyset) }
            }
        }

        /// The term of the row at a place; nil where there is no row, or it has no term.
        func term(at id: Int64) throws(BackendError) -> [UInt8]? {
            do throws(SQLiteFault) { return try finder.row(at: id) { $0.term(keyset) }.flatMap(\.self) } catch {
                throw error.backendError()
            }
        }

        /// Replaces header and keys. Rows of a key that is destroyed by this have no term any more.
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
