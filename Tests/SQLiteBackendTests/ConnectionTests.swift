#if SQLite
    import BackendContract
    import BackendRuntime
    import CSQLite
    import Foundation
    import Synchronization
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

        @Test func `a database is opened with its log before the check that the file was not replaced`() async throws {
            let place = try Place()
            let writer = place.store()
            _ = try await writer.apply([.text("a value", at: "name")])
            await writer.close()
            // The status of the rollback journal is read twice: at the beginning, and by the check.
            let isLogOpen = Shared<[Bool]>([])
            var runtime = Runtime.live
            runtime.files = HookedFiles { operation, path in
                guard operation == "status", path == place.path + "-journal" else { return }
                let files = try? openFiles()
                isLogOpen.value.withLock { $0.append(files?.contains(place.logPath) == true) }
            }
            let reader = place.store(runtime: runtime)
            #expect(try await reader.recipients().count == 1)
            #expect(isLogOpen.value.withLock(\.self) == [false, true])
            await reader.close()
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

        @Test func `the head of a database is read from the file only while the log is empty, and is that of SQLite`() throws {
            let writer = try Connection(path: path)
            try writer.execute("PRAGMA application_id = 7; PRAGMA user_version = 3")
            for rows in [1, 100] {
                for isEmptied in [false, true] {
                    if isEmptied { #expect(writer.checkpoint(isEmptied: true)) }
                    let reader = try Connection.reading(path)
                    defer { reader.close() }
                    var bytes = [UInt8](repeating: 0, count: 100)
                    #expect(localdata_header(reader.handle, &bytes) == (isEmptied ? SQLITE_OK : SQLITE_NOTFOUND))
                    let head = try DatabaseHead(reader)
                    #expect(head.applicationID == 7 && head.format == 3)
                    #expect(try head.length == reader.number("PRAGMA page_count") * 4_096)
                }
                for _ in 0..<rows { try writer.execute("INSERT INTO t VALUES (randomblob(2000))") }
            }
        }

        @Test func `the head of a database without a log is read by SQLite, and no log is made`() throws {
            let path = folder.file("plain.sqlite")
            try PlainDatabase(path: path).execute("CREATE TABLE t (a); PRAGMA application_id = 7; PRAGMA user_version = 3")
            let head = try DatabaseHead(try Connection.reading(path))
            #expect(head.applicationID == 7 && head.format == 3 && head.length == 8_192)
            #expect(!FileManager.default.fileExists(atPath: path + "-shm"))
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
