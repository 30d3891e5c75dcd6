#if SQLite && Keyring && os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// The copy of a keyring service between two keyrings with the `localdata` tool.
    @Suite(.inTurn, .slow("starts keyrings"), .tags(.process, .keyring)) struct ToolKeyringTests {
        private func tool(_ keyring: PrivateKeyring, _ arguments: String..., input: String = "") async throws -> ProgramResult {
            try await run(try Program.built("localdata"), arguments, environment: keyring.environment, input: input)
        }

        @Test func `the items of a service are copied from one keyring to another, and the first one keeps them`() async throws {
            let (first, second) = try await offPool { (try PrivateKeyring(), try PrivateKeyring()) }
            let service = "keychain:org.example.copied"
            func migrate(_ more: String...) async throws -> ProgramResult {
                try await run(
                    try Program.built("localdata"), ["migrate", service, "--from-bus", first.address] + more,
                    environment: second.environment)
            }
            #expect(try await tool(first, "set", service, "token", input: "one").status == 0)
            let plan = try await tool(second, "plan", service, "--from-bus", first.address)
            #expect(plan.status == 0 && plan.stdout == "copy  token\n", "\(plan)")
            #expect(try await tool(second, "get", service, "token").status == 66)

            let copied = try await migrate()
            #expect(copied.status == 0 && copied.stdout == "copied  token\n", "\(copied)")
            #expect(try await tool(second, "get", service, "token").stdout == "one")
            #expect(try await migrate().stdout == "unchanged  token\n")

            #expect(try await tool(first, "set", service, "token", input: "two").status == 0)
            #expect(try await migrate().status == 73)
            #expect(try await migrate("--replace").status == 64)
            #expect(try await tool(second, "get", service, "token").stdout == "one")
            #expect(try await migrate("--replace", "--yes").stdout == "replaced  token\n")
            #expect(try await tool(second, "get", service, "token").stdout == "two")
            #expect(try await tool(first, "get", service, "token").stdout == "two")

            let unknown = try await tool(second, "migrate", "keychain:org.example.none", "--from-bus", first.address)
            #expect(unknown.status == 66, "\(unknown)")
        }

        @Test func `forget keychain needs the application whose service it is`() async throws {
            let keyring = try await offPool { try PrivateKeyring() }
            #expect(try await tool(keyring, "set", "keychain", "token", "--app-id", "com.example.a", input: "one").status == 0)
            let unnamed = try await tool(keyring, "forget", "keychain", "--yes")
            #expect(unnamed.status == 64, "\(unnamed)")
            #expect(try await tool(keyring, "get", "keychain", "token", "--app-id", "com.example.a").stdout == "one")
            #expect(try await tool(keyring, "forget", "keychain", "--yes", "--app-id", "com.example.a").status == 0)
            #expect(try await tool(keyring, "get", "keychain", "token", "--app-id", "com.example.a").status != 0)
        }
    }
#endif
