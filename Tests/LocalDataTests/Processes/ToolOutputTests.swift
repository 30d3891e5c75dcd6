#if SQLite
    import Foundation
    import LocalData
    import TestSupport
    import Testing

    /// The output of the `localdata` tool, and the input that it refuses.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct ToolOutputTests: ToolUser {
        let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory() }

        /// A text that an attacker can store in a property list. Its control characters move the cursor, hide text and
        /// reverse it.
        private let hostile = "a\u{1B}]0;title\u{7}\u{9B}2J\u{202E}\u{200B}\u{E0041}z"
        private let escaped = #"a\u{1b}]0;title\u{7}\u{9b}2J\u{202e}\u{200b}\u{e0041}z"#

        private func json(_ result: ProgramResult) throws -> NSObject? {
            #expect(result.stdout.split(separator: "\n").count == 1, "\(result.stdout) \(result.stderr)")
            return try JSONSerialization.jsonObject(with: Data(result.stdout.utf8), options: .fragmentsAllowed) as? NSObject
        }

        @Test func `the set command refuses a value as an argument, and then stores nothing`() async throws {
            let refused = try await tool("set", "defaults:new", "a", "hunter2")
            #expect(refused.status == 64)
            #expect(!FileManager.default.fileExists(atPath: folder.file("root/preferences/new.plist")))
            let help = try await tool("set", "--help")
            #expect(help.stdout.contains("<name>") && !help.stdout.contains("<value>"), "\(help.stdout)")
        }

        @Test func `a typed value is not shown, and Control-C stores nothing`() async throws {
            let set = try await onTerminal("set", "defaults:new", "a", answers: ["hunter2\n"])
            #expect(set.status == 0 && set.stdout.contains("Value of a: ") && !set.stdout.contains("hunter2"), "\(set.stdout)")
            #expect(try await tool("get", "defaults:new", "a").stdout == "hunter2")
            #expect(try await onTerminal("set", "defaults:new", "b", answers: ["\u{3}"]).status == 64)
            #expect(try await tool("get", "defaults:new", "b").status == 1)
        }

        @Test func `a typed line that the terminal may have cut is refused, and nothing is stored`() async throws {
            let set = try await onTerminal("set", "defaults:new", "a", answers: [String(repeating: "x", count: 5_000) + "\n"])
            #expect(set.status == 64 && set.stdout.contains("Use a pipe"), "\(set.stdout)")
            #expect(try await tool("get", "defaults:new", "a").status != 0)
        }

        @Test func `a terminal gets no control characters from names or values`() async throws {
            try writeList([hostile: "x", "plain": hostile, "data": Data("x\u{1B}y".utf8), "lines": "one\n\ttwo\u{1B}"])
            let commands = [
                ["list", "defaults:old"], ["get", "defaults:old", hostile, "--kind"], ["get", "defaults:old", "plain"],
                ["get", "defaults:old", "data"], ["get", "defaults:old", "lines"],
                ["get", "defaults:old", hostile + "!"],
            ]
            for command in commands {
                let shown = try await onTerminal(command, answers: [])
                for scalar in ["\u{1B}", "\u{7}", "\u{9B}", "\u{202E}", "\u{200B}", "\u{E0041}"] {
                    #expect(!shown.stdout.contains(scalar), "\(command)")
                }
            }
            #expect(try await onTerminal(["list", "defaults:old"], answers: []).stdout.contains(escaped))
            #expect(try await onTerminal(["get", "defaults:old", "plain"], answers: []).stdout.contains(escaped))
            #expect(try await onTerminal(commands[4], answers: []).stdout.contains("one\r\n\ttwo\\u{1b}"))
            // A program that reads the output gets the unchanged bytes.
            #expect(try await tool("get", "defaults:old", "plain").stdout == hostile)
            #expect(try await tool("list", "defaults:old").stdout.contains(hostile + "\n"))
            let listed = try json(try await tool("list", "defaults:old", "--json")) as? [[String: String]]
            #expect(listed?.contains(["name": hostile]) == true)
        }

        @Test func `an error in a pipe has no control characters`() async throws {
            try writeList(["plain": "x"])
            let refused = try await tool("get", "defaults:old", hostile)
            #expect(refused.stderr.contains(escaped), "\(refused.stderr)")
        }

        @Test func `invalid UTF-8 is refused as an argument, as input and as a typed answer`() async throws {
            let program = try Program.built("localdata")
            let script = "exec \"$0\" set defaults:new \"$(printf 'a\\377')\" --root \"$1\""
            let argument = try await run(
                "/bin/sh", ["-c", script, program, folder.file("root")], environment: environment, input: "x")
            #expect(argument.status == 64 && argument.stderr.contains("UTF-8"), "\(argument.stderr)")
            let input = try await run(
                "/bin/sh", ["-c", "printf 'x\\377' | \"$0\" set defaults:new a --root \"$1\"", program, folder.file("root")],
                environment: environment)
            #expect(input.status == 64 && input.stderr.contains("UTF-8"), "\(input.stderr)")
            let typed = try await onTerminal("set", "defaults:new", "a", answers: ["x\\xff\n"])
            #expect(typed.status == 64 && typed.stdout.contains("UTF-8"), "\(typed.stdout)")
            #expect(!FileManager.default.fileExists(atPath: folder.file("root/preferences/new.plist")))
        }

        @Test func `with --json, a command prints its answer as one line of JSON`() async throws {
            try writeList(["text": "one\u{9B}", "date": Date(timeIntervalSinceReferenceDate: 0), "data": Data([0xFF])])
            func answer(_ arguments: String..., input: String = "") async throws -> NSObject? {
                try json(
                    try await run(
                        try Program.built("localdata"), owned(arguments) + ["--json", "--root", folder.file("root")],
                        environment: environment, input: input))
            }
            let done: NSObject = ["done": true] as NSDictionary
            #expect(try await answer("status", "defaults:old") == [["domain": "defaults:old", "status": "ready"]] as NSArray)
            #expect(try await answer("unlock", "defaults:old") == done)
            #expect(
                try await answer("list", "defaults:old") == [["name": "data"], ["name": "date"], ["name": "text"]] as NSArray)
            #expect(try await answer("get", "defaults:old", "text", "--kind") == ["name": "text", "kind": "text"] as NSDictionary)
            #expect(
                try await answer("get", "defaults:old", "text")
                    == ["name": "text", "kind": "text", "value": "one\u{9B}"] as NSDictionary)
            #expect(
                try await answer("get", "defaults:old", "data")
                    == ["name": "data", "kind": "data", "value": "/w=="] as NSDictionary)
            #expect(
                try await answer("get", "defaults:old", "date")
                    == ["name": "date", "kind": "date", "value": "2001-01-01T00:00:00Z"] as NSDictionary)
            #expect(try await answer("set", "defaults:old", "new", input: "x") == done)
            #expect(try await answer("remove", "defaults:old", "new", "--yes") == done)
            #expect(try await answer("windows", "end", "defaults:old", "text") == done)
            #expect(
                try await tool("list", "--json").stdout
                    == #"[{"collections":[],"domain":"defaults:old","state":"present","values":3}]"# + "\n")
            #expect(try await answer("quarantine", "list") == [] as NSArray)
            #expect(try await answer("damaged", "list", "defaults:old") == [] as NSArray)
            let key = try json(try await run(try Program.built("localdata"), ["keys", "new", "--json"], environment: environment))
            #expect(((key as? NSDictionary)?["key"] as? String)?.hasPrefix("LocalData-key-1 ") == true)
            try Data("<plist><dict><key>".utf8).write(to: URL(fileURLWithPath: folder.file("root/preferences/old.plist")))
            let aside = try await answer("damaged", "set-aside", "defaults:old", "--yes") as? NSDictionary
            #expect((aside?["copy"] as? String)?.hasSuffix(".plist") == true)
        }

        @Test func `JSON output contains no control characters`() async throws {
            try writeList([hostile: "x", "plain": hostile])
            for command in [["list", "defaults:old"], ["get", "defaults:old", "plain"]] {
                let result = try await run(
                    try Program.built("localdata"), command + ["--json", "--root", folder.file("root")], environment: environment)
                for scalar in ["\u{1B}", "\u{7}", "\u{9B}", "\u{202E}"] { #expect(!result.stdout.contains(scalar)) }
                #expect(try "\(String(describing: json(result)))".contains("2J"))
            }
        }

        @Test func `with --json, an error contains the code, the name of the value and the exit status`() async throws {
            try writeList(["text": "one"])
            let missing = try await tool("get", "defaults:old", "none", "--json")
            #expect(missing.status == 1 && missing.stdout.isEmpty)
            let error = try JSONSerialization.jsonObject(with: Data(missing.stderr.utf8)) as? NSDictionary
            #expect(error?["error"] as? String == "notFound" && error?["name"] as? String == "none" && error?["status"] as? Int == 1)
        }

        @Test(.enabled(if: geteuid() == 0, "changes users"))
        func `the tool ignores environment variables when it runs as a set-user-id program`()
            async throws
        {
            // The effective user is root and the real user is not, as in a set-user-id program that another user
            // starts.
            let result = try await run(
                "setpriv", ["--ruid", "65534", try Program.built("localdata"), "get", "defaults:never", "nothing"],
                environment: environment)
            #expect(result.status == 69 && result.stderr.contains("HOME"), "\(result.status) \(result.stderr)")
        }
    }
#endif
