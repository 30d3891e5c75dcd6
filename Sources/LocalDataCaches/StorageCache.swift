import BackendContract
import BackendRuntime
import LocalData
import Logging
import Synchronization

/// A cache of the records of a collection, which removes values to stay within its limit.
///
/// Use it for values that the program can get again, such as downloads and thumbnails. Create it with
/// `StorageCollection.cache(limit:policy:storage:)`.
///
/// ```swift
/// let pages = StorageCollection<Page>("pages", domain: .encryptedSQLite(database: "web"), owner: "Browser") { $0.path }
/// let cache = try pages.cache(limit: .bytes(64 << 20), storage: storage)  // throws `unsupported` for pages with `moved(from:)`
/// let page = try await cache.value("/index", lifetime: .seconds(3_600)) { try await download("/index") }
/// print(page.text)  // cached, or downloaded and then cached
/// ```
///
/// The sum of all values is within the limit after each commit, however many processes use the cache. Every process
/// evicts by the order of use that it has observed: the stores of all processes, and its own reads.
///
/// A value that is damaged, or that is no value of the record type, is absent and is evicted. A whole database that is
/// damaged, or that the key of its source does not open, is deleted. So a read throws only if the store is locked or
/// unavailable.
public final class StorageCache<Record: Codable & Sendable>: Sendable {
    private struct Watchers {
        var last = 0
        var all: [Int: AsyncStream<CacheEviction>.Continuation] = [:]
    }

    private let store: CacheStore<Record>
    private let flights: ComputeFlights<Record>
    /// The counts, without those of the index.
    private let counts = Mutex(CacheStatistics())
    private let watchers = Mutex(Watchers())
    /// Runs ``maintain()``; nil until the initialiser ends.
    private let timer = Mutex<WakeTimer?>(nil)

    /// The limit.
    public var limit: CacheLimit { store.limit }
    /// The rule by which the full cache chooses the value to evict.
    public var policy: CachePolicy { store.policy }

    init(_ store: CacheStore<Record>) {
        self.store = store
        let runtime = store.access.configuration.runtime
        flights = ComputeFlights(tasks: runtime.tasks)
        let timer = WakeTimer(runtime.clock) { [weak self, tasks = runtime.tasks] in
            tasks.spawn { [weak self] in await self?.maintain() }
        }
        self.timer.withLock { $0 = timer }
    }

    deinit {
        for watcher in watchers.withLock(\.all.values) { watcher.finish() }
    }

    private var access: CacheAccess<Record> { store.access }

    // MARK: Reading

    /// Gets the value of an id; nil if there is none, if it has expired, or if it is damaged.
    ///
    /// ```swift
    /// do {
    ///     let news = try await cache.value("/news")  // nil if it is absent, has expired, was evicted or is damaged
    ///     print(news?.text ?? "not cached")
    /// } catch StorageError.locked { print("The key of the database is locked. Download the page.") }
    /// ```
    /// - Parameter id: The id, which follows the rules for key names.
    /// - Throws: `StorageError`: `invalidName`, `locked`, `unavailable` and others.
    @concurrent
    public func value(_ id: String) async throws -> Record? {
        try await access.call("get") { try await read(try access.address(id)) }
    }

    /// Gets the value of an id. If there is none, computes it and stores it.
    ///
    /// ```swift
    /// do {
    ///     let news = try await cache.value("/news", lifetime: .seconds(60)) { try await download("/news") }
    ///     print(news.text)  // also if the store fails: then the page is downloaded, and not stored
    /// } catch is URLError { print("The download failed. Nothing was stored.") }
    /// ```
    ///
    /// Callers that ask for one id at the same time share one computation. If all of them are cancelled, the
    /// computation is cancelled. If this object sets or removes the value during the computation, the result is returned,
    /// but not stored. Other processes and other cache objects compute separately, and do not notice such a change.
    ///
    /// A store that cannot be read or written does not stop the call: the value is computed, and
    /// ``CacheStatistics/failures`` counts the failure.
    /// - Parameters:
    ///   - id: The id.
    ///   - lifetime: The time from the store on during which the value is valid, by the wall clock; nil for the lifetime
    ///     of the collection.
    ///   - compute: Computes the value. A value that is larger than the limit is returned, but not stored. It must not ask
    ///     this object for the same id, because it would wait for itself.
    /// - Throws: The error of `compute`. `StorageError`: `invalidName`, `encodingFailed`, `cancelled`.
    @concurrent
    public func value(
        _ id: String, lifetime: Duration? = nil, _ compute: @escaping @Sendable () async throws -> Record
    ) async throws -> Record {
        try await access.call("get") {
            let address: StorageAddress
            do { address = try access.address(id) } catch let error as StorageError where error.isOfStore {
                noteFailure()
                return try await compute()
            }
            do { if let found = try await read(address) { return found } } catch is StorageError { noteFailure() }
            return try await flights.join(address) { [self] isCurrent in
                // Another computation may have ended since the read.
                if case .value(let found)? = try? await access.find(address) { return found }
                let record = try await compute()
                let encoded = try access.encode(record, id: id, lifetime: lifetime)
                do { _ = try await put(encoded, at: address, begin: isCurrent) } catch { noteFailure() }
                return record
            }
        }
    }

