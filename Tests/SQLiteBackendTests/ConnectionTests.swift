#if SQLite
    import CSQLite
    import Foundation
    import TestSupport
    import Testing

    @testable import SQLiteBackend

    /// Tests of the settings that a connection has before its first statement, and of closing a connection.
    @Suite(.inTurn) struct ConnectionTests {
        private let folder: TemporaryDirectory
        private let path: String

        init() throws {
            folder = try TemporaryDirectory()
            path = folder.file("a.sqlite")
            try PlainDatabase(path: path).execute("CREATE TABLE t (a); PRAGMA journal_mode = WAL")
        }

        private func openFiles() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
        }

        @Test func `a connection for reading has opened the log before its caller checks that the file was not replaced`() throws {
            let reader = try Connection.reading(path)
            #expect(try openFiles().contains(path + "-wal"))
            reader.close()
        }

        @Test func `opening creates no file and does not treat a path as a URI`() throws {
            #expect(throws: SQLiteFault.self) { try Connection(path: folder.file("b.sqlite")) }
            #expect(throws: SQLiteFault.self) { try Connection(path: "file:\(path)?mode=rw") }
            #expect(throws: SQLiteFault.self) { try Connection(path: "a.sqlite") }
            #expect(!FileManager.default.fileExists(atPath: folder.file("b.sqlite")))
        }

        @Test func `double quotes delimit only names, and result codes are extended`() throws {
            let connection = try Connection(path: path)
            #expect(throws: SQLiteFault.self) { try connection.execute("INSERT INTO t VALUES (\"text\")") }
            try connection.execute("CREATE UNIQUE INDEX i ON t (a); INSERT INTO t VALUES (1)")
            let fault = #expect(throws: SQLiteFault.self) { try connection.execute("INSERT INTO t VALUES (1)") }
            #expect(fault?.code == SQLITE_CONSTRAINT | (8 << 8))
        }

        @Test func `closing finalizes every statement, and the last connection keeps the log`() throws {
            let connection = try Connection(path: path)
            let statement = try connection.keptStatement("INSERT INTO t VALUES (2)")
            try statement.run()
            let reader = try Connection.reading(path)
            let query = try reader.keptStatement("SELECT a FROM t")
            #expect(try query.step())
            connection.close()
            reader.close()
            #expect(try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int ?? 0 > 0)
            #expect(try !openFiles().contains { $0.hasPrefix(path) })
            #expect(try PlainDatabase(path: path).value("SELECT a FROM t") == .integer(2))
        }
    }
#endif
