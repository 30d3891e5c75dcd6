import BackendContract
import BackendRuntime
import LocalDataCaches
import LocalDataTesting
import MemoryBackend
import TestSupport
import Testing

@testable import LocalData

/// Tests of the values that a cache returns, of its evictions and of its expiry.
@Suite struct CacheReadTests {
    @Test func `a stored value is a hit, and an absent one is a miss`() async throws {
        let cache = try CacheBench().cache(.count(10))
        let page = CachedPage("001", length: 3)
        try await cache.set(page)
        #expect(try await cache.value("001") == page)
        #expect(try await cache.value("002") == nil)
        #expect(try await cache.contains("001"))
        let statistics = try await cache.statistics
        #expect(statistics.hits == 1 && statistics.misses == 1 && statistics.hitRate == 0.5)
    }

    @Test func `a value can be stored under another id than its record's`() async throws {
        let cache = try CacheBench().cache(.count(10))
        try await cache.set(CachedPage(id: "001"), for: "https://example.com/?page=1")
        #expect(try await cache.value("https://example.com/?page=1")?.id == "001")
        #expect(try await cache.value("001") == nil)
    }

    @Test func `a removed value is absent, and was not evicted`() async throws {
        let cache = try CacheBench().cache(.count(10))
        try await cache.set(CachedPage(id: "001"))
        try await cache.set(CachedPage(id: "001", text: "again"))
        try await cache.remove("001")
        try await cache.remove("002")
        #expect(try await cache.value("001") == nil)
        let statistics = try await cache.statistics
        #expect(statistics.count == 0 && statistics.bytes == 0 && statistics.evictions == 0)
    }

    @Test func `a cache in memory is separate from the collection's store`() async throws {
        let pages = StorageCollection<CachedPage>("pages", domain: .memory("web"))
        let storage = StorageRouter(configuration: .inMemory())
        try await storage.set(CachedPage(id: "001"), in: pages)
        let cache = try pages.cache(limit: .count(10), storage: storage)
        #expect(try await cache.value("001") == nil)
        try await cache.set(CachedPage(id: "002"))
        #expect(try await cache.value("002") != nil)
        #expect(try await storage.value("002", in: pages) == nil)
    }

    // MARK: Expiry

    @Test func `an expired value is a miss, and is evicted`() async throws {
        let clock = TestClock()
        var bench = CacheBench()
        bench.configuration.use(clock)
        let cache = try bench.cache(.count(10))
        var evictions = cache.evictions.makeAsyncIterator()
        try await cache.set(CachedPage(id: "001"), lifetime: .seconds(60))
        try await cache.set(CachedPage(id: "002"))
        clock.advance(by: .seconds(59))
        #expect(try await cache.value("001") != nil)
        clock.advance(by: .seconds(2))
        #expect(try await !cache.contains("001"))
        #expect(try await cache.removeExpired() == 1)
        #expect(try await cache.value("001") == nil)
        let eviction = await evictions.next()
        #expect(eviction?.id == "001" && eviction?.reason == .expired)
        #expect(try await cache.statistics.count == 1)
    }

    @Test(.timeLimit(.minutes(1))) func `a read of an expired value evicts it in the background`() async throws {
        let clock = TestClock()
        var bench = CacheBench()
        bench.configuration.use(clock)
        bench.collection = bench.collection.expiring(after: .seconds(60))
        let cache = try bench.cache(.count(10))
        var evictions = cache.evictions.makeAsyncIterator()
        try await cache.set(CachedPage(id: "001"))
        clock.advance(by: .seconds(61))
        #expect(try await cache.value("001") == nil)
        #expect(await evictions.next()?.reason == .expired)
    }

    @Test(.timeLimit(.minutes(1))) func `the background task evicts a value when it expires, without a read`() async throws {
        let clock = ManualClock()
        var bench = CacheBench()
        bench.configuration.runtime.clock = clock
        let cache = try bench.cache(.count(10))
        var evictions = cache.evictions.makeAsyncIterator()
        try await cache.set(CachedPage(id: "001"), lifetime: .seconds(90))
        try await cache.set(CachedPage(id: "002"), lifetime: .seconds(30))
        clock.advance(by: .seconds(31))
        #expect(await evictions.next()?.id == "002")
        clock.advance(by: .seconds(60))
        #expect(await evictions.next()?.id == "001")
    }

    @Test(.timeLimit(.minutes(1))) func `the order of use is stored in the background a minute after the first use`() async throws {
        let clock = ManualClock()
        var bench = CacheBench()
        bench.configuration.runtime.clock = clock
        let storage = bench.launch()
        let cache = try bench.cache(.count(3), in: storage)
        for number in 0..<3 { try await cache.set(CachedPage(id: CacheBench.id(number))) }
        let changes = try bench.store(bench.launch()).foreignChanges()
        #expect(try await cache.value("000") != nil)
        clock.advance(by: .seconds(61))
        // The next change of the store is that of the order of use.
        for await _ in changes { break }
        let next = try bench.cache(.count(3))
        try await next.set(CachedPage(id: "003"))
        #expect(try await next.contains("000"))
    }

    // MARK: Damage