    /// Returns whether the cache has a valid value of an id. It counts neither as a hit nor as a use.
    ///
    /// ```swift
    /// if try await !cache.contains("/news") { print("The page must be downloaded.") }  // throws `locked` or `unavailable`
    /// ```
    /// - Parameter id: The id.
    /// - Throws: `StorageError`.
    @concurrent
    public func contains(_ id: String) async throws -> Bool {
        try await access.call("exists") {
            if case .value = try await access.find(try access.address(id)) { true } else { false }
        }
    }

    private func read(_ address: StorageAddress) async throws -> Record? {
        if !store.isLoaded { publish(try await store.load()) }
        switch try await access.find(address) {
        case .value(let record):
            counts.withLock { $0.hits += 1 }
            if store.use(address) { request(after: Self.saveInterval) }
            return record
        case .absent: counts.withLock { $0.misses += 1 }
        case .expired:
            counts.withLock { $0.misses += 1 }
            request(after: .zero)
        case .damaged:
            counts.withLock { $0.misses += 1 }
            publish(try await store.evictDamaged(address))
        }
        return nil
    }

    // MARK: Storing and removing

    /// Stores a record under its id, and evicts other values if the cache would exceed its limit.
    ///
    /// ```swift
    /// let isStored = try await cache.set(Page(path: "/news", text: "None"), lifetime: .seconds(60))
    /// if !isStored { print("The page is larger than the limit. An older copy of it was removed.") }
    /// ```
    /// - Parameters:
    ///   - record: The record. The records inside its references are not stored.
    ///   - lifetime: The time from now on during which the value is valid, by the wall clock; nil for the lifetime of the
    ///     collection.
    /// - Returns: Whether the value was stored: see ``set(_:for:lifetime:)``.
    /// - Throws: `StorageError`; its `outcome` says whether the value may have been stored.
    @concurrent
    @discardableResult
    public func set(_ record: Record, lifetime: Duration? = nil) async throws -> Bool {
        try await set(record, for: access.id(of: record), lifetime: lifetime)
    }

    /// Stores a record under an id, and evicts other values if the cache would exceed its limit. One commit makes both
    /// changes. The value is as durable as its store, although a cache does not need that.
    ///
    /// ```swift
    /// do {
    ///     if try await !cache.set(page, for: "/") { print("The page is larger than the limit.") }
    /// } catch StorageError.locked { print("The page was not cached.") }
    /// ```
    /// - Parameters:
    ///   - record: The record. The records inside its references are not stored.
    ///   - id: The id, which may differ from the record's own one.
    ///   - lifetime: The time from now on during which the value is valid, by the wall clock; nil for the lifetime of the
    ///     collection.
    /// - Returns: Whether the value was stored. A value that is larger than the limit, or larger than the store accepts,
    ///   is not stored. The value that it was to replace is removed then, because it is outdated.
    /// - Throws: `StorageError`; its `outcome` says whether the value may have been stored.
    @concurrent
    @discardableResult
    public func set(_ record: Record, for id: String, lifetime: Duration? = nil) async throws -> Bool {
        try await access.call("set", isStepwise: true) {
            let address = try access.address(id)
            let encoded = try access.encode(record, id: id, lifetime: lifetime)
            flights.outdate(address)
            return try await put(encoded, at: address) {
                flights.outdate(address)
                return true
            }
        }
    }

    /// Removes the value of an id. If there is none, the call does nothing.
    ///
    /// ```swift
    /// do { try await cache.remove("/news") } catch let error as StorageError where error.outcome == .unknown {
    ///     try await cache.remove("/news")  // the call can be repeated
    /// }
    /// ```
    /// - Parameter id: The id.
    /// - Throws: `StorageError`. The call can be repeated safely.
    @concurrent
    public func remove(_ id: String) async throws {
        try await access.call("remove") {
            let address = try access.address(id)
            flights.outdate(address)
            publish(try await store.remove([address]) { flights.outdate(address) })
        }
    }

    /// Removes all values.
    ///
    /// ```swift
    /// do { try await cache.removeAll() } catch is StorageError { print("Some pages may remain. Repeat the call.") }
    /// ```
    /// - Throws: `StorageError`. Repeat the call to remove the remaining values.
    @concurrent
    public func removeAll() async throws {
        try await access.call("removeAll", isStepwise: true) {
            flights.outdate(nil)
            publish(try await store.remove(nil) { flights.outdate(nil) })
        }
    }

