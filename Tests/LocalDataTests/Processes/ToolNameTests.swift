#if SQLite
    import BackendRuntime
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// The way in which the `localdata` tool finds applications, stores and collections, and refuses names that do not exist.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct ToolNameTests: ToolUser {
        let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory() }

        private struct Note: Codable, Sendable { var id: String }

        /// Runs the tool for the folders of a session, without `--root`.
        private func session(
            _ arguments: String..., variables: [String: String] = [:], input: String = ""
        ) async throws -> ProgramResult {
            try await run(
                try Program.built("localdata"), arguments + ["--key-source", "file:\(folder.file("key"))"],
                environment: environment.merging(variables) { $1 }, input: input)
        }

        @Test(arguments: [
            ["list", "defaults:odl"], ["get", "defaults:odl", "a"], ["status", "defaults:odl"], ["unlock", "defaults:odl"],
            ["remove", "defaults:odl", "a", "--yes"], ["records", "defaults:odl", "notes"], ["damaged", "list", "defaults:odl"],
            ["export", "defaults:odl", "--as-plaintext-that-anyone-can-read"], ["windows", "end", "defaults:odl", "a"],
            ["list", "sqlite:document"], ["get", "sqlite:document", "a"], ["status", "sqlite:document"], ["verify", "sqlite:document"],
            ["keys", "recipients", "sqlite:document"], ["keys", "rotate", "sqlite:document"], ["keys", "add", "sqlite:document"],
        ])
        func `a store that does not exist is an error that lists the existing ones`(arguments: [String]) async throws {
            try writeList(["a": "b"])
            #expect(try await tool("set", "sqlite:documents", "a", input: "b").status == 0)
            let result = try await run(
                try Program.built("localdata"), owned(arguments) + ["--root", folder.file("root")], environment: environment)
            let known = arguments.contains { $0.hasPrefix("sqlite:") } ? "sqlite:documents" : "defaults:old"
            #expect(result.status == 66 && result.stdout.isEmpty && result.stderr.contains(known), "\(result)")
        }

        @Test func `with --json, the error for an unknown store contains the names of the existing stores`() async throws {
            try writeList(["a": "b"])
            let result = try await tool("get", "defaults:odl", "a", "--json")
            let error = try JSONSerialization.jsonObject(with: Data(result.stderr.utf8)) as? NSDictionary
            #expect(error?["error"] as? String == "unknownStore" && error?["name"] as? String == "defaults:odl", "\(result)")
            #expect(error?["known"] as? [String] == ["defaults:old"] && error?["status"] as? Int == 66, "\(result)")
        }

        @Test func `a database that the ledger records and whose file is gone is reported as lost`() async throws {
            #expect(try await tool("set", "sqlite:documents", "a", input: "b").status == 0)
            for name in try FileManager.default.contentsOfDirectory(atPath: folder.file("root/data/databases")) {
                try FileManager.default.removeItem(atPath: folder.file("root/data/databases/\(name)"))
            }
            for command in [["verify", "sqlite:documents"], ["get", "sqlite:documents", "a"]] {
                let result = try await run(
                    try Program.built("localdata"), owned(command) + ["--root", folder.file("root")], environment: environment)
                #expect(result.status == 65 && result.stdout.isEmpty && result.stderr.contains("is lost"), "\(result)")
            }
            let status = try await tool("status")
            #expect(status.status == 65 && status.stdout.contains("sqlite:documents: LOST"), "\(status)")
            #expect(try await tool("verify").status == 65)
            let list = try await tool("list")
            #expect(list.status == 65 && list.stdout.contains("sqlite:documents  LOST"), "\(list)")
        }

        @Test func `the tool lists the applications of a session, and finds one by an option or an environment variable`() async throws {
            let none = try await session("list")
            #expect(none.status == 0 && none.stdout.isEmpty, "\(none)")
            #expect(try await session("set", "sqlite:documents", "a", "--app-id", "org.example.one", input: "b").status == 0)
            #expect(try await session("list").stdout == "org.example.one\n")
            #expect(try await session("list", "--json").stdout == #"[{"application":"org.example.one"}]"# + "\n")
            let id = ["LOCALDATA_APP_ID": "org.example.one"]
            #expect(try await session("get", "sqlite:documents", "a", variables: id).stdout == "b")
            #expect(try await session("list", variables: id).stdout == "sqlite:documents  1 value\n")
            // An option has priority over the environment.
            let other = try await session("list", "sqlite:documents", "--app-id", "org.example.two", variables: id)
            #expect(other.status == 66 && other.stderr.contains("Known: org.example.one"), "\(other)")
            let unnamed = try await session("list", "sqlite:documents")
            #expect(unnamed.status == 64 && unnamed.stderr.contains("--app-id org.example.one"), "\(unnamed)")
        }

        @Test func `the tool finds the folder of a systemd service by its name`() async throws {
            var configuration = StorageConfiguration.service(applicationID: "com.example.service")
            configuration.runtime.host.environment = ["STATE_DIRECTORY": try folder.folder("state/example")]
            configuration.deadlines.files = .seconds(120)
            let router = StorageRouter(configuration: configuration)
            try await router.set("secret", for: textKey("a", .encryptedSQLite(database: "main")))
            try await router.shutdown()
            let variables = environment.merging(["STATE_DIRECTORY": folder.file("state/example")]) { $1 }
            func tool(_ arguments: String...) async throws -> ProgramResult {
                try await run(try Program.built("localdata"), arguments, environment: variables)
            }
            #expect(try await tool("get", "sqlite:main", "a", "--service", "example.service").stdout == "secret")
            let unknown = try await tool("get", "sqlite:main", "a", "--service", "example-\(UUID().uuidString)")
            #expect(unknown.status == 66 && unknown.stderr.contains("/var/lib/example-"), "\(unknown)")
        }

        @Test func `the records of a collection are listed with their metadata, and an unknown collection is an error`() async throws {
            var configuration = StorageConfiguration(root: URL(fileURLWithPath: folder.file("root")), applicationID: "localdata")
            configuration.deadlines.files = .seconds(120)
            let router = StorageRouter(configuration: configuration)
            for domain in [StorageDomain.userDefaults(suite: "new"), .encryptedSQLite(database: "documents")] {
                let notes = StorageCollection<Note>("notes", domain: domain, owner: "Tests", description: "Notes") { $0.id }
                try await router.set([Note(id: "a"), Note(id: "b")], in: notes, attributes: ["colour": "red"])
            }
            try await router.shutdown()
            for domain in ["defaults:new", "sqlite:documents"] {
                let text = try await tool("records", domain, "notes")
                #expect(text.lines.map { String($0.prefix(10)) } == ["a  Note v1", "b  Note v1"], "\(text)")
                let json = try await tool("records", domain, "notes", "--json")
                #expect(json.stdout.contains(#""attributes":{"colour":"red"},"#) && json.stdout.contains(#""damaged":0"#), "\(json)")
                let unknown = try await tool("records", domain, "note")
                #expect(unknown.status == 66 && unknown.stdout.isEmpty, "\(unknown)")
                #expect(unknown.stderr.contains(domain.hasPrefix("sqlite") ? "encrypted" : "Known: notes"), "\(unknown)")
            }
            let listed = try await tool("list")
            #expect(listed.stdout.contains("defaults:new  0 values\n  notes  2 records\n"), "\(listed)")
            #expect(listed.stdout.contains("sqlite:documents  0 values, 2 other rows\n"), "\(listed)")
            #expect(listed.stderr.contains("encrypted"), "\(listed)")
        }
    }
#endif
