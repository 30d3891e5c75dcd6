#if SQLite
    import BackendContract
    import BackendRuntime
    import CSQLite
    import Sealing
    import Synchronization

    /// Connections that only read single slots: each look is one short statement of SQLite on the caller's own thread, which waits for no writer.
    final class SlotReader: Sendable {
        /// What a look came to.
        fileprivate enum Answer {
            case probe(StorageProbe)
            /// SQLite asked for patience.
            case busy
            /// A row was met whose key is not known here: the keyset may be another by now.
            case unknownKey([UInt8])
            /// Nothing was found, and header or keyset are others than the session's: the name may have another slot by now.
            case otherHeader
            /// The connection was closed: there is another session by now, or none.
            case closed
        }

        /// When a look that came to nothing is made again.
        enum Insistence {
            /// Not here: the caller does it on a lane.
            case none
            /// As long as SQLite asks for patience, until the deadline.
            case until(MonotonicInstant, any RuntimeClock)
        }

        private let first: SlotConnection
        private let second = Mutex<Second>(.none)
        private let keyset: Keyset
        private let openSecond: @Sendable () throws(BackendError) -> Connection
        private let tag: [UInt8]

        /// The connection that is opened when the first is in use for the first time.
        private enum Second {
            case none
            case open(SlotConnection)
            case closed
        }

        /// Takes a connection to read with.
        /// - Parameters:
        ///   - connection: The connection.
        ///   - keyset: The keys.
        ///   - tag: The header's tag: while it stands there, header and keyset are the ones that the keys came from.
        ///   - openSecond: Opens another connection to the same file.
        /// - Throws: ``BackendError``; the connection is still the caller's then.
        init(
            _ connection: Connection, keyset: Keyset, tag: [UInt8],
            openSecond: @escaping @Sendable () throws(BackendError) -> Connection
        ) throws(BackendError) {
            first = try SlotConnection(connection, tag: tag)
            self.keyset = keyset
            self.tag = tag
            self.openSecond = openSecond
        }

        /// Closes the connections, after the looks that are under way. Called with the store's lock held, unless another connection to the file stays open: the last
        /// one to close may write.
        func close() {
            first.close()
            second.withLock { second in
                if case .open(let connection) = second { connection.close() }
                second = .closed
            }
        }

        /// What stands in slots; nil when that cannot be told from here: what the session knows is out of date, or patience is needed.
        func probes(_ addresses: [StorageAddress], _ insistence: Insistence = .none) throws(BackendError) -> [StorageProbe]? {
            var probes: [StorageProbe] = []
            probes.reserveCapacity(addresses.count)
            for address in addresses {
                guard case .probe(let probe) = try answer(address, insistence) else { return nil }
                probes.append(probe)
            }
            return probes
        }

        /// What stands in slots, after header and keyset were found to be the session's: a row whose key is not in the keyset is an error of its own then.
        func probesAtLast(_ addresses: [StorageAddress], _ insistence: Insistence) throws(BackendError) -> [StorageProbe]? {
            var probes: [StorageProbe] = []
            for address in addresses {
                switch try answer(address, insistence) {
                case .probe(let probe): probes.append(probe)
                case .unknownKey(let id): probes.append(.unavailable(DatabaseSession.missingKey(id)))
                case .busy, .otherHeader, .closed: return nil
                }
            }
            return probes
        }

        private func answer(_ address: StorageAddress, _ insistence: Insistence) throws(BackendError) -> Answer {
            var answer = try look(address)
            guard case .until(let deadline, let clock) = insistence else { return answer }
            while case .busy = answer {
                guard clock.now < deadline else { throw SQLiteFault(SQLITE_BUSY).backendError() }
                clock.pause(.milliseconds(1))
                answer = try look(address)
            }
            return answer
        }

        /// Looks at one slot. What SQLite cannot do because the database is being opened, closed or repaired just now is worth another try.
        private func look(_ address: StorageAddress) throws(BackendError) -> Answer {
            do throws(BackendError) { try address.validate() } catch { return .probe(.unavailable(error)) }
            do throws(BackendError) { return try lookAtOnce(address) } catch {
                if error.code == .timedOut { return .busy }
                throw error
            }
        }

        /// Looks at one slot, on a connection that is free if there is one.
        private func lookAtOnce(_ address: StorageAddress) throws(BackendError) -> Answer {
            if let answer = first.lookIfFree(address, keyset) { return try answer.get() }
            guard let other = try otherConnection() else { return .closed }
            return try other.look(address, keyset).get()
        }

        private func otherConnection() throws(BackendError) -> SlotConnection? {
            let result = second.withLock { second -> Result<SlotConnection?, BackendError> in
                switch second {
                case .open(let connection): return .success(connection)
                case .closed: return .success(nil)
                case .none: break
                }
                return Result { () throws(BackendError) in
                    let database = try openSecond()
                    do throws(BackendError) {
                        let made = try SlotConnection(database, tag: tag)
                        second = .open(made)
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

    /// One connection of a reader, until it is closed. Nothing else refers to what is in it, so it may change hands with its lock.
    private final class SlotConnection: Sendable {
        /// `@unchecked Sendable`: the statements are stepped and closed only while the mutex that they are in is held.
        private struct Open: @unchecked Sendable {
            let finder: RowFinder
            let header: HeaderWatch
            var schemaChanges: Int32
        }

        private let open: Mutex<Open?>

        init(_ database: Connection, tag: [UInt8]) throws(BackendError) {
            do throws(SQLiteFault) {
                let finder = try RowFinder(database)
                let header = try HeaderWatch(database, tag: tag)
                open = Mutex(Open(finder: finder, header: header, schemaChanges: finder.schemaChanges))
            } catch {
                throw error.backendError()
            }
        }

        /// Looks if the connection is free; nil when it is not.
        func lookIfFree(_ address: StorageAddress, _ keyset: Keyset) -> Result<SlotReader.Answer, BackendError>? {
            open.withLockIfAvailable { Self.look(address, keyset, &$0) }
        }

        func look(_ address: StorageAddress, _ keyset: Keyset) -> Result<SlotReader.Answer, BackendError> {
            open.withLock { Self.look(address, keyset, &$0) }
        }

        func close() {
            open.withLock { connection in
                connection?.finder.database.close()
                connection = nil
            }
        }

        private static func look(
            _ address: StorageAddress, _ keyset: Keyset, _ connection: inout Open?
        ) -> Result<SlotReader.Answer, BackendError> {
            guard let (finder, header) = connection.map({ ($0.finder, $0.header) }) else { return .success(.closed) }
            do throws(SQLiteFault) {
                var result = try finder.find(address, keyset, isStill: false)
                if case .needsTransaction = result {
                    result = try finder.database.inReadTransaction { () throws(SQLiteFault) in
                        try finder.find(address, keyset, isStill: true)
                    } _: {
                        $0
                    }
                }
                var answer: SlotReader.Answer
                switch result {
                case .found(let found): answer = .probe(found.probe)
                // Looked at after the row: if the header is the session's now, it was then.
                case .absent: answer = try header.isUnchanged() ? .probe(.absent) : .otherHeader
                case .unknownKey(let id): answer = .unknownKey(id)
                case .needsTransaction: answer = .busy
                }
                // The answer counts only if the table it came from is still the one that belongs here.
                let changes = finder.schemaChanges
                if changes != connection?.schemaChanges {
                    do throws(BackendError) { try finder.database.checkFormat() } catch { return .failure(error) }
                    connection?.schemaChanges = changes
                }
                return .success(answer)
            } catch {
                if error.isBusy { return .success(.busy) }
                // What failed may have failed because somebody changed the schema.
                do throws(BackendError) { try finder.database.checkFormat() } catch { return .failure(error) }
                return .success(.probe(.unavailable(error.readError())))
            }
        }
    }

    /// Whether header and keyset still are what they were, by a statement that is kept.
    private struct HeaderWatch {
        private let statement: Statement
        private let tag: [UInt8]

        init(_ database: Connection, tag: [UInt8]) throws(SQLiteFault) {
            statement = try database.keptStatement(DatabaseFormat.tagQuery)
            self.tag = tag
        }

        func isUnchanged() throws(SQLiteFault) -> Bool {
            defer { statement.reset() }
            return try statement.step() && statement.blob(0).elementsEqual(tag)
        }
    }
#endif
