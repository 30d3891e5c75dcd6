import BackendContract
import BackendRuntime
import LocalData
import Synchronization

/// The values of a cache in their store, and the index of them in memory.
///
/// Each commit replaces the head of the cache together with the values, on the condition that the head is unchanged. If
/// another process has committed since, the commit fails, the index is updated, and the commit is planned again. So the
/// sum of all values never exceeds the limit, however many processes use the cache.
final class CacheStore<Record: Codable & Sendable>: Sendable {
    /// The last commit of the cache that the index includes.
    private struct Known {
        var head: CacheHead
        /// The revision of the head's slot; nil if the slot was empty.
        var revision: StorageRevision?
    }

    private struct State {
        var index = CacheIndex()
        /// Nil before the index is loaded.
        var known: Known?
        /// Damaged slots that were found while the index was loaded, with their revisions.
        var damaged: [StorageAddress: StorageRevision] = [:]
        /// Whether values were used since the order of use was stored.
        var hasUnsavedUses = false
    }

    /// A value to store.
    typealias NewValue = (address: StorageAddress, record: CacheAccess<Record>.Encoded)

    /// The values that a commit removes.
    struct Plan {
        /// The values to remove because the program asked for it.
        var removed: [StorageAddress] = []
        /// The values to evict, with the reasons.
        var evicted: [CacheEviction] = []
    }

    let access: CacheAccess<Record>
    let limit: CacheLimit
    let policy: CachePolicy
    private let state = Mutex(State())

    init(_ access: CacheAccess<Record>, _ limit: CacheLimit, _ policy: CachePolicy) {
        (self.access, self.limit, self.policy) = (access, limit, policy)
    }

    private var runtime: Runtime { access.configuration.runtime }

    /// The sum of the sizes and the number of values.
    var sums: (bytes: Int, count: Int) { state.withLock { ($0.index.bytes, $0.index.count) } }

    var isLoaded: Bool { state.withLock { $0.known != nil } }

    var hasUnsavedUses: Bool { state.withLock(\.hasUnsavedUses) }

    var earliestExpiry: Double? { state.withLock { $0.index.earliestExpiry } }

    /// Notes that a value was used.
    /// - Returns: Whether this is the first use since the order of use was stored.
    func use(_ address: StorageAddress) -> Bool {
        guard policy == .leastRecentlyUsed else { return false }
        return state.withLock { state in
            guard state.index.use(address), !state.hasUnsavedUses else { return false }
            state.hasUnsavedUses = true
            return true
        }
    }

    // MARK: Changing

    /// Loads the index if it is not loaded, and evicts damaged values and those beyond the limit.
    /// - Returns: The evictions.
    func load() async throws -> [CacheEviction] {
        if isLoaded { return [] }
        return try await access.inTurn {
            isLoaded ? [] : try await commit().evictions
        }
    }

    /// Stores a value, and evicts other values if the cache would exceed its limit.
    /// - Parameter begin: Called when no other call changes the cache any more. If it returns false, nothing is changed.
    /// - Returns: Whether the value was stored: false for a value that is larger than the limit. Also the evictions.
    func put(
        _ record: CacheAccess<Record>.Encoded, at address: StorageAddress, begin: () -> Bool
    ) async throws -> (isStored: Bool, evictions: [CacheEviction]) {
        try await access.inTurn {
            guard begin() else { return (false, []) }
            return try await commit((address, record))
        }
    }

    /// Removes values.
    /// - Parameters:
    ///   - addresses: The values; nil for all.
    ///   - begin: Called when no other call changes the cache any more.
    func remove(_ addresses: [StorageAddress]?, begin: () -> Void = {}) async throws -> [CacheEviction] {
        try await access.inTurn {
            begin()
            if addresses == nil { state.withLock { $0.known = nil } }
            var evictions: [CacheEviction] = []
            repeat {
                evictions += try await commit { index in
                    Plan(removed: addresses ?? Array(index.addresses.prefix(Self.mostRemovals)))
                }.evictions
            } while addresses == nil && sums.count > 0
            return evictions
        }
    }

