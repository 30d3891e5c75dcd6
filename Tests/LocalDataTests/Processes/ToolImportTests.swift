#if SQLite
    import Foundation
    import TestSupport
    import Testing

    /// Imports from other programs with the `localdata` tool.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct ToolImportTests: ToolUser {
        let folder: TemporaryDirectory

        init() throws { folder = try TemporaryDirectory() }

        private func fixture(_ name: String) -> String { ImportFixture.file(name).path }

        @Test func `values of a property list are stored, and existing values stay unless --replace is given`() async throws {
            let list = fixture("defaults.plist")
            let made = try await tool("import", "sqlite:main", "text", "integer", "data", "date", "--from-plist", list)
            #expect(made.status == 0, "\(made)")
            #expect(made.stdout.split(separator: "\n").sorted() == ["added data", "added date", "added integer", "added text"], "\(made)")
            #expect(try await tool("get", "sqlite:main", "text").stdout == ImportFixture.secret)
            #expect(try await tool("get", "sqlite:main", "data", "--kind").stdout == "data: data, 3 bytes\n")
            #expect(try await tool("set", "sqlite:main", "text", input: "mine").status == 0)
            #expect(try await tool("import", "sqlite:main", "text", "--from-plist", list).stdout == "kept text\n")
            #expect(try await tool("import", "sqlite:main", "integer", "--from-plist", list).stdout == "unchanged integer\n")
            #expect(try await tool("import", "sqlite:main", "text", "--from-plist", list, "--replace", "--yes").stdout == "replaced text\n")
            let absent = try await tool("import", "sqlite:main", "none", "--from-plist", list)
            #expect(absent.status == 1 && absent.stderr.contains("not in the source: none"), "\(absent)")
        }

        @Test func `the object of an archive is stored under the given name`() async throws {
            let made = try await tool("import", "sqlite:main", "profile", "--from-archive", fixture("profile.archive"))
            #expect(made.status == 0 && made.stdout == "added profile\n", "\(made)")
            let shown = try await tool("get", "sqlite:main", "profile")
            #expect(shown.stdout.contains(#""age" : 42"#) && shown.stdout.contains(#""$class" : "Old.Profile""#), "\(shown)")
        }

        @Test func `a damaged or missing file, and two sources at once, are refused`() async throws {
            let damaged = try await tool("import", "sqlite:main", "text", "--from-plist", fixture("truncated.plist"))
            #expect(damaged.status == 65 && !damaged.stderr.contains("horse"), "\(damaged)")
            let cycle = try await tool("import", "sqlite:main", "text", "--from-archive", fixture("cycle.archive"))
            #expect(cycle.status == 69, "\(cycle)")
            #expect(try await tool("import", "sqlite:main", "a", "--from-plist", folder.file("none")).status == 66)
            let list = fixture("defaults.plist")
            #expect(try await tool("import", "sqlite:main", "a", "--from-plist", list, "--from-archive", list).status == 64)
            #expect(try await tool("import", "sqlite:main", "a", "b", "--from-keyring", "user=kari").status == 64)
            #expect(try await tool("import", "sqlite:main", "a", "--from-keyring", "user").status == 64)
        }
    }
#endif
