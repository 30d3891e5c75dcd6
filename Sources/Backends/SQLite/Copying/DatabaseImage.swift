#if SQLite
    import BackendContract
    import BackendRuntime
    import CSQLite

    /// A copy of the pages of a damaged database, in the state that a connection reads, including pages in the
    /// write-ahead log. SQLite copies the pages without interpreting them. The copy is a file beside the database,
    /// because SQLite copies pages only into another database. The content of the file is encrypted like the database.
    final class DatabaseImage {
        private let path: String
        private let files: any FileSystem
        private let copy: Connection
        private let pages: OpaquePointer
        private var isWhole = false
        private var offset: Int64 = 0

        /// Creates the file of the copy. Removes files that killed processes left.
        init(of source: Connection, at database: String, _ runtime: Runtime) throws(BackendError) {
            let folder = parentDirectory(of: database)
            let prefix = ".\(lastComponent(of: database)).copy-"
            files = runtime.files
            path = "\(folder)/\(prefix)\(hexadecimalText(of: runtime.randomBytes(8))).tmp"
            do throws(FileError) {
                for name in try files.list(folder) ?? [] where name.hasPrefix(prefix) { try files.remove("\(folder)/\(name)") }
                try files.create(path, [])
            } catch { throw error.backendError() }
            do throws(SQLiteFault) {
                copy = try Connection(path: path, leavesLog: false)
                for setting in ["journal_mode = OFF", "synchronous = OFF"] { try copy.execute("PRAGMA \(setting)") }
                pages = try source.copyPages(to: copy)
            } catch {
                try? files.remove(path)
                throw error.backendError()
            }
        }

        /// Copies some pages.
        /// - Returns: Whether all pages are copied.
        func step() throws(BackendError) -> Bool {
            if isWhole { return true }
            let code = sqlite3_backup_step(pages, 2_048)
            switch code {
            case SQLITE_OK: return false
            case SQLITE_DONE:
                sqlite3_backup_finish(pages)
                copy.close()
                isWhole = true
                return true
            default: throw SQLiteFault(code).backendError()
            }
        }

        /// Returns the next bytes of the copy; nil after the last ones.
        func next() throws(BackendError) -> [UInt8]? {
            let bytes = try onDisk { () throws(FileError) in try files.read(path, from: offset, count: BackupPart.size) ?? [] }
            offset += Int64(bytes.count)
            return bytes.isEmpty ? nil : bytes
        }

        /// Ends the copy and removes its file.
        func end() {
            if !isWhole {
                sqlite3_backup_finish(pages)
                copy.close()
            }
            isWhole = true
            // A file that cannot be removed now is harmless, because its content is encrypted. The next copy removes
            // it.
            for ending in ["", "-journal", "-wal", "-shm"] { try? files.remove(path + ending) }
        }
    }

    extension Connection {
        /// Begins to copy the pages of the state that this connection reads.
        fileprivate func copyPages(to copy: Connection) throws(SQLiteFault) -> OpaquePointer {
            guard let pages = sqlite3_backup_init(copy.handle, "main", handle, "main") else {
                throw SQLiteFault(sqlite3_errcode(copy.handle))
            }
            return pages
        }
    }
#endif