    /// Evicts a value that was found damaged.
    func evictDamaged(_ address: StorageAddress) async throws -> [CacheEviction] {
        try await access.inTurn {
            // Another call may have replaced the value.
            guard case .damaged = try await access.find(address) else { return [] }
            return try await commit { _ in Plan(evicted: [CacheEviction(id: address.name, reason: .damaged)]) }.evictions
        }
    }

    /// Evicts the values that have expired.
    func evictExpired() async throws -> [CacheEviction] {
        try await access.inTurn {
            var evictions: [CacheEviction] = []
            while true {
                let now = runtime.clock.wallSeconds
                let made = try await commit { index in
                    Plan(evicted: index.expired(at: now).prefix(Self.mostRemovals).map { CacheEviction(id: $0.name, reason: .expired) })
                }.evictions
                evictions += made
                if made.contains(where: { $0.reason == .expired }) { continue }
                state.withLock { $0.index.computeEarliestExpiry() }
                return evictions
            }
        }
    }

    /// The largest number of values that one commit removes.
    private static var mostRemovals: Int { 512 }
    private static var maximumConflicts: Int { 64 }
    /// The attribute with the number of the commit that stored a value.
    private static var commitAttribute: String { "LocalData.cacheCommit" }

    /// Returns the number of a commit as 16 hexadecimal digits, so that the size of a value does not depend on it.
    private static func text(of commit: UInt64) -> String { hexadecimalText(of: withUnsafeBytes(of: commit.bigEndian) { [UInt8]($0) }) }

    /// Commits a change. The caller holds the turn.
    /// - Parameters:
    ///   - value: The value to store; nil for none.
    ///   - plan: Returns the values to remove. It is called again after a conflict.
    private func commit(
        _ value: NewValue? = nil, _ plan: (CacheIndex) -> Plan = { _ in Plan() }
    ) async throws -> (isStored: Bool, evictions: [CacheEviction]) {
        var evictions: [CacheEviction] = []
        var revisions: [StorageAddress: StorageRevision] = [:]
        var conflicts = 0
        while true {
            try Task.checkCancellation()
            guard let known = state.withLock({ $0.known }) else {
                try await follow()
                continue
            }
            let made = try await mutation(of: value, over: known)
            let next = state.withLock { (state: inout State) -> Draft in
                draft(made, instead: value?.address, plan(state.index), over: known, state)
            }
            if next.mutations.isEmpty { return (false, evictions) }
            let mutations = next.mutations.map { mutation in
                var mutation = mutation
                if let revision = revisions[mutation.address] ?? next.damaged[mutation.address] {
                    mutation.precondition = .revision(revision)
                }
                return mutation
            }
            let results = try await access.apply([headMutation(next.head, over: known)] + mutations)
            if case .applied(let revision, _) = results.first, results.allSatisfy(\.isApplied) {
                note(next, revision)
                evictions += next.evictions
                if next.isComplete { return (next.put != nil, evictions) }
                continue
            }
            conflicts += 1
            guard conflicts < Self.maximumConflicts else { throw tooManyConflicts }
            for (mutation, result) in zip(mutations, results.dropFirst()) {
                // A slot may have been damaged, mended or deleted since it was read.
                guard case .conflict(let probe) = result else { continue }
                revisions[mutation.address] = probe.revision
                state.withLock { $0.damaged[mutation.address] = nil }
            }
            if case .conflict = results.first { try await follow() }
            await pause(conflicts)
        }
    }

    private var tooManyConflicts: StorageError {
        StorageError(.conflict, key: access.name, "Other processes keep changing the cache. Try again when they are done.")
    }

    /// Waits for a random time that grows, so that two processes do not stay in step.
    private func pause(_ conflicts: Int) async {
        guard conflicts > 1 else { return }
        var numbers = runtime.generator
        let longest = Int64(1_000_000) << min(conflicts - 2, 6)
        await runtime.clock.wait(.nanoseconds(Int64.random(in: 1...longest, using: &numbers)))
    }

    // MARK: One commit

