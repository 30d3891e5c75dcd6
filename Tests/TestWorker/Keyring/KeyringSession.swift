#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime
    import KeyringBackend
    import Synchronization
    import TestSupport

    /// Executes commands on the keyring. Each line of the standard input is a command, and is answered by one line.
    /// Tests stop, kill or replace the daemon or the bus while it runs.
    ///
    /// The arguments are the service, the lock file, the directory of keyrings or an empty text, and optionally
    /// `--allow-plain`.
    struct KeyringSession {
        private var store: SecretServiceStore
        private let arguments: [String]
        private let signal = PendingSignal()
        private let clock = SystemClock()
        private var changes: AsyncStream<Set<StorageAddress>?>.Iterator?
        private var copy: [BackupItem] = []

        static func run(_ arguments: [String]) async {
            var session = KeyringSession(arguments: arguments)
            while let line = readLine() { writeLine(await session.answer(line.split(separator: " ").map(String.init))) }
        }

        private init(arguments: [String]) {
            self.arguments = arguments
            store = Self.store(arguments, milliseconds: 120_000, signal)
        }

        private static func store(
            _ arguments: [String], milliseconds: Int, promptMilliseconds: Int = 4_000, _ signal: PendingSignal
        ) -> SecretServiceStore {
            var runtime = Runtime.live
            runtime.files = HookedFiles { operation, path in
                // Before it changes a slot, the store has read the slot and checks the file of the collection.
                // The signal is sent during that check.
                if operation == "status", path.hasSuffix(".keyring") { signal.send() }
            }
            return SecretServiceStore(
                service: arguments.first ?? "probe", lockFile: arguments.dropFirst().first ?? "/tmp/probe.lock",
                deadline: .milliseconds(milliseconds), promptDeadline: .milliseconds(promptMilliseconds),
                keyringsDirectory: arguments.dropFirst(2).first.flatMap { $0.isEmpty ? nil : $0 },
                allowsPlainTransport: arguments.contains("--allow-plain"), runtime: runtime)
        }

        private mutating func answer(_ command: [String]) async -> String {
            let start = clock.now
            let text = await carryOut(command)
            let milliseconds = start.duration(to: clock.now).wholeNanoseconds / 1_000_000
            return "\(text) ms=\(milliseconds)"
        }

        private mutating func carryOut(_ command: [String]) async -> String {
            let address = StorageAddress(command.dropFirst().first ?? "name")
            do throws(BackendError) {
                switch command.first {
                case "get": return Self.text(try await store.read(address))
                case "put":
                    let bytes = Array((command.dropFirst(2).first ?? "").utf8)
                    return Self.text(try await store.apply(.put(.bytes(bytes), at: address)))
                case "put-hex":
                    let bytes = bytes(ofHexadecimal: command.dropFirst(2).first ?? "") ?? []
                    return Self.text(try await store.apply(.put(.bytes(bytes), at: address)))
                case "put-big":
                    let bytes = [UInt8](repeating: 7, count: Int(command.dropFirst(2).first ?? "") ?? 0)
                    return Self.text(try await store.apply(.put(.bytes(bytes), at: address)))
                case "create": return Self.text(try await store.apply(.put(.bytes([1]), at: address, if: .absent)))
                case "deadline":
                    store = Self.store(arguments, milliseconds: Int(command.dropFirst().first ?? "") ?? 0, signal)
                    return "set"
                case "prompt-deadline":
                    store = Self.store(
                        arguments, milliseconds: 120_000, promptMilliseconds: Int(command.dropFirst().first ?? "") ?? 0, signal)
                    return "set"
                case "arm":
                    // arm <process> <signal>: the signal is sent just before the next change is requested.
                    signal.arm(command.dropFirst().compactMap { Int32($0) })
                    return "armed"
                case "delete": return Self.text(try await store.apply(.delete(address)))
                case "list": return "list \(try await store.addresses(in: .values).map(\.name).sorted())"
                case "names":
                    let found = try await store.slotsBesideLocks(in: .values)
                    return "names \(found.addresses.map(\.name).sorted()) nameless \(found.nameless.count)"
                case "copy":
                    copy = try await store.items(deadline: clock.now.advanced(by: .seconds(120)))
                    return "copied \(copy.count)"
                case "set-aside":
                    for item in copy { try await store.move(item, to: "kept", deadline: clock.now.advanced(by: .seconds(120))) }
                    return "moved"
                case "put-back":
                    for item in copy { try await store.restore(item, keeping: "kept", deadline: clock.now.advanced(by: .seconds(120))) }
                    return "restored"
                case "status": return "status \(await store.status())"
                case "watch":
                    changes = store.foreignChanges().makeAsyncIterator()
                    return await changes?.next(isolation: #isolation) == nil ? "ended" : "watching"
                case "change":
                    // Waits until the watch reports a change.
                    return await changes?.next(isolation: #isolation) == nil ? "ended" : "changed"
                case "keyring":
                    let keyring = try await store.describeKeyring()
                    let risk = keyring.valuesAtRisk.isEmpty ? "" : " at risk: \(keyring.valuesAtRisk)"
                    return "\(keyring.provider ?? "nobody") \(keyring.collection ?? "nowhere") \(keyring.algorithm)\(risk)"
                case "reason":
                    guard case .unavailable(let error) = try await store.read(address) else { return "none" }
                    return error.reason
                case "synchronize": return "synchronize \(try await store.synchronize())"
                case "unlock":
                    try await store.unlock()
                    return "unlocked"
                case "portal": return "secret \(try await Self.portalSecret(command))"
                case "portal-reason":
                    do throws(BackendError) { return try await Self.portalSecret(["portal", "120000"]) } catch { return error.reason }
                case "portal-leave":
                    // portal-leave <milliseconds>: the request is cancelled after this time.
                    let task = Task {
                        await Self.outcome { () throws(BackendError) in _ = try await Self.portalSecret(["portal", "600000"]) }
                    }
                    try? await Task.sleep(for: .milliseconds(Int(command.dropFirst().first ?? "") ?? 0))
                    task.cancel()
                    return "threw \(await task.value)"
                case "look-during-prompt": return try await lookDuringPrompt(address)
                case "increment":
                    let rounds = Int(command.dropFirst(2).first ?? "") ?? 0
                    return await countUp(address, in: store, rounds: rounds) { .bytes(Array(String($0).utf8)) }
                case "ping": return await pingWhileHanging()
                default: return "unknown command"
                }
            } catch {
                return "threw \(error.text)"
            }
        }

        /// Returns the portal's secret in hexadecimal, within a number of milliseconds.
        private static func portalSecret(_ command: [String]) async throws(BackendError) -> String {
            try await SecretPortal().withSecret(within: .milliseconds(Int(command.dropFirst().first ?? "") ?? 0)) {
                hexadecimalText(of: Array($0))
            }
        }

        private static func text(_ probe: StorageProbe) -> String {
            if case .bytes? = probe.record?.payload { "value \(probe.text.prefix(100))" } else { probe.text }
        }

        private static func text(_ result: MutationResult) -> String {
            switch result {
            case .applied(_, let durability): "applied \(durability)"
            case .conflict(let probe): "conflict \(text(probe))"
            case .notAttempted, .locked, .failed: result.text
            }
        }

        /// Reads a slot twenty times, first while a prompt is open, and then waits until the prompt ends.
        private func lookDuringPrompt(_ address: StorageAddress) async throws(BackendError) -> String {
            let isOver = Shared(false)
            let prompt = Task { [store] in
                defer { isOver.value.withLock { $0 = true } }
                do throws(BackendError) {
                    try await store.unlock()
                    return "unlocked"
                } catch {
                    return "threw \(error.text)"
                }
            }
            var looks: Set<String> = []
            var state = ""
            for _ in 0..<20 {
                looks.insert(Self.text(try await store.read(address)))
                // The prompt has a deadline, and a busy machine may need more time for the other reads.
                if state.isEmpty { state = isOver.value.withLock(\.self) ? "closed" : "open" }
            }
            return "\(looks.sorted().joined(separator: ",")) prompt=\(state) \(await prompt.value)"
        }

        /// Makes two calls that hang until their deadline, and measures the latency of other tasks during that time.
        /// The latency is in microseconds.
        private func pingWhileHanging() async -> String {
            let (store, clock) = (store, clock)
            let idle = await Self.latencies(clock) { try? await Task.sleep(for: .milliseconds(300)) }
            let outcomes = Mutex<[String]>([])
            let hanging = await Self.latencies(clock) {
                async let first = Self.outcome { () throws(BackendError) in _ = try await store.read(StorageAddress("first")) }
                async let second = Self.outcome { () throws(BackendError) in
                    _ = try await store.apply(.put(.bytes([1]), at: StorageAddress("second")))
                }
                let both = await [first, second]
                outcomes.withLock { $0 = both }
            }
            func p99(_ latencies: [Int64]) -> Int64 { latencies.isEmpty ? .max : latencies[latencies.count * 99 / 100] }
            let ends = outcomes.withLock { $0 }.joined(separator: ",")
            return "pings=\(hanging.count) p99=\(p99(hanging)) max=\(hanging.last ?? .max) idle-p99=\(p99(idle)) \(ends)"
        }

        /// Returns the times that tasks took to start and end while the body ran.
        /// They are in microseconds and in ascending order.
        private static func latencies(_ clock: SystemClock, while body: () async -> Void) async -> [Int64] {
            let done = Shared(false)
            let ping = Task { @concurrent in
                var latencies: [Int64] = []
                while !done.value.withLock(\.self) {
                    let start = clock.now
                    await Task { @concurrent in }.value
                    latencies.append(start.duration(to: clock.now).wholeNanoseconds / 1_000)
                    try? await Task.sleep(for: .milliseconds(1))
                }
                return latencies.sorted()
            }
            await body()
            done.value.withLock { $0 = true }
            return await ping.value
        }

        private static func outcome(_ body: () async throws(BackendError) -> Void) async -> String {
            do throws(BackendError) {
                try await body()
                return "returned"
            } catch {
                return error.code.name
            }
        }
    }
#endif
