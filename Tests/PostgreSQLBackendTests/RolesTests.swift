#if PostgreSQL && os(Linux)
    import BackendContract
    import Foundation
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests of the set-up that `Docs/Formats.md` describes: an owner creates the tables, and another role uses them.
    @Suite(.slow("starts a server"), .timeLimit(.minutes(10))) struct RolesTests {
        /// Returns an SQL block of the section about the tables.
        /// - Parameter number: 0 for the statements that create the tables, 1 for those that upgrade them.
        private func documentedSQL(_ number: Int = 0) throws -> String {
            let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            let text = try String(contentsOf: top.appending(path: "Docs/Formats.md"), encoding: .utf8)
            let section = try #require(text.components(separatedBy: "### Tables of the server\n").dropFirst().first)
            let blocks = section.components(separatedBy: "```sql\n").dropFirst().map { $0.components(separatedBy: "\n```")[0] }
            return try #require(blocks.count > number ? blocks[number] : nil)
        }

        private func words(_ text: String) -> [Substring] { text.split { $0.isWhitespace } }

        @Test func `the document has the statements that create the tables`() throws {
            let made = ServerTables(schema: "localdata").creation.map { $0.replacing("\"", with: "") + ";" }.joined(separator: "\n")
            let grants = try #require(documentedSQL().range(of: "GRANT"))
            #expect(words(made) == words(String(try documentedSQL()[..<grants.lowerBound])))
        }

        @Test func `the document has the statements that upgrade the tables`() throws {
            let made = ServerTables(schema: "localdata").upgrade.map { $0.replacing("\"", with: "") + ";" }.joined(separator: "\n")
            #expect(words(made) == words(try documentedSQL(1)))
        }

        /// The tables as the first release has made them.
        private static let firstVersion = """
            CREATE TABLE localdata.schema_version (
                one boolean PRIMARY KEY DEFAULT true CHECK (one), version bigint NOT NULL, compatible bigint NOT NULL);
            INSERT INTO localdata.schema_version (version, compatible) VALUES (1, 1);
            """

        @Test func `the owner upgrades the tables, and another role cannot`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            try await place.server.sql("CREATE ROLE app LOGIN")
            try await place.server.sql(documentedSQL())
            try await place.server.sql("DROP TABLE localdata.schema_version; \(Self.firstVersion)")
            try await place.server.sql("GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA localdata TO app")
            let address = StorageAddress("token")
            let store = place.store(place.server.conninfo(user: "app"), schema: "localdata")
            guard case .unavailable(let error) = try await store.read(address) else {
                Issue.record("the tables of version 1 were used")
                return
            }
            #expect(error.code.name == "incompatibleSchema" && error.reason.contains("Docs/Formats.md"), "\(error)")
            // Several owners start at once.
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        let probe = try await place.store(schema: "localdata").read(address)
                        #expect(probe == .absent)
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await place.server.sql("SELECT version, compatible FROM localdata.schema_version") == ["3|3"])
            #expect(try await store.apply(.put(.bytes([1]), at: address)).isApplied)
        }

        @Test func `a role with the documented grants uses the tables and cannot change them`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            try await place.server.sql("CREATE ROLE app LOGIN")
            try await place.server.sql(documentedSQL())
            let conninfo = place.server.conninfo(user: "app")
            let address = StorageAddress("token")
            let store = place.store(conninfo, schema: "localdata")
            #expect(try await store.apply(.put(.bytes([1]), at: address)).isApplied)
            let count = try await store.rotateDataKey(batch: 10) { _, _ in }
            #expect(count == 1)
            #expect(try await place.store(conninfo, schema: "localdata").read(address).record?.payload == .bytes([1]))
            #expect(try await store.apply(.delete(address)).isApplied)
            await #expect(throws: ProgramFailure.self) { try await place.server.sql("DROP TABLE localdata.records", user: "app") }
        }
    }
#endif
