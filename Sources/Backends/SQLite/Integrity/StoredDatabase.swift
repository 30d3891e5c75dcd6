#if SQLite
    import BackendContract
    import BackendRuntime
    import CSQLite
    package import Foundation
    import Sealing

    /// The state of a database file as far as it can be read without its key. Reading changes no file and creates none.
    package struct StoredDatabase: Sendable {
        package let path: String
        /// A sentence about the damage; nil if there is none.
        package private(set) var damage: String?
        /// A sentence about the part that was not checked; nil if everything was.
        package private(set) var gap: String?
        /// The application that the database belongs to.
        package private(set) var application: String?
        /// The ids of the keys that open the database, by the short names of their sources.
        package private(set) var keys: [String: Swift.Set<[UInt8]>] = [:]

        /// The name of the database.
        package var name: String { String(lastComponent(of: path).dropLast(".sqlite".count)) }

        /// Reads a database.
        /// - Parameters:
        ///   - path: The path of the file.
        ///   - deadline: When to stop reading pages.
        package init(reading path: String, until deadline: Date) {
            self.path = path
            for _ in 0..<3 {
                let before = Self.statuses(path)
                damage = nil
                gap = nil
                application = nil
                keys = [:]
                check(deadline)
                if damage == nil || before == Self.statuses(path) { return }
            }
        }

        private static func statuses(_ path: String) -> [FileStatus?] {
            [path, path + "-wal"].map { (try? PosixFileSystem().status($0)) ?? nil }
        }

        // MARK: The files

        private mutating func check(_ deadline: Date) {
            let files = PosixFileSystem()
            do throws(FileError) {
                let (file, log) = (try files.status(path), try files.status(path + "-wal"))
                if let journal = try files.status(path + "-journal"), journal.size > 0 || !journal.isRegular {
                    damage = "Another program left the rollback journal \(path)-journal beside it."
                    return
                }
                guard let file, file.isRegular, file.size > 0 else {
                    damage = file == nil ? "Its file is missing, but its log is there." : "Its file is empty, or is not a file."
                    return
                }
                let hasLog = (log?.size ?? 0) > 0
                if hasLog, try files.status(path + "-shm") == nil {
                    gap = "a program was killed, and the next program that opens it recovers its log"
                    return
                }
                // Without a log, the file does not change. With a log, SQLite reads the log, and writes neither to it nor to its index.
                read(hasLog ? "mode=ro&readonly_shm=1" : "immutable=1", file.size, hasLog: hasLog, deadline)
            } catch {
                gap = "it could not be read: \(error)"
            }
        }

        private mutating func read(_ mode: String, _ size: Int64, hasLog: Bool, _ deadline: Date) {
            do throws(ReaderFault) {
                let reader = try DatabaseReader(path, mode, deadline)
                guard try reader.number("PRAGMA application_id") == 0x4C44_4231 else {
                    damage = "Its file is not a database of this library."
                    return
                }
                let length = try reader.number("PRAGMA page_count") * reader.number("PRAGMA page_size")
                if !hasLog, size < length {
                    damage = "Its file was cut off: it has \(size) of \(length) bytes."
                    return
                }
                try readHeader(reader)
                let statements = try reader.rows("SELECT coalesce(sql, type || ' ' || name) FROM sqlite_schema").compactMap(\.first)
                if let other = statements.first(where: { !$0.starts(with: "CREATE TABLE ".utf8) }) {
                    damage = "Another program changed its schema: \(String(decoding: other.prefix(60), as: UTF8.self))."
                    return
                }
                let report = try reader.rows("PRAGMA quick_check(1)").first?.first ?? []
                if report != Array("ok".utf8) {
                    // The first line of a report names the database.
                    let line = report.split(separator: UInt8(ascii: "\n")).last ?? []
                    damage = "Its pages are damaged: \(String(decoding: line.prefix(100), as: UTF8.self))."
                }
            } catch {
                switch error.code & 0xFF {
                case SQLITE_CORRUPT, SQLITE_NOTADB: damage = "Its pages are damaged: \(error.text)."
                case SQLITE_IOERR: damage = "The disk cannot be read: \(error.text)."
                case SQLITE_INTERRUPT: gap = "it is large"
                default: gap = "it could not be read: \(error.text)"
                }
            }
        }

        private mutating func readHeader(_ reader: DatabaseReader) throws(ReaderFault) {
            if let context = try reader.rows("SELECT value FROM header WHERE name = 'context'").first?.first {
                application = (try? StoreContext(bytes: context))?.application
            }
            for row in try reader.rows("SELECT source, recipient FROM wraps") where row.count == 2 {
                keys[String(decoding: row[0], as: UTF8.self), default: []].insert(row[1])
            }
        }
    }

    /// An error of SQLite.
    private struct ReaderFault: Error {
        let code: Int32

        var text: String { String(cString: sqlite3_errstr(code)) }
    }

    /// A connection that only reads, and that ends a long query at a deadline.
    private final class DatabaseReader {
        private final class Limit {
            let deadline: Date
            init(_ deadline: Date) { self.deadline = deadline }
        }

        private let handle: OpaquePointer
        private let limit: Limit

        /// Opens a database with the parameters of a URI (sqlite.org/uri.html).
        init(_ path: String, _ parameters: String, _ deadline: Date) throws(ReaderFault) {
            limit = Limit(deadline)
            let escaped = path.utf8.map { (byte) -> String in
                switch byte {
                case UInt8(ascii: "%"), UInt8(ascii: "?"), UInt8(ascii: "#"), 0x80...: "%" + hexadecimalText(of: [byte])
                default: String(Unicode.Scalar(byte))
                }
            }.joined()
            var opened: OpaquePointer?
            let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_PRIVATECACHE
            let code = sqlite3_open_v2("file:\(escaped)?\(parameters)", &opened, flags, nil)
            guard code == SQLITE_OK, let opened else {
                sqlite3_close_v2(opened)
                throw ReaderFault(code: code)
            }
            handle = opened
            // The log belongs to the programs that write the database.
            _ = localdata_set(opened, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            // SQLite calls the handler only during a call on this connection, so the object is alive.
            sqlite3_progress_handler(
                opened, 10_000,
                { limit in limit.map { Unmanaged<Limit>.fromOpaque($0).takeUnretainedValue().deadline < Date() } == true ? 1 : 0 },
                Unmanaged.passUnretained(limit).toOpaque())
            for pragma in ["query_only = ON", "trusted_schema = OFF", "cell_size_check = ON", "mmap_size = 0"] {
                _ = try rows("PRAGMA \(pragma)")
            }
        }

        deinit { sqlite3_close_v2(handle) }

        /// Returns the columns of the rows of a query as bytes.
        func rows(_ sql: String) throws(ReaderFault) -> [[[UInt8]]] {
            var statement: OpaquePointer?
            let code = sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
            guard code == SQLITE_OK, let statement else { throw ReaderFault(code: code) }
            defer { sqlite3_finalize(statement) }
            var rows: [[[UInt8]]] = []
            while true {
                switch sqlite3_step(statement) {
                case SQLITE_DONE: return rows
                case SQLITE_ROW:
                    rows.append(
                        (0..<sqlite3_column_count(statement)).map { (column) -> [UInt8] in
                            let start = sqlite3_column_blob(statement, column)
                            let bytes = UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column)))
                            return start == nil ? [] : Array(bytes)
                        })
                case let code: throw ReaderFault(code: code)
                }
            }
        }

        /// Returns the number in the first column of the first row; 0 if there is none.
        func number(_ sql: String) throws(ReaderFault) -> Int64 {
            Int64(String(decoding: try rows(sql).first?.first ?? [], as: UTF8.self)) ?? 0
        }
    }
#endif