    /// The mutations of a commit, without that of the head, and their effect on the index.
    private struct Draft {
        let head: CacheHead
        let mutations: [StorageMutation]
        let put: CacheIndex.Entry?
        let removed: [StorageAddress]
        let evictions: [CacheEviction]
        /// The revisions of the damaged slots.
        let damaged: [StorageAddress: StorageRevision]
        /// Whether the commit completes the change. A commit that only evicts values for the next one does not.
        let isComplete: Bool
    }

    /// Returns the mutation that stores a value, and its index entry; nil for a value that is larger than the limit.
    private func mutation(
        of value: NewValue?, over known: Known
    ) async throws -> (mutation: StorageMutation, entry: CacheIndex.Entry)? {
        guard let value else { return nil }
        let commit = known.head.commit + 1
        let mutation = try await access.mutation(value.record, attributes: [Self.commitAttribute: Self.text(of: commit)])
        guard case .put(_, let metadata) = mutation.operation else { return nil }
        let size = mutation.byteCount + mutation.address.name.utf8.count
        let isAdmitted = try limit.admits(bytes: size, count: 1) && access.maximumValueSize.map { mutation.byteCount <= $0 } ?? true
        guard isAdmitted else { return nil }
        return (
            mutation,
            CacheIndex.Entry(mutation.address, size: size, expiresAt: metadata.expiresAt, stamp: UseStamp(commit: commit))
        )
    }

    /// Returns the mutations of a commit.
    /// - Parameters:
    ///   - made: The mutation that stores a value; nil for none.
    ///   - address: The slot of the value that the program stores. If the value is too large, the slot is emptied,
    ///     because its value is outdated.
    private func draft(
        _ made: (mutation: StorageMutation, entry: CacheIndex.Entry)?, instead address: StorageAddress?, _ plan: Plan,
        over known: Known, _ state: State
    ) -> Draft {
        let removed = plan.removed + (made == nil ? address.map { [$0] } ?? [] : [])
        let damaged = state.damaged.keys.filter { $0 != made?.entry.address }.sorted { $0.precedes($1) }.prefix(Self.mostRemovals)
        var evictions = plan.evicted + damaged.map { CacheEviction(id: $0.name, reason: .damaged) }
        var gone = Self.distinct(removed + evictions.map { self.address($0.id) }, except: made?.entry.address)
        let victims = state.index.victims(of: limit, for: made?.entry, besides: gone)
        let isComplete = victims.count <= Self.mostRemovals
        let limited = victims.prefix(Self.mostRemovals).map { CacheEviction(id: $0.name, reason: .limit) }
        // The size of a commit is limited: this one only evicts values, and the next one continues.
        (gone, evictions) = isComplete ? (gone + victims, evictions + limited) : (Array(victims.prefix(Self.mostRemovals)), limited)
        let put = isComplete ? made : nil
        let changes =
            (put.map { [(id: $0.entry.address.name, size: Optional($0.entry.size), expiresAt: $0.entry.expiresAt)] } ?? [])
            + gone.map { (id: $0.name, size: nil, expiresAt: nil) }
        return Draft(
            head: known.head.after(changes), mutations: (put.map { [$0.mutation] } ?? []) + gone.map { StorageMutation.delete($0) },
            put: put?.entry, removed: gone, evictions: evictions, damaged: state.damaged, isComplete: isComplete)
    }

    private static func distinct(_ addresses: [StorageAddress], except excluded: StorageAddress?) -> [StorageAddress] {
        var seen = Set(excluded.map { [$0] } ?? [])
        return addresses.filter { seen.insert($0).inserted }
    }

    private func headMutation(_ head: CacheHead, over known: Known) -> StorageMutation {
        .put(.bytes(head.bytes), at: headAddress, if: known.revision.map { .revision($0) } ?? .absent)
    }

    /// Updates the index after a commit.
    private func note(_ draft: Draft, _ revision: StorageRevision?) {
        state.withLock { state in
            for address in draft.removed {
                state.index.remove(address)
                state.damaged[address] = nil
            }
            if let entry = draft.put {
                state.index.put(entry)
                state.damaged[entry.address] = nil
            }
            state.known = Known(head: draft.head, revision: revision)
        }
    }

