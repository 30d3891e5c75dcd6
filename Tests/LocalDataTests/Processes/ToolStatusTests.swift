#if SQLite
    import Foundation
    import LocalData
    import LocalDataCommands
    import TestSupport
    import Testing

    /// The exit statuses of the `localdata` tool, its consent to changes that lose data, and its help.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct ToolStatusTests: ToolUser {
        let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory() }

        @Test func `each exit status has a cause that the tool reports with it`() async throws {
            var seen: Set<LocalDataCommands.ExitStatus> = []
            func expect(_ status: LocalDataCommands.ExitStatus, _ result: ProgramResult, at location: SourceLocation = #_sourceLocation) {
                #expect(result.status == status.rawValue, "\(result)", sourceLocation: location)
                seen.insert(status)
            }
            try writeList(["text": "one"])
            try Data("<plist><dict><key>".utf8).write(to: URL(fileURLWithPath: folder.file("root/preferences/damaged.plist")))
            try await provideKey("vault")
            let key = try Data(contentsOf: URL(fileURLWithPath: folder.file("credentials/vault")))
            let (open, taken) = (folder.file("open-key"), folder.file("taken"))
            for path in [open, taken] { try key.write(to: URL(fileURLWithPath: path)) }
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: open)
            let program = try Program.built("localdata")
            let place = owned(["--root", folder.file("root")])

            expect(.done, try await tool("set", "sqlite:documents", "note", input: "abc"))
            expect(.noValue, try await tool("get", "defaults:old", "none"))
            expect(.usage, try await tool("get", "defaults:old"))
            expect(.damaged, try await tool("get", "defaults:damaged", "a"))
            expect(.unknownName, try await tool("get", "defaults:odl", "a"))
            expect(.unavailable, try await tool("verify", "defaults:old"))
            expect(.exists, try await tool("backup", taken, input: "open sesame\n"))
            expect(.wrongKey, try await tool("get", "sqlite:documents", "note", "--key-source", "credential:vault"))
            expect(.refused, try await tool("set", "sqlite:other", "note", "--key-source", "file:\(open)", input: "abc"))
            let full = ["-c", "exec \"$0\" \"$@\" > /dev/full", program, "list", "defaults:old"]
            expect(.noRoom, try await run("/bin/sh", full + place, environment: environment))
            expect(
                .tryAgain,
                try await run(
                    "setsid", ["--wait", program, "set", "sqlite:third", "note", "--passphrase"] + place, environment: environment,
                    input: "abc"))
            // No state of a store makes the tool fail in another way, so the remaining status is checked for an error code without a
            // special one.
            #expect(LocalDataCommands.ExitStatus(of: StorageError(StorageError.cannotTell, key: "a", "")) == .failure)
            #expect(seen.union([.failure]) == Set(LocalDataCommands.ExitStatus.allCases))
            let help = try await run(program, ["--help"], environment: environment)
            for status in LocalDataCommands.ExitStatus.allCases { #expect(help.stdout.contains("\(status.rawValue)  "), "\(status)") }
        }

        @Test func `the tool ends without a message when the reader of its output has ended`() async throws {
            try writeList(["text": "one"])
            // The fifo has a reader while the shell opens it, and none when the tool writes. Libraries may ignore SIGPIPE, so it is ignored.
            let script = "trap '' PIPE; mkfifo \"$1\"; exec 3<>\"$1\" 4>\"$1\" 3<&-; shift; exec \"$0\" \"$@\" >&4"
            let arguments = ["-c", script, try Program.built("localdata"), folder.file("pipe"), "list", "defaults:old"]
            let ended = try await run("/bin/bash", arguments + owned(["--root", folder.file("root")]), environment: environment)
            #expect(ended.status == 141 && ended.stderr.isEmpty, "\(ended)")
        }

        @Test func `a change that loses data needs --yes, or the word yes on a terminal`() async throws {
            try writeList(["text": "one"])
            for arguments in [["remove", "defaults:old", "text"], ["damaged", "set-aside", "defaults:old"]] {
                let refused = try await run(
                    try Program.built("localdata"), owned(arguments) + ["--root", folder.file("root")], environment: environment)
                #expect(refused.status == 64 && refused.stderr.contains("--yes"), "\(refused)")
            }
            let declined = try await onTerminal("remove", "defaults:old", "text", answers: ["no\n"])
            #expect(declined.status == 64 && declined.stdout.contains("Nothing was changed"), "\(declined.stdout)")
            #expect(try await tool("get", "defaults:old", "text").stdout == "one")
            let agreed = try await onTerminal("remove", "defaults:old", "text", answers: ["yes\n"])
            #expect(agreed.status == 0, "\(agreed.stdout)")
            #expect(try await tool("get", "defaults:old", "text").status == 1)
        }

        @Test func `get writes the bytes of a value to a pipe, and set stores bytes with --raw`() async throws {
            let set = "printf 'a\\377\\n' | \"$0\" set defaults:new data --raw \"$@\""
            let get = "\"$0\" get defaults:new data \"$@\" | od -An -tx1"
            let result = try await run(
                "/bin/sh", ["-c", "\(set) && \(get)", try Program.built("localdata")] + owned(["--root", folder.file("root")]),
                environment: environment)
            #expect(result.stdout.split(whereSeparator: \.isWhitespace) == ["61", "ff", "0a"], "\(result)")
            #expect(try await tool("set", "defaults:new", "text", input: "two\nlines\n").status == 0)
            #expect(try await tool("get", "defaults:new", "text").stdout == "two\nlines")
            let shown = try await onTerminal("get", "defaults:new", "text", answers: [])
            #expect(shown.stdout.hasPrefix("two\r\nlines\r\n"), "\(shown.stdout)")
            let raw = try await onTerminal("get", "defaults:new", "text", "--raw", answers: [])
            #expect(raw.stdout.hasPrefix("two\r\nlines0 answers left"), "\(raw.stdout)")
        }

        /// A command in the description of the tool that the argument parser prints.
        private struct Described: Decodable {
            let commandName: String
            let discussion: String?
            let subcommands: [Described]?

            /// The names of the commands whose help has no example.
            var withoutExample: [String] {
                let own = discussion?.contains("Example: ") == true ? [] : [commandName]
                return own + (subcommands ?? []).filter { $0.commandName != "help" }.flatMap(\.withoutExample)
            }
        }

        private struct Description: Decodable { let command: Described }

        @Test func `the help of every command has an example, and the tool prints its version and completions`() async throws {
            let program = try Program.built("localdata")
            let dumped = try await run(program, ["--experimental-dump-help"], environment: environment)
            let description = try JSONDecoder().decode(Description.self, from: Data(dumped.stdout.utf8))
            #expect(description.command.withoutExample == [])
            #expect((description.command.subcommands ?? []).count > 15)
            let version = try await run(program, ["--version"], environment: environment)
            #expect(version.status == 0 && version.stdout.hasPrefix("localdata"), "\(version)")
            for shell in ["bash", "zsh", "fish"] {
                let script = try await run(program, ["--generate-completion-script", shell], environment: environment)
                #expect(script.status == 0 && script.stdout.contains("change-source"), "\(shell)")
            }
        }
    }
#endif
