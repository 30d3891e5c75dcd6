#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import GRDB
    import Sealing

    /// Making a database: whole and durable before it has its name, so that nobody ever sees half of one.
    extension DatabaseFile {
        /// Makes the database, unless there is one by now.
        /// - Parameters:
        ///   - kek: The key that wraps its data key.
        ///   - source: What the key's source calls itself.
        ///   - deadline: Until when another process is waited for.
        func create(kek: SealingKey, source: String, deadline: MonotonicInstant) throws(BackendError) {
            try locked(deadline: deadline) { () throws(BackendError) in
                guard try fileID() == nil else { return }
                let directory = parentDirectory(of: path)
                let draft = "\(directory)/\(draftPrefix)\(hexadecimalText(of: runtime.randomBytes(8))).tmp"
                do throws(FileError) {
                    try files.createDirectory(directory)
                    try removeDrafts()
                    try files.create(draft, [])
                } catch {
                    throw error.backendError()
                }
                defer { try? removeDrafts() }
                let database = runtime.randomBytes(Keyset.databaseLength)
                let (keyset, entries) = try Keyset.make(database: database, kek: kek, randomBytes: runtime.randomBytes)
                try write(DatabaseHeader(database: database, source: source, keyset: keyset, entries: entries), to: draft)
                do throws(FileError) {
                    try files.synchronizeFile(draft)
                    try files.link(draft, to: path)
                    try files.remove(draft)
                    try files.synchronizeDirectory(directory)
                } catch {
                    throw error.backendError()
                }
            }
        }

        /// Fills a draft, with SQLite's rollback journal: it is one file again when it is closed.
        private func write(_ header: DatabaseHeader, to draft: String) throws(BackendError) {
            try SQLiteFault.translating {
                let queue = try DatabaseQueue(path: draft)
                try queue.writeWithoutTransaction { database in
                    for setting in [
                        "page_size = 4096", "synchronous = FULL", "application_id = \(DatabaseFormat.applicationID)",
                        "user_version = \(DatabaseFormat.number)",
                    ] {
                        try database.execute(sql: "PRAGMA \(setting)")
                    }
                    try database.inTransaction {
                        for statement in DatabaseFormat.schema { try database.execute(sql: statement) }
                        for (name, value) in DatabaseHeader.entries(header.database, header.source, header.features) + [("tag", header.tag)]
                        {
                            try database.execute(sql: "INSERT INTO header VALUES (?, ?)", arguments: [name, Data(value)])
                        }
                        for entry in header.keyset {
                            try database.execute(
                                sql: "INSERT INTO keyset VALUES (?, ?, ?, ?, ?)",
                                arguments: [
                                    Data(entry.key), Int(entry.state.rawValue), Data(entry.kek), Data(entry.verifier), Data(entry.wrapped),
                                ])
                        }
                        return .commit
                    }
                    try database.execute(sql: "PRAGMA journal_mode = WAL")
                }
                try queue.close()
            }
        }

        private var draftPrefix: String { ".\(lastComponent(of: path)).localdata-" }

        /// Removes drafts, those of processes that were killed too: one of them may be a second name of the database. Called with the lock held, as they are made.
        func removeDrafts() throws(FileError) {
            let directory = parentDirectory(of: path)
            for name in try files.list(directory) ?? [] where name.hasPrefix(draftPrefix) { try files.remove("\(directory)/\(name)") }
        }
    }
#endif
