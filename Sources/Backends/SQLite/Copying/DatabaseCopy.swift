#if SQLite
    package import BackendContract
    package import BackendRuntime
    package import Sealing

    /// A database to back up. The copy contains one state of the database, which is read in one transaction. This
    /// transaction does not wait for a writer, and no writer waits for it.
    package struct DatabaseBackup: KeyedBackupStore {
        let path: String
        let lock: String
        private let deadline: Duration
        let runtime: Runtime

        package var backupLock: String? { lock }
        package var neighborLock: String? { DatabaseFile.neighborLock(of: path) }

        /// Stores the paths of the database and its lock file. Opens nothing.
        package init(path: String, lock: String, deadline: Duration, runtime: Runtime) {
            (self.path, self.lock, self.deadline, self.runtime) = (runtime.files.resolve(path), lock, deadline, runtime)
        }

        package func draft(
            at path: String, keys: [SealingKey], own: RestoredKey
        ) async throws(BackendError) -> any RestoreDraft {
            try await DatabaseDraft(path: path, keys: keys, own: own, deadline: deadline, runtime: runtime)
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
                        try connection.execute("\(DatabaseFormat.sorting); BEGIN")
                    } catch { throw error.backendError() }
                    try connection.checkFormat()
                    return DatabaseCopy(
                        connection, at: path, try DatabaseHeader(reading: connection),
                        try connection.texts(DatabaseFormat.schemaQuery + " ORDER BY name"),
                        version: try connection.number(DatabaseCopy.versionQuery), lane, limit, runtime
                    ) { () throws(BackendError) in try Self.state(of: path, runtime) != before }
                }
            }
        }

        /// Returns the status of the database file and of its write-ahead log, which changes with each commit. An empty
        /// log is ignored, because it may appear and disappear without a commit. The time of the last status change is
        /// ignored: it changes when SQLite opens a log, because SQLite sets the owner of the log.
        private static func state(of path: String, _ runtime: Runtime) throws(BackendError) -> [FileStatus?] {
            var states = try onDisk { () throws(FileError) in [try runtime.files.status(path), try runtime.files.status(path + "-wal")] }
            if states[1]?.size == 0 { states[1] = nil }
            return states.map { status in
                var status = status
                status?.changed = 0
                return status
            }
        }
    }

    /// A copy of one state of a database. The backup gets it in parts, which are arrays of bytes.
    ///
    /// `@unchecked Sendable`: only one call at a time, on the lane (a serial queue), uses connection, statement and
    /// position.
    final class DatabaseCopy: KeyedBackupCopy, @unchecked Sendable {
        let header: DatabaseHeader
        private let connection: Connection
        private let statements: [String]
        private let lane: any Lane
        private let deadline: Duration
        private let runtime: Runtime
        private let isChanged: @Sendable () throws(BackendError) -> Bool
        private let path: String
        /// SQLite's `data_version` of the state that is copied.
        private let version: Int
        /// The number of the table whose rows are being read; nil before the first part of the backup. The first part
        /// contains the statements that create the tables.
        private var table: Int?
        private var rows: DatabaseRows?
        /// The error of a damaged row, which prevents reading further rows. The rows before the damaged one are
        /// returned first, as a separate part.
        private var damage: BackendError?
        /// The copy of all pages of the database file, which is made if rows cannot be read.
        private var image: DatabaseImage?

        /// The statement whose result changes when another connection has committed something.
        static let versionQuery = "PRAGMA data_version"

        init(
            _ connection: Connection, at path: String, _ header: DatabaseHeader, _ schema: [String], version: Int, _ lane: any Lane,
            _ deadline: Duration, _ runtime: Runtime, _ isChanged: @escaping @Sendable () throws(BackendError) -> Bool
        ) {
            self.connection = connection
            (self.path, self.version) = (path, version)
            self.header = header
            // The basic tables come first, because their content is needed to open the other rows.
            statements = DatabaseFormat.schema + schema.filter { !DatabaseFormat.schema.contains($0) }
            (self.lane, self.deadline, self.runtime, self.isChanged) = (lane, deadline, runtime, isChanged)
        }

        var recipients: [KeyTables.Recipient] { header.keys.recipients }

        func requireOpens(with key: SealingKey) throws(BackendError) { _ = try header.open(.key(key), in: nil) }

        func nextPart() async throws(BackendError) -> [UInt8]? {
            while true {
                switch try await onLane({ [self] () throws(BackendError) in try step() }) {
                case .part(let part): return part
                case .more: continue
                case .end: return nil
                }
            }
        }

        private enum Step: Sendable {
            case part([UInt8])
            /// The step has done some work, but no part of the backup is complete yet.
            case more
            case end
        }

        private func step() throws(BackendError) -> Step {
            if let image {
                guard try image.step() else { return .more }
                return try image.next().map { .part(DatabaseParts.file($0)) } ?? .end
            }
            guard table != nil else {
                table = 0
                return .part(DatabaseParts.schema(statements))
            }
            do throws(BackendError) { return try rowsPart().map { .part($0) } ?? .end } catch {
                // If the database is damaged, copy the whole file.
                // Reason: "A damaged database is copied as its pages" in Docs/Decisions/Backups.md.
                guard error.code == .corrupted else { throw error }
                rows?.end()
                rows = nil
                image = try DatabaseImage(of: connection, at: path, runtime)
                return .more
            }
        }

        /// Returns a part with the next rows; nil after the last ones. If a row is damaged, this call returns the rows
        /// before it, and the next call throws. These rows include the header and the keys, which a check of the backup
        /// needs.
        private func rowsPart() throws(BackendError) -> [UInt8]? {
            if let damage { throw damage }
            var writer = ByteWriter()
            var whole = 0
            do throws(BackendError) { try appendRows(to: &writer, &whole) } catch {
                guard error.code == .corrupted, whole > 0 else { throw error }
                damage = error
                writer.bytes.removeSubrange(whole...)
            }
            return writer.bytes.isEmpty ? nil : writer.bytes
        }

        /// Appends rows until the part is full.
        /// - Parameter whole: Is set to the length of `writer` after the last complete row. If a row fails, the caller
        ///   removes the bytes after this length.
        private func appendRows(to writer: inout ByteWriter, _ whole: inout Int) throws(BackendError) {
            while let table, table < statements.count, writer.bytes.count < BackupPart.size {
                let rows: DatabaseRows
                if let known = self.rows {
                    rows = known
                } else {
                    rows = try DatabaseRows(connection, table: table, named: DatabaseParts.table(statements[table]))
                    self.rows = rows
                }
                guard try !rows.append(to: &writer) else {
                    whole = writer.bytes.count
                    continue
                }
                rows.end()
                (self.rows, self.table) = (nil, table + 1)
            }
        }

        func isDamaged() async -> Bool { (try? await onLane { [self] () throws(BackendError) in image != nil }) ?? false }

        /// Returns whether the database is still in the copied state. Compares SQLite's `data_version` on the
        /// connection that read this state.
        /// Reason: "A restore re-checks databases by data_version" in Docs/Decisions/Backups.md.
        func isPresent() async throws(BackendError) -> Bool {
            if try isChanged() { return false }
            return try await onLane { [self] () throws(BackendError) in
                rows?.end()
                rows = nil
                // After a damaged page, SQLite refuses to commit even a transaction that has only read, so roll it
                // back.
                do throws(SQLiteFault) { try connection.execute("ROLLBACK") } catch { throw error.backendError() }
                return try connection.number(Self.versionQuery) == version
            }
        }

        private func onLane<R: Sendable>(_ work: @escaping @Sendable () throws(BackendError) -> R) async throws(BackendError) -> R {
            try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: false) {
                (_) throws(BackendError) in try work()
            }
        }

        func hasChanged() async throws(BackendError) -> Bool { try isChanged() }

        func close() async {
            lane.enqueue { [self] in
                image?.end()
                connection.close()
            }
        }
    }
#endif
