// A cache of records with a limit.
// snippet.hide
import LocalData
import LocalDataCaches

func check(_ holds: Bool, _ line: Int = #line) { if !holds { fatalError("line \(line)") } }

func download(_ path: String) async throws -> Page { Page(path: path, text: "Hello") }

var configuration = StorageConfiguration.inMemory()
configuration.passphrase = { _ in "only for this snippet" }
let storage = StorageRouter(configuration: configuration)
// snippet.show
struct Page: Codable, Sendable {
    var path: String
    var text: String
}

let pages = StorageCollection<Page>("pages", domain: .encryptedSQLite(database: "web"), owner: "Browser") { $0.path }
let cache = try pages.cache(limit: .bytes(64 << 20), policy: .leastRecentlyUsed, storage: storage)

let page = try await cache.value("/index", lifetime: .seconds(3_600)) { try await download("/index") }  // cached, or computed once
try await cache.set(Page(path: "/news", text: "None"), lifetime: .seconds(60))
let news = try await cache.value("/news")  // nil if it is absent, has expired, was evicted or is damaged
try await cache.remove("/news")

let statistics = try await cache.statistics  // hits, misses, evictions, bytes, count
// snippet.hide
check(page.text == "Hello" && news?.text == "None")
check(statistics.count == 1 && statistics.hits == 1 && statistics.misses == 1)
// snippet.show

// Observe the evictions of this process.
let observer = Task {
    for await eviction in cache.evictions { print(eviction.id, eviction.reason) }
}
// snippet.hide
observer.cancel()
