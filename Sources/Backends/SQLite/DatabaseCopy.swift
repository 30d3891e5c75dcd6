#if SQLite
    package import BackendContract
    package import BackendRuntime
    package import Sealing

    /// A database that a backup copies: one state of it, in a read transaction that waits for no writer and that no writer waits for.
    package struct DatabaseBackup: KeyedBackupStore {
        private let path: String
        private let lock: String
        private let deadline: Duration
        private let runtime: Runtime

        package var backupLock: String? { lock }
        package var neighborLock: String? { DatabaseFile.neighborLock(of: path) }

        /// Names the database; nothing is opened.
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
                        try connection.execute("BEGIN")
                    } catch { throw error.backendError() }
                    try connection.checkFormat()
                    return DatabaseCopy(
                        connection, at: path, try DatabaseHeader(reading: connection), try connection.texts(DatabaseFormat.schemaQuery),
                        version: try connection.number(DatabaseCopy.versionQuery), lane, limit, runtime
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
        private let path: String
        /// What SQLite numbered the state with.
        private let version: Int
        /// The table whose rows are read; nil before the part with the statements.
        private var table: Int?
        private var rows: DatabaseRows?
        /// Why no further row can be read; the rows before are in parts of their own.
        private var damage: BackendError?
        /// The pages, where rows cannot be read.
        private var image: DatabaseImage?

        /// The statement that gives another number once another connection has committed something.
        static let versionQuery = "PRAGMA data_version"

        init(
            _ connection: Connection, at path: String, _ header: DatabaseHeader, _ schema: [String], version: Int, _ lane: any Lane,
            _ deadline: Duration, _ runtime: Runtime, _ isChanged: @escaping @Sendable () throws(BackendError) -> Bool
        ) {
            self.connection = connection
            (self.path, self.version) = (path, version)
            self.header = header
            // The tables that tell how the others are opened come first.
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
            /// Something was done, within the deadline, that gave no part yet.
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
                // Copy the file as it is: somebody may repair it and read the rows that SQLite cannot read now. Without them, their values would count as absent.
                guard error.code == .corrupted else { throw error }
                rows?.end()
                rows = nil
                image = try DatabaseImage(of: connection, at: path, runtime)
                return .more
            }
        }

        /// The next rows; nil after the last. Those before a damaged one come first: the header and the keys are among them, and whoever
        /// checks the backup needs them.
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

        /// - Parameter whole: How many bytes are whole rows.
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

        /// No two connections number their states alike: this one, which has read the state, is asked again.
        func isPresent() async throws(BackendError) -> Bool {
            if try isChanged() { return false }
            return try await onLane { [self] () throws(BackendError) in
                rows?.end()
                rows = nil
                // Where a page was damaged, SQLite refuses to commit even a transaction that has only read.
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