    // MARK: Following other processes

    private func address(_ id: String) -> StorageAddress { StorageAddress(id, in: access.namespace) }
    private var headAddress: StorageAddress { StorageAddress(access.name, in: StorageNamespace("cache head")) }
    private var orderAddress: StorageAddress { StorageAddress(access.name, in: StorageNamespace("cache order")) }

    /// Updates the index to the present head: from the changes that the head contains, or by a scan of the store.
    private func follow() async throws {
        let probe = try await access.probe(headAddress)
        var head: CacheHead?
        if case .value(let record) = probe, case .bytes(let bytes) = record.payload { head = try? CacheHead(bytes) }
        guard let head, let known = state.withLock({ $0.known }), let changes = head.changes(since: known.head) else {
            return try await scan(head, probe.revision)
        }
        state.withLock { state in
            for change in changes {
                guard let size = change.size else {
                    state.index.remove(address(change.id))
                    continue
                }
                state.index.put(
                    CacheIndex.Entry(
                        address(change.id), size: size, expiresAt: change.expiresAt, stamp: UseStamp(commit: change.commit)))
            }
            state.known = Known(head: head, revision: probe.revision)
        }
    }

    /// Makes the index from the values in the store. Changes that are committed during the scan may be included. The
    /// next commit of this process fails then, and the index is updated from the changes in the head.
    private func scan(_ head: CacheHead?, _ revision: StorageRevision?) async throws {
        var orders: [String: UseStamp] = [:]
        if policy == .leastRecentlyUsed, case .value(let record) = try await access.probe(orderAddress),
            case .bytes(let bytes) = record.payload
        {
            orders = UseOrder.stamps(in: bytes)
        }
        let (uses, hasUnsavedUses) = state.withLock { state in
            // Uses of another store say nothing about the values of this one.
            state.known.map { $0.head.store == head?.store } ?? true ? (state.index.used(.max), state.hasUnsavedUses) : ([], false)
        }
        for use in uses { orders[use.address.name] = max(use.stamp, orders[use.address.name] ?? use.stamp) }
        var entries: [CacheIndex.Entry] = []
        var damaged: [StorageAddress: StorageRevision] = [:]
        var last = head?.commit ?? 0
        var cursor: StorageCursor?
        repeat {
            let page = try await access.page(after: cursor)
            for entry in page.entries {
                guard let record = entry.record else {
                    damaged[entry.address] = entry.corruption?.revision
                    continue
                }
                let commit =
                    record.metadata.attributes[Self.commitAttribute].flatMap { UInt64($0, radix: 16) }.map { min($0, .max / 2) } ?? 0
                let stamp = UseStamp(commit: commit)
                let size = record.payload.byteCount + record.metadata.byteCount + entry.address.name.utf8.count
                last = max(last, commit)
                let used = max(stamp, orders[entry.address.name] ?? stamp)
                entries.append(CacheIndex.Entry(entry.address, size: size, expiresAt: record.metadata.expiresAt, stamp: used))
            }
            if !page.damaged.isEmpty { try await access.delete(page.damaged.map(\.handle)) }
            cursor = page.next
        } while cursor != nil
        state.withLock { [damaged, last] state in
            let known = head ?? CacheHead(store: runtime.randomBits(), commit: last)
            state = State(
                index: CacheIndex(entries), known: Known(head: known, revision: revision), damaged: damaged, hasUnsavedUses: hasUnsavedUses)
        }
    }

    // MARK: The order of use

    /// Stores the order in which values were used, for the next process.
    func saveUses() async throws {
        let entries = state.withLock { state in
            state.hasUnsavedUses = false
            return state.index.used(UseOrder.maximumCount)
        }
        do {
            var mutation = StorageMutation.put(.bytes(UseOrder.bytes(of: entries)), at: orderAddress)
            for _ in 0..<2 {
                guard case .conflict(let probe) = try await access.apply([mutation]).first else { return }
                mutation.precondition = probe.revision.map { .revision($0) } ?? .none
            }
        } catch {
            state.withLock { $0.hasUnsavedUses = true }
            throw error
        }
    }
}
