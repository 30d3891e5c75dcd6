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
            #expect(try await tool("status").status == 65)
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
            #expect(refused.status == 65 && refused.stderr.contains("forget sqlite:documents"), "\(refused)")
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

        // MARK: Other owners

        /// Returns the contents of all files of the folder, except locks and the files in which SQLite has only an index of its log.
        private func contents() throws -> [String: Data] {
            var found: [String: Data] = [:]
            for name in try FileManager.default.subpathsOfDirectory(atPath: folder.file("root"))
            where !name.contains("lock") && !name.hasSuffix("-shm") {
                if let data = FileManager.default.contents(atPath: folder.file("root/\(name)")), !data.isEmpty { found[name] = data }
            }
            return found
        }

        /// Commands that destroy, change or create something, with a wrong application id.
        private static let changes: [[String]] = [
            ["forget", "--everything", "--yes"], ["forget", "sqlite:documents", "--yes"], ["forget", "defaults:settings", "--yes"],
            ["set", "sqlite:documents", "a"], ["set", "sqlite:new", "a"], ["set", "defaults:settings", "c"],
            ["set", "--sealed", "defaults:settings", "d"], ["remove", "sqlite:documents", "a", "--yes"],
            ["remove", "defaults:settings", "c", "--yes"], ["import", "sqlite:documents", "a", "--replace", "--yes"],
            ["restore", "/dev/null"], ["keys", "rotate"], ["keys", "rotate", "sqlite:documents"], ["keys", "add", "sqlite:documents"],
            ["keys", "remove", "sqlite:documents", "0000000000000000", "--yes"], ["keys", "recover", "sqlite:documents"],
            ["keys", "change-source", "sqlite:documents", "--from", "credential:none"], ["quarantine", "purge", "q", "--yes"],
            ["damaged", "remove", "sqlite:documents", "none", "--yes"], ["damaged", "set-aside", "defaults:settings", "--yes"],
            ["windows", "end", "sqlite:documents", "a"], ["verify", "sqlite:documents", "--accept-contents", "--yes"],
        ]

        @Test(arguments: changes)
        func `with the id of another application, a command changes nothing in the folder`(_ arguments: [String]) async throws {
            try await store()
            let before = try contents()
            let refused = try await run(
                try Program.built("localdata"), arguments + ["--app-id", "com.typo", "--root", folder.file("root")],
                environment: environment, input: "x")
            // A handle that is none is a wrong usage, whatever the application.
            #expect(refused.status == (arguments.contains("none") && arguments[0] == "damaged" ? 64 : 78), "\(refused)")
            #expect(try contents() == before)
            #expect(try await tool("get", "sqlite:documents", "a").stdout == "secret")
        }

        @Test func `everything in a folder that names no application is not forgotten, and its stores are one by one`() async throws {
            try writeList(["a": "theirs"], suite: "theirs")
            let refused = try await tool("forget", "--everything", "--yes")
            #expect(refused.status == 78 && refused.stderr.contains("one by one"), "\(refused)")
            #expect(try await tool("get", "defaults:theirs", "a").stdout == "theirs")
            #expect(try await tool("forget", "defaults:theirs", "--yes").status == 0)
        }

        @Test func `a folder with property lists only is forgotten by the application that wrote them`() async throws {
            #expect(try await tool("set", "defaults:settings", "c", input: "plain").status == 0)
            let typo = try await tool("forget", "--everything", "--yes", "--app-id", "com.typo")
            #expect(typo.status == 78 && typo.stderr.contains("--app-id localdata"), "\(typo)")
            #expect(try await tool("forget", "--everything", "--yes").status == 0)
            #expect(try await tool("forget", "--everything", "--yes").status == 0)
            #expect(!FileManager.default.fileExists(atPath: folder.file("root/preferences/settings.plist")))
        }

        @Test func `what is destroyed is listed with application and user before the question`() async throws {
            try await store()
            for arguments in [["--everything"], ["sqlite:documents"], ["defaults:settings"]] {
                let asked = try await run(
                    try Program.built("localdata"), ["forget"] + arguments + ["--app-id", "localdata", "--root", folder.file("root")],
                    environment: environment)
                let stores =
                    arguments == ["--everything"] ? ["sqlite:documents", "sqlite:other", "defaults:settings", "ledger"] : arguments
                for store in stores { #expect(asked.stderr.contains("\(store): application localdata, user "), "\(asked)") }
                #expect(asked.status == 64)
                if arguments == ["--everything"] { #expect(asked.stderr.contains("root/data/sealing-key: "), "\(asked)") }
            }
            let removal = try await tool("remove", "sqlite:documents", "a")
            #expect(removal.status == 64 && removal.stderr.contains("The owner is the application localdata, user "), "\(removal)")
        }

        @Test func `forgetting an application of a session leaves the property list that has the name of the tool`() async throws {
            func session(_ arguments: String..., input: String = "") async throws -> ProgramResult {
                try await run(
                    try Program.built("localdata"), arguments + ["--key-source", "file:\(folder.file("key"))"],
                    environment: environment, input: input)
            }
            #expect(try await session("set", "defaults:localdata", "a", input: "theirs").status == 0)
            #expect(try await session("set", "defaults:com.f", "a", "--app-id", "com.f", input: "x").status == 0)
            #expect(try await session("forget", "--everything", "--yes", "--app-id", "com.f").status == 0)
            #expect(try await session("get", "defaults:localdata", "a").stdout == "theirs")
        }

        @Test(.enabled(if: geteuid() == 0, "changes owners"), arguments: changes)
        func `root changes nothing in the folder of another user`(_ arguments: [String]) async throws {
            try await store()
            let root = folder.file("root")
            for name in try FileManager.default.subpathsOfDirectory(atPath: root) { #expect(chown("\(root)/\(name)", 65_534, 65_534) == 0) }
            #expect(chown(root, 65_534, 65_534) == 0)
            let before = try FileManager.default.subpathsOfDirectory(atPath: root).sorted()
            let refused = try await run(
                try Program.built("localdata"), owned(arguments) + ["--root", root], environment: environment, input: "x")
            #expect(refused.status == (arguments.contains("none") && arguments[0] == "damaged" ? 64 : 77), "\(refused)")
            #expect(try FileManager.default.subpathsOfDirectory(atPath: root).sorted() == before)
            // The user's own program still finds everything.
            try setPermissions(0o755, of: folder.path)
            let command = try Program.asNobody(try Program.built("localdata"))
            let found = try await run(
                command[0], command.dropFirst() + owned(["get", "sqlite:documents", "a"]) + ["--root", root], environment: environment)
            #expect(found.stdout == "secret", "\(found)")
        }
    }
#endif
