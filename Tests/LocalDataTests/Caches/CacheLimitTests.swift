import LocalDataCaches
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// Tests of the limit of a cache, and of the order in which it evicts values.
@Suite struct CacheLimitTests {
    @Test(arguments: ModelCache.Policy.allCases)
    func `the values in the store never exceed the limit`(policy: ModelCache.Policy) async throws {
        let bench = CacheBench()
        let storage = bench.launch()
        let cache = try bench.cache(.bytes(20_000), policy.real, in: storage)
        var generator = SeededGenerator(1)
        for number in 0..<600 {
            let id = CacheBench.id(Int.random(in: 0..<200, using: &generator))
            #expect(try await cache.set(CachedPage(id, length: Int.random(in: 0..<2_000, using: &generator))))
            #expect(try await cache.statistics.bytes <= 20_000)
            if number % 10 == 0 { #expect(try await bench.stored(storage).bytes == cache.statistics.bytes) }
        }
        #expect(try await cache.statistics.bytes > 15_000)
    }

    @Test func `a limit of the number of values holds together with a limit of the bytes`() async throws {
        let bench = CacheBench()
        let overhead = try await CacheBench.overhead()
        let cache = try bench.cache(.bytes(overhead * 20, count: 3))
        for number in 0..<5 { try await cache.set(CachedPage(id: CacheBench.id(number))) }
        #expect(try await cache.statistics.count == 3)
        try await cache.set(CachedPage("005", length: overhead * 18))
        #expect(try await cache.statistics.count == 2)
    }

    @Test(arguments: ModelCache.Policy.allCases)
    func `a cache evicts the same values in the same order as a model`(policy: ModelCache.Policy) async throws {
        let overhead = try await CacheBench.overhead()
        let limit = overhead * 20
        for seed in 1...3 {
            let cache = try CacheBench().cache(.bytes(limit), policy.real)
            var evictions = cache.evictions.makeAsyncIterator()
            var model = ModelCache(policy, maximumBytes: limit)
            var generator = SeededGenerator(UInt64(seed))
            var evicted = 0
            for _ in 0..<250 {
                let id = CacheBench.id(Int.random(in: 0..<40, using: &generator))
                switch Int.random(in: 0..<10, using: &generator) {
                case 0:
                    try await cache.remove(id)
                    model.remove(id)
                case 1...5:
                    let expected = model.read(id)
                    #expect(try await (cache.value(id) != nil) == expected)
                default:
                    let length = Int.random(in: 0..<overhead * 4, using: &generator)
                    try await cache.set(CachedPage(id, length: length))
                    let gone = model.store(id, size: overhead + length)
                    evicted += gone.count
                    try #require(await cache.statistics.evictions == evicted)
                    for id in gone {
                        let eviction = await evictions.next()
                        #expect(eviction?.id == id && eviction?.reason == .limit)
                    }
                }
                let statistics = try await cache.statistics
                #expect(statistics.bytes == model.bytes && statistics.count == model.count)
            }
            for number in 0..<40 {
                let id = CacheBench.id(number)
                #expect(try await cache.contains(id) == model.contains(id))
            }
        }
    }

    @Test(arguments: ModelCache.Policy.allCases)
    func `the hit rate under a skewed load is that of a model`(policy: ModelCache.Policy) async throws {
        let overhead = try await CacheBench.overhead()
        let limit = overhead * 40
        let cache = try CacheBench().cache(.bytes(limit), policy.real)
        var model = ModelCache(policy, maximumBytes: limit)
        var numbers = ZipfNumbers(below: 200, seed: 7)
        for _ in 0..<600 {
            let id = CacheBench.id(numbers.next())
            _ = try await cache.value(id) { CachedPage(id: id) }
            if !model.read(id) { _ = model.store(id, size: overhead) }
        }
        let statistics = try await cache.statistics
        #expect(statistics.hits == model.hits && statistics.misses == model.misses)
        #expect(try #require(statistics.hitRate) > 0.3)
    }

    @Test func `a value that is larger than the limit is not stored, and the value that it replaces is removed`() async throws {
        let overhead = try await CacheBench.overhead()
        let cache = try CacheBench().cache(.bytes(overhead + 10))
        #expect(try await cache.set(CachedPage("001", length: 10)))
        #expect(try await !cache.set(CachedPage("001", length: 11)))
        #expect(try await cache.value("001") == nil)
        let large = CachedPage("001", length: 1_000)
        #expect(try await cache.value("001") { large } == large)
        #expect(try await cache.statistics.count == 0)
    }

    @Test func `a new launch keeps the limit, the values and the stored order of use`() async throws {
        let bench = CacheBench()
        let overhead = try await CacheBench.overhead()
        let first = try bench.cache(.bytes(overhead * 4))
        for number in 0..<4 { try await first.set(CachedPage(id: CacheBench.id(number))) }
        #expect(try await first.value("000") != nil)
        try await first.saveOrderOfUse()
        let second = try bench.cache(.bytes(overhead * 4))
        #expect(try await second.statistics.bytes == overhead * 4)
        try await second.set(CachedPage(id: "004"))
        #expect(try await second.contains("000"))
        #expect(try await !second.contains("001"))
        #expect(try await second.statistics.bytes == overhead * 4)
    }

    @Test func `a new launch with a smaller limit evicts the oldest values first`() async throws {
        let bench = CacheBench()
        let first = try bench.cache(.count(1_000), .oldestFirst)
        for number in 0..<600 { try await first.set(CachedPage(id: CacheBench.id(number))) }
        let second = try bench.cache(.count(5), .oldestFirst)
        #expect(try await second.value("599") != nil)
        let statistics = try await second.statistics
        #expect(statistics.count == 5 && statistics.evictions == 595)
        #expect(try await second.contains("595"))
        #expect(try await !second.contains("594"))
    }

    @Test func `two processes with one cache keep its limit together`() async throws {
        let bench = CacheBench()
        let (one, two) = (bench.launch(), bench.launch())
        let caches = [try bench.cache(.bytes(10_000), in: one), try bench.cache(.bytes(10_000), in: two)]
        for number in 0..<300 {
            try await caches[number % 2].set(CachedPage(CacheBench.id(number), length: number))
            #expect(try await bench.stored(one).bytes <= 10_000)
        }
        #expect(try await caches[0].value("299") != nil, "the value that the other process stored")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 300..<400 {
                group.addTask { try await caches[number % 2].set(CachedPage(CacheBench.id(number), length: number)) }
            }
            try await group.waitForAll()
        }
        for cache in caches { try await cache.set(CachedPage(id: "400")) }
        let sums = try await bench.stored(one)
        let statistics = try await caches[1].statistics
        #expect(sums.bytes <= 10_000 && sums.bytes == statistics.bytes && sums.count == statistics.count)
    }

    @Test func `a process that missed many changes scans the store and keeps the limit`() async throws {
        let bench = CacheBench()
        let storage = bench.launch()
        let (one, two) = (try bench.cache(.count(20), in: storage), try bench.cache(.count(20)))
        try await one.set(CachedPage(id: "000"))
        for number in 1...200 { try await two.set(CachedPage(id: CacheBench.id(number))) }
        try await one.set(CachedPage(id: "201"))
        #expect(try await bench.stored(storage).count == 20)
        #expect(try await one.statistics.count == 20)
        #expect(try await !one.contains("000"))
    }

    @Test func `a cache that was emptied is empty for every process`() async throws {
        let bench = CacheBench()
        let (one, two) = (try bench.cache(.count(1_000)), try bench.cache(.count(1_000)))
        for number in 0..<600 { try await one.set(CachedPage(id: CacheBench.id(number))) }
        #expect(try await two.value("599") != nil)
        try await two.removeAll()
        #expect(try await one.value("599") == nil)
        try await one.set(CachedPage(id: "001"))
        #expect(try await one.statistics.count == 1)
        #expect(try await two.statistics.evictions == 0)
    }
}
