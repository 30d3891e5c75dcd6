import Foundation
import LocalDataCaches
import TestSupport
import Testing

@testable import LocalData

/// Searches for a value that takes a cache of 64 MiB over its limit, and for a hit that a model of the cache does not
/// have.
@Suite(.inTurn) struct CacheSearchTests {
    private struct Blob: Codable, Sendable {
        var id: String
        var text: String
    }

    private static let limit = 64 << 20

    private static func cache(_ policy: CachePolicy, _ configuration: StorageConfiguration) throws -> StorageCache<Blob> {
        let blobs = StorageCollection<Blob>("blobs", domain: .encryptedSQLite(database: "blobs")) { $0.id }
        return try blobs.cache(limit: .bytes(limit), policy: policy, storage: StorageRouter(configuration: configuration))
    }

    /// Returns a value whose size depends only on its number: 1 to 8 KiB.
    private static func blob(_ number: Int) -> Blob {
        Blob(id: String(String(1_000_000 + number).dropFirst()), text: String(repeating: "b", count: 1_024 + number * 7_919 % 7_168))
    }

    @Test(.timeLimit(.minutes(20)), arguments: ModelCache.Policy.allCases)
    func `a cache of 64 MiB keeps its limit during 100,000 sets, with the hit rate of a model`(
        policy: ModelCache.Policy
    ) async throws {
        let real: CachePolicy = policy == .oldestFirst ? .oldestFirst : .leastRecentlyUsed
        let measured = try Self.cache(real, .inMemory())
        try await measured.set(Blob(id: "000000", text: ""))
        let overhead = try await measured.statistics.bytes
        let cache = try Self.cache(real, .inMemory())
        var model = ModelCache(policy, maximumBytes: Self.limit)
        var numbers = ZipfNumbers(below: 100_000, seed: 11)
        var sets = 0
        while sets < 100_000 {
            let blob = Self.blob(numbers.next())
            let expected = model.read(blob.id)
            try #require(try await (cache.value(blob.id) != nil) == expected)
            if expected { continue }
            sets += 1
            _ = model.store(blob.id, size: overhead + blob.text.utf8.count)
            try await cache.set(blob)
            let bytes = try await cache.statistics.bytes
            try #require(bytes <= Self.limit && bytes == model.bytes)
        }
        let statistics = try await cache.statistics
        #expect(statistics.hits == model.hits && statistics.misses == model.misses && statistics.count == model.count)
        #expect(statistics.evictions > 0)
    }

    #if SQLite
        @Test(.timeLimit(.minutes(20))) func `the database of a full cache of 64 MiB stays within twice its limit`() async throws {
            let folder = try TemporaryDirectory()
            var configuration = StorageConfiguration(root: URL(fileURLWithPath: folder.path), applicationID: "search")
            configuration.deadlines.files = .seconds(120)
            let cache = try Self.cache(.leastRecentlyUsed, configuration)
            let text = String(repeating: "b", count: 64 << 10)
            for number in 0..<3_000 {
                try await cache.set(Blob(id: "\(number)", text: text))
                try #require(await cache.statistics.bytes <= Self.limit)
            }
            let next = try Self.cache(.leastRecentlyUsed, configuration)
            #expect(try await next.statistics.bytes <= Self.limit)
            #expect(try await next.value("2999") != nil)
            let path = folder.file("caches/blobs.sqlite")
            let size = try #require(try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int)
            #expect(size <= 2 * Self.limit)
        }
    #endif
}