    @Test func `a damaged value is a miss, is evicted and can be stored again`() async throws {
        let bench = CacheBench()
        let storage = bench.launch()
        let cache = try bench.cache(.count(10), in: storage)
        var evictions = cache.evictions.makeAsyncIterator()
        try await cache.set(CachedPage(id: "001"))
        try bench.store(storage).medium.corrupt(CacheBench.address("001"), bytes: [1, 2, 3])
        #expect(try await cache.value("001") == nil)
        let eviction = await evictions.next()
        #expect(eviction?.id == "001" && eviction?.reason == .damaged)
        #expect(try await bench.stored(storage).count == 0)
        try await cache.set(CachedPage(id: "001"))
        #expect(try await cache.value("001") != nil)
        let statistics = try await cache.statistics
        #expect(statistics.misses == 1 && statistics.hits == 1)
    }

    @Test func `a value replaces a damaged one, and a new launch evicts the other damaged ones`() async throws {
        let bench = CacheBench()
        let storage = bench.launch()
        let cache = try bench.cache(.count(10), in: storage)
        for id in ["001", "002"] {
            try await cache.set(CachedPage(id: id))
            try bench.store(storage).medium.corrupt(CacheBench.address(id), bytes: [1, 2, 3])
        }
        #expect(try await cache.set(CachedPage(id: "001", text: "new")))
        #expect(try await cache.value("001")?.text == "new")
        let next = try bench.cache(.count(10))
        #expect(try await next.value("001") != nil)
        let statistics = try await next.statistics
        #expect(statistics.count == 1 && statistics.evictions == 1)
        #expect(try await bench.stored(storage).count == 1)
    }

    @Test func `a cache whose head is damaged keeps its values`() async throws {
        let bench = CacheBench()
        let storage = bench.launch()
        let cache = try bench.cache(.count(2), in: storage)
        for id in ["001", "002"] { try await cache.set(CachedPage(id: id)) }
        try bench.store(storage).medium.corrupt(.init("pages", in: .init("cache head")), bytes: [9])
        try await cache.set(CachedPage(id: "003"))
        #expect(try await cache.contains("002"))
        #expect(try await cache.contains("003"))
        #expect(try await bench.stored(storage).count == 2)
    }

    @Test func `a value of another type is a miss, and is evicted`() async throws {
        struct OtherPage: Codable, Sendable { var number: Int }
        let bench = CacheBench()
        let storage = bench.launch()
        let other = StorageCollection<OtherPage>("pages", domain: .encryptedSQLite(database: "web")) { "\($0.number)" }
        try await other.cache(limit: .count(10), storage: storage).set(OtherPage(number: 1))
        let cache = try bench.cache(.count(10), in: storage)
        #expect(try await cache.value("1") == nil)
        #expect(try await bench.stored(storage).count == 0)
    }

    // MARK: Computing

    @Test(.timeLimit(.minutes(1))) func `callers that ask for one value at once share one computation`() async throws {
        let cache = try CacheBench().cache(.count(10))
        let gate = Gate()
        let computed = Shared(0)
        let texts = try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<20 {
                group.addTask {
                    try await cache.value("001") {
                        await gate.pass()
                        computed.count()
                        return CachedPage("001", length: 5)
                    }.text
                }
            }
            await gate.arrived()
            // Every call counts its miss before it joins the computation.
            while try await cache.statistics.misses < 20 { await Task.yield() }
            gate.open()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(texts == Array(repeating: "aaaaa", count: 20))
        #expect(computed.number == 1)
        #expect(try await cache.value("001") != nil)
    }

    @Test(.timeLimit(.minutes(1)), arguments: [true, false])
    func `a value that is set or removed during its computation is not replaced by the result`(isRemoval: Bool) async throws {
        let cache = try CacheBench().cache(.count(10))
        let gate = Gate()
        async let result = cache.value("001") {
            await gate.pass()
            return CachedPage(id: "001", text: "older")
        }
        await gate.arrived()
        if isRemoval { try await cache.remove("001") } else { try await cache.set(CachedPage(id: "001", text: "newer")) }
        gate.open()
        #expect(try await result.text == "older")
        #expect(try await cache.value("001")?.text == (isRemoval ? nil : "newer"))
    }

    @Test(.timeLimit(.minutes(1))) func `a computation is cancelled when all of its callers are`() async throws {
        let cache = try CacheBench().cache(.count(10))
        let (began, ended) = (Gate(isOpen: true), Gate(isOpen: true))
        let (ticks, hold) = AsyncStream.makeStream(of: Void.self)
        defer { hold.finish() }
        let caller = Task {
            try await cache.value("001") {
                await began.pass()
                // The loop ends only with a cancellation.
                for await _ in ticks {}
                await ended.pass()
                throw CancellationError()
            }
        }
        await began.arrived()
        caller.cancel()
        await ended.arrived()
        await #expect { try await caller.value } throws: { StorageError.cancelled ~= $0 }
        #expect(try await cache.value("001") { CachedPage(id: "001") }.id == "001")
    }

    @Test func `an error of a computation reaches its caller, and nothing is stored`() async throws {
        struct Offline: Error {}
        let cache = try CacheBench().cache(.count(10))
        await #expect(throws: Offline.self) { try await cache.value("001") { throw Offline() } }
        #expect(try await cache.value("001") == nil)
    }

    @Test func `a locked store does not stop a computation`() async throws {
        let bench = CacheBench()
        let storage = bench.launch()
        let cache = try bench.cache(.count(10), in: storage)
        try await storage.lock()
        #expect(try await cache.value("001") { CachedPage(id: "001") }.id == "001")
        await #expect { try await cache.value("001") } throws: { StorageError.locked ~= $0 }
        try await storage.unlock()
        #expect(try await cache.value("001") == nil)
        #expect(try await cache.statistics.failures == 2)
    }
}
