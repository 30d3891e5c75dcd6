#if SQLite
    package import BackendContract
    package import BackendRuntime
    import Sealing

    /// A database that a backup copies: one state of it, in a read transaction that waits for no writer and that no writer waits for.
    package struct DatabaseBackup: BackupStore {
        private let path: String
        private let lock: String
        private let deadline: Duration
        private let runtime: Runtime

        package var backupLock: String? { lock }

        /// Names the database; nothing is opened.
        package init(path: String, lock: String, deadline: Duration, runtime: Runtime) {
            (self.path, self.lock, self.deadline, self.runtime) = (runtime.files.resolve(path), lock, deadline, runtime)
        }

        package func copyForBackup(deadline: MonotonicInstant) async throws(BackendError) -> (any BackupCopy)? {
            let lane = runtime.makeLane("backup.\(lastComponent(of: path))")
            let (path, lock, runtime, limit) = (path, lock, runtime, self.deadline)
            return try await lane.run(clock: runtime.clock, deadline: deadline, isMutation: false) { (call) throws(BackendError) in
                let file = DatabaseFile(path: path, lockPath: lock, lane: lane, runtime: runtime)
                return try file.retryingWhileBusy(deadline: call.deadline) { () throws(BackendError) in
                    guard try file.fileID() != nil else { return nil }
                    try file.requireTrust()
                    let before = try Self.state(of: path, runtime)
                    let connection: Connection
                    do throws(SQLiteFault) {
                        connection = try Connection.reading(path)
                        try connection.execute("BEGIN")
                    } catch { throw error.backendError() }
                    try connection.checkFormat()
                    return DatabaseCopy(
                        connection, try DatabaseHeader(reading: connection), try connection.texts(DatabaseFormat.schemaQuery), lane,
                        limit, runtime
                    ) { () throws(BackendError) in try Self.state(of: path, runtime) != before }
                }
            }
        }

        /// What changes with each commit: the files, as the folder shows them. A log without content may come and go, and SQLite sets the
        /// owner of a log that it opens, which changes the time of its attributes.
        private static func state(of path: String, _ runtime: Runtime) throws(BackendError) -> [FileStatus?] {
            var states: [FileStatus?] = []
            do throws(FileError) { states = [try runtime.files.status(path), try runtime.files.status(path + "-wal")] } catch {
                throw error.backendError()
            }
            if states[1]?.size == 0 { states[1] = nil }
            return states.map { status in
                var status = status
                status?.changed = 0
                return status
            }
        }
    }

    /// One state of a database.
    ///
    /// `@unchecked Sendable`: connection, statement and position are used on the lane only, by one call at a time.
    final class DatabaseCopy: KeyedBackupCopy, @unchecked Sendable {
        let header: DatabaseHeader
        private let connection: Connection
        private let statements: [String]
        private let lane: any Lane
        private let deadline: Duration
        private let runtime: Runtime
        private let isChanged: @Sendable () throws(BackendError) -> Bool
        /// The table whose rows are read; nil before the part with the statements.
        private var table: Int?
        private var rows: Statement?

        init(
            _ connection: Connection, _ header: DatabaseHeader, _ schema: [String], _ lane: any Lane, _ deadline: Duration,
            _ runtime: Runtime,
            _ isChanged: @escaping @Sendable () throws(BackendError) -> Bool
        ) {
            self.connection = connection
            self.header = header
            // The tables that tell how the others are opened come first.
            statements = DatabaseFormat.schema + schema.filter { !DatabaseFormat.schema.contains($0) }
            (self.lane, self.deadline, self.runtime, self.isChanged) = (lane, deadline, runtime, isChanged)
        }

        var recipients: [KeyTables.Recipient] { header.keys.recipients }

        func requireOpens(with key: SealingKey) throws(BackendError) { _ = try header.open(.key(key), in: nil) }

        func nextPart() async throws(BackendError) -> [UInt8]? {
            try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: false) {
                [self] (_) throws(BackendError) in
                guard table != nil else {
                    table = 0
                    return DatabaseParts.schema(statements)
                }
                var writer = ByteWriter()
                while let table, table < statements.count, writer.bytes.count < BackupPart.size {
                    do throws(SQLiteFault) {
                        let rows = try reader(of: table)
                        guard try rows.step() else {
                            rows.finalize()
                            (self.rows, self.table) = (nil, table + 1)
                            continue
                        }
                    } catch { throw error.backendError() }
                    if let rows { try DatabaseParts.append(rows, of: table, to: &writer) }
                }
                return writer.bytes.isEmpty ? nil : writer.bytes
            }
        }

        private func reader(of table: Int) throws(SQLiteFault) -> Statement {
            if let rows { return rows }
            let made = try connection.statement("SELECT * FROM \"\(DatabaseParts.table(statements[table]))\" ORDER BY 1")
            rows = made
            return made
        }

        func hasChanged() async throws(BackendError) -> Bool { try isChanged() }

        func close() async { lane.enqueue { [self] in connection.close() } }
    }
#endif
