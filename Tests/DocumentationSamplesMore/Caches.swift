import Foundation
import LocalData
import LocalDataCaches

/// Samples of the caches. They are compiled, and not run.
enum CacheSamples {
    struct Page: Codable, Sendable {
        var path: String
        var text: String
    }

    static func download(_ path: String) async throws -> Page { Page(path: path, text: "") }

    // MARK: Creating a cache

    static func type(_ storage: StorageRouter) async throws {
        let pages = StorageCollection<Page>("pages", domain: .encryptedSQLite(database: "web"), owner: "Browser") { $0.path }
        let cache = try pages.cache(limit: .bytes(64 << 20), storage: storage)  // throws `unsupported` for pages with `moved(from:)`
        let page = try await cache.value("/index", lifetime: .seconds(3_600)) { try await download("/index") }
        print(page.text)  // cached, or downloaded and then cached
    }

    static func creating(_ pages: StorageCollection<Page>, _ storage: StorageRouter) throws {
        do {
            let cache = try pages.cache(limit: .bytes(64 << 20), policy: .leastRecentlyUsed, storage: storage)
            print(cache.limit, cache.policy)
        } catch StorageError.unsupported {
            print("The collection has legacy locations, or is in a store without caches.")
        }
    }

    static func bytes(_ pages: StorageCollection<Page>) throws {
        let cache = try pages.cache(limit: .bytes(64 << 20, count: 10_000))  // 64 MiB, and at most 10,000 pages
        _ = cache
    }

    static func number(_ pages: StorageCollection<Page>) throws {
        let cache = try pages.cache(limit: .count(500))  // throws `unsupported` for a number below 1
        _ = cache
    }

    static func policy(_ pages: StorageCollection<Page>) throws {
        let news = try pages.cache(limit: .count(100), policy: .oldestFirst)  // old news are not read again
        _ = news
    }

    static func folder() {
        let directories = StorageDirectories(
            preferences: "/srv/shop/settings", data: "/srv/shop/data", state: "/srv/shop/state", locks: "/srv/shop/locks"
        ).caching(in: "/srv/shop/caches")  // without it, the first read of a cache in a database throws
        _ = directories
    }

    // MARK: Reading

    static func reading(_ cache: StorageCache<Page>) async throws {
        do {
            let news = try await cache.value("/news")  // nil if it is absent, has expired, was evicted or is damaged
            print(news?.text ?? "not cached")
        } catch StorageError.locked { print("The key of the database is locked. Download the page.") }
    }

    static func computing(_ cache: StorageCache<Page>) async throws {
        do {
            let news = try await cache.value("/news", lifetime: .seconds(60)) { try await download("/news") }
            print(news.text)  // also if the store fails: then the page is downloaded, and not stored
        } catch is URLError { print("The download failed. Nothing was stored.") }
    }

    static func containing(_ cache: StorageCache<Page>) async throws {
        if try await !cache.contains("/news") { print("The page must be downloaded.") }  // throws `locked` or `unavailable`
    }

    // MARK: Storing and removing

    static func storing(_ cache: StorageCache<Page>) async throws {
        let isStored = try await cache.set(Page(path: "/news", text: "None"), lifetime: .seconds(60))
        if !isStored { print("The page is larger than the limit. An older copy of it was removed.") }
    }

    static func storingUnder(_ cache: StorageCache<Page>, _ page: Page) async throws {
        do {
            if try await !cache.set(page, for: "/") { print("The page is larger than the limit.") }
        } catch StorageError.locked { print("The page was not cached.") }
    }

    static func removing(_ cache: StorageCache<Page>) async throws {
        do { try await cache.remove("/news") } catch let error as StorageError where error.outcome == .unknown {
            try await cache.remove("/news")  // the call can be repeated
        }
    }

    static func emptying(_ cache: StorageCache<Page>) async throws {
        do { try await cache.removeAll() } catch is StorageError { print("Some pages may remain. Repeat the call.") }
    }

    static func expiring(_ cache: StorageCache<Page>) async throws {
        do { print("\(try await cache.removeExpired()) pages had expired.") } catch is StorageError {
            print("Expired pages remain in the store. No read returns them.")
        }
    }

    // MARK: Observing

    static func statistics(_ cache: StorageCache<Page>) async throws {
        let statistics = try await cache.statistics
        print("\(statistics.count) pages, \(statistics.bytes) bytes, hit rate \(statistics.hitRate ?? 0)")
        if statistics.failures > 0 { print("The store failed. Pages were downloaded instead.") }
    }

    static func evictions(_ cache: StorageCache<Page>) async {
        for await eviction in cache.evictions where eviction.reason == .damaged {
            print("\(eviction.id) was damaged, and was removed from the cache.")
        }
    }

    static func reasons(_ eviction: CacheEviction) {
        switch eviction.reason {
        case .limit: print("The cache was full, so \(eviction.id) was removed.")
        case .expired: print("\(eviction.id) had expired.")
        case .damaged: print("\(eviction.id) could not be read.")
        }
    }

    static func saving(_ cache: StorageCache<Page>, _ storage: StorageRouter) async throws {
        do { try await cache.saveOrderOfUse() } catch is StorageError { print("The next process evicts in an older order.") }
        try await storage.shutdown()
    }
}
