#if SQLite
    import BackendContract
    import GRDBSQLite
    import Sealing
    import Synchronization

    /// Connections that only read single slots: each look is one short statement of SQLite on the caller's own thread, which waits for no writer.
    final class SlotReader: Sendable {
        /// What a look came to.
        enum Answer {
            case probe(StorageProbe)
            /// SQLite asked for patience: look again on the lane.
            case busy
            /// A row was met whose key is not known here: the keyset has to be read again.
            case unknownKey([UInt8])
        }

        /// A connection, until it is closed. Nothing else refers to what is in it, so it may change hands with its lock.
        private final class Connection: Sendable {
            private struct Open: @unchecked Sendable {
                let finder: RowFinder
                var schemaChanges: Int32
            }

            private let open: Mutex<Open?>

            init(_ database: RawDatabase) throws(BackendError) {
                do throws(SQLiteFault) {
                    let finder = try RowFinder(database)
                    open = Mutex(Open(finder: finder, schemaChanges: finder.schemaChanges))
                } catch {
                    throw error.backendError()
                }
            }

            /// Looks if the connection is free; nil when it is not.
            func lookIfFree(_ address: StorageAddress, _ keyset: Keyset) -> Result<Answer, BackendError>? {
                open.withLockIfAvailable { Self.look(address, keyset, &$0) }
            }

            func look(_ address: StorageAddress, _ keyset: Keyset) -> Result<Answer, BackendError> {
                open.withLock { Self.look(address, keyset, &$0) }
            }

            func close() {
                open.withLock { connection in
                    guard let finder = connection?.finder else { return }
                    finder.finish()
                    finder.database.close()
                    connection = nil
                }
            }

            private static func look(_ address: StorageAddress, _ keyset: Keyset, _ connection: inout Open?) -> Result<Answer, BackendError>
            {
                guard let finder = connection?.finder else { return .success(.busy) }
                do throws(SQLiteFault) {
                    var result = try finder.find(address, keyset, isStill: false)
                    if case .needsTransaction = result {
                        result = try finder.database.inReadTransaction { () throws(SQLiteFault) in
                            try finder.find(address, keyset, isStill: true)
                        } _: {
                            $0
                        }
                    }
                    // The answer counts only if the table it came from is still the one that belongs here.
                    let changes = finder.schemaChanges
                    if changes != connection?.schemaChanges {
                        do throws(BackendError) { try finder.database.checkFormat() } catch { return .failure(error) }
                        connection?.schemaChanges = changes
                    }
                    switch result {
                    case .found(let found): return .success(.probe(found.probe))
                    case .absent: return .success(.probe(.absent))
                    case .unknownKey(let id): return .success(.unknownKey(id))
                    case .needsTransaction: return .success(.busy)
                    }
                } catch {
                    return error.isPatience ? .success(.busy) : .failure(error.backendError())
                }
            }
        }

        private let first: Connection
        /// Opened when the first is in use for the first time.
        private let second = Mutex<Connection?>(nil)
        private let path: String
        private let keyset: Keyset

        /// Takes a connection to read with.
        /// - Throws: ``BackendError``; the connection is still the caller's then.
        init(_ connection: RawDatabase, path: String, keyset: Keyset) throws(BackendError) {
            first = try Connection(connection)
            self.path = path
            self.keyset = keyset
        }

        /// Closes the connections; a look that comes too late is answered with `busy`. Called with the store's lock held: the last connection to close may write.
        func close() {
            first.close()
            second.withLock { $0?.close() }
        }

        /// What stands in slots; nil when that cannot be told at once: look again on the lane.
        /// - Parameter wait: Lets a moment pass when SQLite asks for patience; nil when there is no time left.
        func probes(_ addresses: [StorageAddress], _ wait: () -> Void? = { nil }) throws(BackendError) -> [StorageProbe]? {
            var probes: [StorageProbe] = []
            probes.reserveCapacity(addresses.count)
            for address in addresses {
                var answer = probe(address)
                while case .busy = answer, wait() != nil { answer = probe(address) }
                guard case .probe(let probe) = answer else { return nil }
                probes.append(probe)
            }
            return probes
        }

        /// What stands in slots, after the keys were read again: what cannot be told now is told as an error.
        func probesAtLast(_ addresses: [StorageAddress]) -> [StorageProbe] {
            addresses.map { address in
                switch probe(address) {
                case .probe(let probe): probe
                case .busy: .unavailable(BackendError(.timedOut, "Another program keeps the database busy. Try again once it is done."))
                case .unknownKey(let id): .unavailable(DatabaseSession.missingKey(id))
                }
            }
        }

        private func probe(_ address: StorageAddress) -> Answer {
            do throws(BackendError) {
                try address.validate()
                return try look(address)
            } catch {
                return .probe(.unavailable(error))
            }
        }

        /// Looks at one slot, on a connection that is free if there is one.
        private func look(_ address: StorageAddress) throws(BackendError) -> Answer {
            if let answer = first.lookIfFree(address, keyset) { return try answer.get() }
            guard let other = try otherConnection() else { return try first.look(address, keyset).get() }
            return try other.look(address, keyset).get()
        }

        private func otherConnection() throws(BackendError) -> Connection? {
            let result = second.withLock { second -> Result<Connection, BackendError> in
                if let second { return .success(second) }
                return Result { () throws(BackendError) in
                    let database: RawDatabase
                    do throws(SQLiteFault) { database = try RawDatabase(reading: path) } catch { throw error.backendError() }
                    do throws(BackendError) {
                        let made = try Connection(database)
                        second = made
                        return made
                    } catch {
                        // Never the last connection: the first one is open.
                        database.close()
                        throw error
                    }
                }
            }
            return try result.get()
        }
    }

    extension SQLiteFault {
        /// Whether somebody holds what is needed for a moment.
        var isPatience: Bool { code & 0xFF == SQLITE_BUSY || code & 0xFF == SQLITE_LOCKED }
    }
#endif
