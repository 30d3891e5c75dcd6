#if Keyring && os(Linux)
    import KeyringBackend
    import TestSupport
    import Testing

    /// Counts the requests of reads on the bus of a real gnome-keyring.
    @Suite struct RequestCountTests {
        /// Runs commands of the worker, and returns the methods that it called.
        private func calls(_ fixture: ProbeFixture, _ probe: RunningProgram, _ commands: [String]) async throws -> [String] {
            let rules = ["org.freedesktop.DBus", "org.freedesktop.DBus.Properties", "org.freedesktop.Secret.Service"]
                .map { "type='method_call',interface='\($0)'" }
            let monitor = try RunningProgram(
                "dbus-monitor", ["--session"] + rules, environment: fixture.keyring.environment, keeping: fixture.keyring)
            /// Sends a call that no store sends, and returns the members of all calls until it. It is sent twice, because
            /// the monitor completes a line only with the next one.
            func members(until marker: String) async throws -> [String] {
                for _ in 0..<2 {
                    _ = try await run(
                        "dbus-send",
                        ["--session", "--type=method_call", "--dest=org.freedesktop.DBus", "/", "org.freedesktop.DBus.\(marker)"],
                        environment: fixture.keyring.environment)
                }
                var members: [String] = []
                while members.last != marker {
                    let line = try await monitor.line()
                    guard line.hasPrefix("method call"), let member = line.split(separator: "member=").last else { continue }
                    members.append(String(member))
                }
                return members.filter { !["Hello", "BecomeMonitor", "ListNames", "GetId"].contains($0) }
            }
            // Wait until the monitor is there: it prints its own first signal.
            _ = try await monitor.line()
            _ = try await members(until: "ListNames")
            for command in commands { _ = try await probe.ask(command) }
            return try await members(until: "GetId")
        }

        @Test func `a get of a value sends two requests, and a get of an absent value sends four`() async throws {
            let fixture = try await ProbeFixture()
            let probe = try fixture.probe()
            try await probe.expect("put a one", "applied durable")
            try await probe.expect("get b", "absent")
            #expect(try await calls(fixture, probe, ["get a"]) == ["SearchItems", "GetSecrets"])
            #expect(try await calls(fixture, probe, ["get b"]) == ["SearchItems", "ReadAlias", "Get", "SearchItems"])
        }
    }
#endif
