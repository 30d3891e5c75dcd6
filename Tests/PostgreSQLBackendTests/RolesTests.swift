#if PostgreSQL && os(Linux)
    import BackendContract
    import Foundation
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests of the set-up that `Docs/PostgreSQL.md` describes: an owner creates the tables, and another role uses them.
    @Suite(.slow("starts a server")) struct RolesTests {
        /// Returns the SQL block of the document.
        private func documentedSQL() throws -> String {
            let top = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
            let text = try String(contentsOf: top.appending(path: "Docs/PostgreSQL.md"), encoding: .utf8)
            let start = try #require(text.range(of: "```sql\n")).upperBound
            let end = try #require(text[start...].range(of: "\n```")).lowerBound
            return String(text[start..<end])
        }

        private func words(_ text: String) -> [Substring] { text.split { $0.isWhitespace } }

        @Test func `the document has the statements that create the tables`() throws {
            let made = ServerTables(schema: "localdata").creation.map { $0.replacing("\"", with: "") + ";" }.joined(separator: "\n")
            let grants = try #require(documentedSQL().range(of: "GRANT"))
            #expect(words(made) == words(String(try documentedSQL()[..<grants.lowerBound])))
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