    /// Evicts the values that have expired. The cache also does this in the background, on the clock of the router.
    ///
    /// ```swift
    /// do { print("\(try await cache.removeExpired()) pages had expired.") } catch is StorageError {
    ///     print("Expired pages remain in the store. No read returns them.")
    /// }
    /// ```
    /// - Returns: The number of values that were evicted because they had expired.
    /// - Throws: `StorageError`. Repeat the call to evict the remaining values.
    @concurrent
    @discardableResult
    public func removeExpired() async throws -> Int {
        try await access.call("removeExpired", isStepwise: true) {
            let evictions = try await store.evictExpired()
            publish(evictions)
            return evictions.count { $0.reason == .expired }
        }
    }

    private func put(
        _ record: CacheAccess<Record>.Encoded, at address: StorageAddress, begin: () -> Bool
    ) async throws -> Bool {
        let (isStored, evictions) = try await store.put(record, at: address, begin: begin)
        publish(evictions)
        return isStored
    }

    // MARK: Observing

    /// The counts of the cache. The call loads the index if no other call has done so.
    ///
    /// ```swift
    /// let statistics = try await cache.statistics
    /// print("\(statistics.count) pages, \(statistics.bytes) bytes, hit rate \(statistics.hitRate ?? 0)")
    /// if statistics.failures > 0 { print("The store failed. Pages were downloaded instead.") }
    /// ```
    /// - Throws: `StorageError`.
    public var statistics: CacheStatistics {
        get async throws {
            if !store.isLoaded { publish(try await access.call("statistics") { try await store.load() }) }
            var statistics = counts.withLock(\.self)
            (statistics.bytes, statistics.count) = store.sums
            return statistics
        }
    }

    /// The evictions of this object from now on. The sequence buffers the newest 1,024 of them, and ends when the cache
    /// object is released. A value that the program removes or replaces is not evicted.
    ///
    /// ```swift
    /// for await eviction in cache.evictions where eviction.reason == .damaged {
    ///     print("\(eviction.id) was damaged, and was removed from the cache.")
    /// }
    /// ```
    public var evictions: AsyncStream<CacheEviction> {
        let (stream, continuation) = AsyncStream.makeStream(of: CacheEviction.self, bufferingPolicy: .bufferingNewest(1_024))
        let number = watchers.withLock { watchers in
            watchers.last += 1
            watchers.all[watchers.last] = continuation
            return watchers.last
        }
        continuation.onTermination = { [weak self] _ in _ = self?.watchers.withLock { $0.all.removeValue(forKey: number) } }
        return stream
    }

    private func publish(_ evictions: [CacheEviction]) {
        scheduleExpiry()
        if evictions.isEmpty { return }
        counts.withLock { $0.evictions += evictions.count }
        let watchers = watchers.withLock { $0.all.sorted { $0.key < $1.key }.map(\.value) }
        for watcher in watchers { for eviction in evictions { watcher.yield(eviction) } }
    }

    private func noteFailure() { counts.withLock { $0.failures += 1 } }

    // MARK: Background work

    /// The time after which the order of use is stored.
    private static var saveInterval: Duration { .seconds(60) }

    /// Stores the order in which values were used, for the next process. The cache also does this in the background,
    /// within a minute after a use. Call it before the program ends, otherwise the order of the last minute is lost.
    ///
    /// ```swift
    /// do { try await cache.saveOrderOfUse() } catch is StorageError { print("The next process evicts in an older order.") }
    /// try await storage.shutdown()
    /// ```
    /// - Throws: `StorageError`.
    @concurrent
    public func saveOrderOfUse() async throws {
        try await access.call("saveOrderOfUse") { if store.hasUnsavedUses { try await store.saveUses() } }
    }

    private func request(after duration: Duration) { timer.withLock(\.self)?.request(after: duration) }

    private func scheduleExpiry() {
        guard let expiry = store.earliestExpiry else { return }
        // The wall clock can be set at any time, so the timer runs at least every ten minutes.
        let rest = expiry - access.configuration.runtime.clock.wallSeconds
        request(after: .seconds(min(max(rest, 1), 600)))
    }

    /// Evicts expired values and stores the order of use.
    private func maintain() async {
        do {
            try await removeExpired()
            try await saveOrderOfUse()
        } catch StorageError.shutDown {
            return
        } catch {
            request(after: Self.saveInterval)
            let code = (error as? StorageError).map { "\($0.code)" } ?? "\(type(of: error))"
            access.configuration.logger.notice(
                "A cache could not be maintained. It tries again within a minute.",
                metadata: ["event": "localdata.cache_maintenance_failed", "code": "\(code)"])
        }
    }
}

extension StorageError {
    /// Whether the store of a cache cannot be used. The name of a value is an error of the caller, and the call itself completes
    /// an unfinished forgetting.
    fileprivate var isOfStore: Bool { code != StorageError.invalidName && !isUnfinishedForgetting }
}
