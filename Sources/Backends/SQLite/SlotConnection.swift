#if SQLite
    import BackendContract
    import Sealing

    /// A connection that reads single slots with kept statements, until it is closed.
    ///
    /// `@unchecked Sendable`: nothing else refers to the connection, and the session uses this only while it holds the mutex that it is in.
    final class SlotConnection: @unchecked Sendable {
        /// The result of a read.
        enum Finding {
            case probe(StorageProbe)
            /// SQLite was busy: the read can be repeated.
            case busy
            /// A row names a key that is not in the keyset: the keyset may have changed.
            case unknownKey([UInt8])
            /// The connection was closed, or no row was found and header or keyset have changed: the name may have another slot by now.
            case outdated
        }

        private let finder: RowFinder
        private let header: Statement
        private let tag: [UInt8]
        private var schemaChanges: Int32

        /// - Parameter tag: The header's tag. While it is the same, header and keyset are unchanged, and so are the keys.
        init(_ database: Connection, tag: [UInt8]) throws(BackendError) {
            do throws(SQLiteFault) {
                finder = try RowFinder(database)
                header = try database.keptStatement(DatabaseFormat.tagQuery)
            } catch {
                throw error.backendError()
            }
            self.tag = tag
            schemaChanges = finder.schemaChanges
        }

        func close() { finder.database.close() }

        /// Reads one slot.
        func find(_ address: StorageAddress, _ keyset: Keyset) -> Result<Finding, BackendError> {
            do throws(SQLiteFault) {
                var result = try finder.find(address, keyset, inTransaction: false)
                if case .needsTransaction = result {
                    result = try finder.database.inReadTransaction { () throws(SQLiteFault) in
                        try finder.find(address, keyset, inTransaction: true)
                    } _: {
                        $0
                    }
                }
                let finding: Finding =
                    switch result {
                    case .found(let found): .probe(found.probe)
                    // Checked after the row was read: if the header is unchanged now, it was unchanged then.
                    case .absent: try isHeaderUnchanged() ? .probe(address.probeOfNothing) : .outdated
                    case .unknownKey(let id): .unknownKey(id)
                    case .needsTransaction: .busy
                    }
                // The answer counts only if the table it came from is still the one that belongs here.
                let changes = finder.schemaChanges
                if changes != schemaChanges {
                    do throws(BackendError) { try finder.database.checkFormat() } catch { return .failure(error) }
                    schemaChanges = changes
                }
                return .success(finding)
            } catch {
                if error.isBusy { return .success(.busy) }
                // The cause may be a schema that another program has changed.
                do throws(BackendError) { try finder.database.checkFormat() } catch { return .failure(error) }
                return .success(.probe(.unavailable(error.readError())))
            }
        }

        private func isHeaderUnchanged() throws(SQLiteFault) -> Bool {
            defer { header.reset() }
            return try header.step() && header.blob(0).elementsEqual(tag)
        }
    }

    extension StorageAddress {
        /// What is in a slot that has no row: a name that cannot be used is not absent.
        var probeOfNothing: StorageProbe {
            do throws(BackendError) { try validate() } catch { return .unavailable(error) }
            return .absent
        }
    }
#endif
