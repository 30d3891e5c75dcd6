#if SQLite
    package import BackendContract
    import BackendRuntime
    package import Sealing

    /// Checks a database that is in a backup. The check writes nothing to the disk. First, one of the backup's keys
    /// must open the database's header. Then the check decrypts each row.
    package final class DatabaseBackupCheck: KeyedBackupCheck {
        private let keys: [SealingKey]
        private var small: Connection?
        private var inserter: RowInserter?
        private var statements: [String] = []
        private var headerTag: [UInt8] = []
        private var keyset: Keyset?
        private var content = KeyedBackupContent()
        private var rows = CountedSum()
        private var state: CommitState?

        /// Creates a check.
        /// - Parameter keys: The keys in the backup.
        package init(keys: [SealingKey]) { self.keys = keys }

        package func take(_ part: [UInt8]) throws(BackendError) {
            guard let inserter else {
                statements = try DatabaseParts.statements(part)
                guard statements.starts(with: DatabaseFormat.schema) else { throw DatabaseParts.damage }
                let connection = try onDatabase { () throws(SQLiteFault) in try Connection.inMemory() }
                inserter = try RowInserter(statements, in: connection)
                small = connection
                return
            }
            if DatabaseParts.fileBytes(part) != nil {
                content.isFile = true
                return
            }
            guard !content.isFile else { throw DatabaseParts.damage }
            try DatabaseParts.rows(part) { (row) throws(BackendError) in
                guard statements.indices.contains(row.table) else { throw DatabaseParts.damage }
                guard row.table >= Self.recordsTable else {
                    guard keyset == nil else { throw DatabaseParts.damage }
                    return try inserter.insert(row)
                }
                let keyset = try opened()
                switch DatabaseParts.table(statements[row.table]) {
                case "records": try check(row, keyset)
                case "state": if case .blob(let sealed)? = row.values.last { state = keyset.active.openState(sealed) }
                default: break
                }
            }
        }

        /// The index of the table `records` in the schema. The tables before it contain the header and the keys.
        private static let recordsTable = DatabaseFormat.schema.firstIndex { $0.hasPrefix("CREATE TABLE records ") } ?? 0

        private func check(_ row: DatabaseParts.Row, _ keyset: Keyset) throws(BackendError) {
            guard row.values.count == 4 else { throw DatabaseParts.damage }
            guard case .blob(let slot) = row.values[1], case .integer(let version) = row.values[2], case .blob(let sealed) = row.values[3]
            else {
                content.damaged += 1
                return
            }
            let (opened, term) = slot.withUnsafeBytes { slot in
                sealed.withUnsafeBytes { sealed in
                    let row = RawRow(slot: slot, version: version, sealed: sealed)
                    return (row.open(keyset), row.term(keyset))
                }
            }
            if let term { rows.add(term) }
            switch opened {
            case .content(let row, _): if let sealing = row.metadata.sealing { content.sealings.insert(sealing) }
            case .destroyed: break
            case .damaged, .stranger: content.damaged += 1
            case .refused(let error): throw error
            }
        }

        private func opened() throws(BackendError) -> Keyset {
            if let keyset { return keyset }
            guard let small else { throw DatabaseParts.damage }
            let header = try DatabaseHeader(reading: small)
            try DatabaseFormat.check(schema: statements, features: header.features)
            guard let key = header.keys.recipients.lazy.compactMap({ recipient in self.keys.first { $0.id == recipient.id } }).first else {
                throw BackendError(.encryptionKeyMissing, "The backup has no key for one of its databases. Use another backup.")
            }
            let keyset = try header.open(.key(key), in: nil)
            (self.keyset, headerTag) = (keyset, header.tag)
            return keyset
        }

        package func finish() throws(BackendError) -> KeyedBackupContent {
            _ = try opened()
            small?.close()
            content.isProven = !content.isFile && state?.rows == rows && state?.header == headerTag
            return content
        }
    }
#endif
