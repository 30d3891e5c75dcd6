#if SQLite
    import Foundation
    import TestSupport
    import Testing

    /// Runs the `localdata` tool as a separate program over a folder of the test.
    protocol ToolUser {
        var folder: TemporaryDirectory { get }
    }

    extension ToolUser {
        func tool(_ arguments: String..., input: String = "") async throws -> ProgramResult {
            try await run(
                try Program.built("localdata"), owned(arguments) + ["--root", folder.file("root")], environment: environment, input: input)
        }

        /// Writes a property list as another program does.
        func writeList(_ entries: [String: Any], suite: String = "old") throws {
            try PropertyListSerialization.data(fromPropertyList: entries, format: .binary, options: 0)
                .write(to: URL(fileURLWithPath: folder.folder("root/preferences") + "/\(suite).plist"))
        }

        /// Returns the arguments with an application id, unless they already contain one.
        func owned(_ arguments: [String]) -> [String] {
            arguments.contains("--app-id") ? arguments : arguments + ["--app-id", "localdata"]
        }

        var environment: [String: String] {
            ["PATH": "/usr/bin:/bin", "HOME": folder.path, "CREDENTIALS_DIRECTORY": folder.file("credentials")]
        }

        func provideKey(_ name: String) async throws {
            let made = try await run(try Program.built("localdata"), ["keys", "new"], environment: environment)
            #expect(made.status == 0)
            try Data(made.stdout.utf8).write(to: URL(fileURLWithPath: folder.folder("credentials") + "/\(name)"))
        }

        /// Runs the tool on a terminal and answers its prompts. In an answer, `\\xff` is the byte 255.
        /// - Returns: The text on the terminal and the exit status.
        func onTerminal(_ arguments: String..., answers: [String]) async throws -> ProgramResult {
            try await onTerminal(arguments, answers: answers)
        }

        func onTerminal(_ arguments: [String], answers: [String]) async throws -> ProgramResult {
            let person = """
                import os, pty, sys
                answers = [a for a in sys.argv[1].encode().replace(b"\\\\xff", b"\\xff").split(b"|") if a]
                process, terminal = pty.fork()
                if process == 0: os.execv(sys.argv[2], sys.argv[2:])
                seen = b""
                while True:
                    try: more = os.read(terminal, 1000)
                    except OSError: break
                    if not more: break
                    seen += more
                    if seen.endswith(b": ") and answers: os.write(terminal, answers.pop(0))
                print(seen.decode("utf-8", "replace") + "%d answers left" % len(answers))
                sys.exit(os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) % 256)
                """
            return try await run(
                "/usr/bin/python3",
                ["-c", person, answers.joined(separator: "|"), try Program.built("localdata")] + owned(arguments) + [
                    "--root", folder.file("root"),
                ],
                environment: environment, limit: 300)
        }
    }
#endif
