#if SQLite
    import Foundation
    import TestSupport
    import Testing

    /// The command `localdata forget`.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct ToolForgetTests: ToolUser {
        let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory() }

        private func store() async throws {
            #expect(try await tool("set", "sqlite:documents", "a", input: "secret").status == 0)
            #expect(try await tool("set", "sqlite:other", "b", input: "stays").status == 0)
            #expect(try await tool("set", "defaults:settings", "c", input: "plain").status == 0)
        }

        @Test func `a forgotten database is gone, other stores stay, and without consent nothing is changed`() async throws {
            try await store()
            let unasked = try await tool("forget", "sqlite:documents")
            #expect(unasked.status == 64 && unasked.stderr.contains("destroys sqlite:documents"), "\(unasked)")
            #expect(try await tool("get", "sqlite:documents", "a").stdout == "secret")
            #expect(try await tool("forget", "sqlite:documents", "--yes", "--json").stdout == "{\"done\":true}\n")
            let gone = try await tool("get", "sqlite:documents", "a")
            #expect(gone.status == 66 && gone.stderr.contains("Known: sqlite:other."), "\(gone)")
            #expect(try await tool("get", "sqlite:other", "b").stdout == "stays")
            #expect(try await tool("get", "defaults:settings", "c").stdout == "plain")
        }

        @Test func `a lost database is forgotten, so that the status no longer reports it`() async throws {
            try await store()
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.file("root/data/databases"))
            where name.hasPrefix("documents") {
                try FileManager.default.removeItem(atPath: folder.file("root/data/databases/\(name)"))
            }
            #expect(try await tool("status").status == 66)
            #expect(try await tool("forget", "sqlite:documents", "--yes").status == 0)
            let status = try await tool("status")
            #expect(status.status == 0 && !status.stdout.contains("documents"), "\(status)")
        }

        @Test func `everything includes the property lists that earlier calls wrote in the folders of a session`() async throws {
            func session(_ arguments: String..., input: String = "") async throws -> ProgramResult {
                try await run(
                    try Program.built("localdata"), arguments + ["--app-id", "com.f", "--key-source", "file:\(folder.file("key"))"],
                    environment: environment, input: input)
            }
            for list in ["defaults:com.f", "defaults:com.shared"] {
                #expect(try await session("set", list, "a", input: "secret").status == 0)
            }
            #expect(try await session("forget", "--everything", "--yes").status == 0)
            for name in ["com.f", "com.shared"] {
                #expect(!FileManager.default.fileExists(atPath: folder.file(".config/\(name).plist")), "\(name)")
            }
        }

        @Test func `a value is not stored in a lost database`() async throws {
            try await store()
            try FileManager.default.removeItem(atPath: folder.file("root/data/databases"))
            let refused = try await tool("set", "sqlite:documents", "a", input: "new")
            #expect(refused.status == 66 && refused.stderr.contains("forget sqlite:documents"), "\(refused)")
            #expect(try await tool("forget", "sqlite:documents", "--yes").status == 0)
            #expect(try await tool("set", "sqlite:documents", "a", input: "new").status == 0)
        }

        @Test func `everything is forgotten, and then the application is unknown`() async throws {
            try await store()
            #expect(try await tool("forget", "--everything", "sqlite:other", "--yes").status == 64)
            #expect(try await tool("forget", "--everything", "--yes").status == 0)
            for folder in ["data", "state"].map({ folder.file("root/\($0)") }) where FileManager.default.fileExists(atPath: folder) {
                let files = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { path in
                    var isDirectory: ObjCBool = false
                    return FileManager.default.fileExists(atPath: "\(folder)/\(path)", isDirectory: &isDirectory) && !isDirectory.boolValue
                }
                #expect(files == [])
            }
            #expect(try await tool("forget", "sqlite:documents", "--yes").status == 66)
        }
    }
#endif
