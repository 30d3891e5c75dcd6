#if PostgreSQL && os(Linux)
    import BackendContract
    import BackendRuntime
    import Sealing
    import Synchronization
    import TestSupport
    import Testing

    @testable import PostgreSQLBackend

    /// Tests of servers and connections that are killed. A slot is a named place for one value.
    @Suite(.slow("kills servers"), .timeLimit(.minutes(10))) struct CrashTests {
        /// Writes increasing numbers to a slot until `isOver` is true. Returns the last acknowledged one.
        private func count(_ store: PostgreSQLStore, _ address: StorageAddress, until isOver: Shared<Bool>) async throws -> UInt64 {
            var acknowledged: UInt64 = 0
            var next: UInt64 = 1
            while !isOver.value.withLock(\.self) {
                let bytes = withUnsafeBytes(of: next.bigEndian) { Array($0) }
                if (try? await store.apply(.put(.bytes(bytes), at: address)))?.isApplied == true { acknowledged = next }
                next += 1
            }
            return acknowledged
        }

        private func number(_ probe: StorageProbe) -> UInt64? {
            guard case .bytes(let bytes)? = probe.record?.payload else { return nil }
            return bytes.reduce(0) { $0 << 8 | UInt64($1) }
        }

        @Test func `no acknowledged write is lost when the server is killed under load`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            let isOver = Shared(false)
            let addresses = (0..<8).map { StorageAddress("counter \($0)") }
            let store = place.store(deadline: .seconds(180))
            let acknowledged = try await withThrowingTaskGroup(of: (Int, UInt64).self) { group in
                for (index, address) in addresses.enumerated() { group.addTask { (index, try await count(store, address, until: isOver)) } }
                for _ in 0..<3 {
                    // Wait until the writers have written something since the server was started.
                    let before = number(try await place.store().read(addresses[0])) ?? 0
                    while number(try await place.store().read(addresses[0])) ?? 0 <= before { await Task.yield() }
                    try await place.server.kill()
                    try await place.server.start()
                }
                isOver.value.withLock { $0 = true }
                return try await group.reduce(into: [Int: UInt64]()) { $0[$1.0] = $1.1 }
            }
            let fresh = place.store()
            for (index, address) in addresses.enumerated() {
                let stored = try #require(number(try await fresh.read(address, .fresh)))
                #expect(stored >= acknowledged[index] ?? .max, "\(address)")
            }
        }

        @Test func `a rotation of the data key is durable when it returns, whatever the default of the server is`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL(["synchronous_commit=off", "wal_writer_delay=10s"]))
            let store = place.store()
            #expect(try await store.apply(.put(.bytes([1]), at: StorageAddress("name"))).isApplied)
            _ = try await store.rotateDataKey(batch: 10) { _, _ in }
            try await place.server.kill()
            try await place.server.start()
            #expect(try await place.server.sql("SELECT count(*) FROM tests.keys") == ["1"])
            #expect(number(try await place.store().read(StorageAddress("name"), .fresh)) == 1)
        }

        @Test func `a machine completes the rotation that another machine began`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            let (first, second) = (place.store(), place.store())
            let addresses = (0..<3).map { StorageAddress("\($0)") }
            #expect(try await first.apply(addresses.map { .put(.bytes([1]), at: $0) }).allSatisfy(\.isApplied))
            let stopped = Task {
                try await second.rotateDataKey(batch: 1) { _, _ in withUnsafeCurrentTask { $0?.cancel() } }
            }
            _ = await stopped.result
            _ = try await first.rotateDataKey(batch: 10) { _, _ in }
            #expect(try await place.server.sql("SELECT count(*) FROM tests.keys") == ["1"])
            for address in addresses { #expect(number(try await place.store().read(address, .fresh)) == 1) }
        }

        @Test func `a batch is applied as a whole or not at all when connections are cut`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            let pair = [StorageAddress("left"), StorageAddress("right")]
            let isOver = Shared(false)
            let store = place.store(deadline: .seconds(180))
            let writes = Task {
                var done: UInt64 = 0
                while !isOver.value.withLock(\.self) {
                    let bytes = withUnsafeBytes(of: (done + 1).bigEndian) { Array($0) }
                    let results = try await store.apply(pair.map { .put(.bytes(bytes), at: $0) })
                    // A commit without an answer is settled within the deadline.
                    let areApplied = results.allSatisfy(\.isApplied)
                    #expect(areApplied, "\(results)")
                    done += 1
                }
                return done
            }
            for _ in 0..<40 {
                try await place.server.sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'localdata'")
                let probes = try await place.store().read(pair, .fresh)
                #expect(number(probes[0]) == number(probes[1]))
            }
            isOver.value.withLock { $0 = true }
            let done = try await writes.value
            let probes = try await place.store().read(pair, .fresh)
            #expect(probes.map(number) == [done, done])
        }

        @Test func `a transaction that was committed without an answer is not repeated`() async throws {
            let place = try await TestDatabase(on: PrivatePostgreSQL())
            let store = place.store()
            let address = StorageAddress("once")
            // Each increment reads the number under its revision. A repeated commit would be a conflict.
            #expect(try await store.apply(.put(.bytes([0]), at: address)).isApplied)
            for step in UInt8(1)...20 {
                let revision = try #require(try await store.read(address).revision)
                async let result = store.apply(.put(.bytes([step]), at: address, if: .revision(revision)))
                try await place.server.sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'localdata' AND query LIKE '%COMMIT%'")
                #expect(try await result.isApplied)
            }
            #expect(try await store.read(address).record?.payload == .bytes([20]))
        }

        @Test func `machines that write while the data key is rotated lose nothing`() async throws {
            let place = try await TestDatabase()
            let isOver = Shared(false)
            let stores = (0..<3).map { _ in place.store() }
            let addresses = stores.indices.map { StorageAddress("machine \($0)") }
            let quiet = (0..<200).map { StorageAddress("quiet \($0)") }
            _ = try await stores[0].apply(quiet.map { .put(.bytes([7]), at: $0) })
            let acknowledged = try await withThrowingTaskGroup(of: (Int, UInt64).self) { group in
                for (index, store) in stores.enumerated() {
                    group.addTask { (index, try await count(store, addresses[index], until: isOver)) }
                }
                for _ in 0..<4 {
                    let count = try await place.store().rotateDataKey(batch: 64) { _, _ in }
                    #expect(count >= 200)
                }
                isOver.value.withLock { $0 = true }
                return try await group.reduce(into: [Int: UInt64]()) { $0[$1.0] = $1.1 }
            }
            let fresh = place.store()
            for (index, address) in addresses.enumerated() {
                #expect(number(try await fresh.read(address, .fresh)) == acknowledged[index])
            }
            #expect(try await fresh.read(quiet, .fresh).allSatisfy { $0.record?.payload == .bytes([7]) })
            let keys = try await place.server.sql(
                "SELECT count(*) FROM tests.keys k JOIN tests.databases d USING (context) WHERE d.context = '\\x\(hexadecimalText(of: fresh.contextKey))'"
            )
            #expect(keys == ["1"])
        }
    }
#endif
