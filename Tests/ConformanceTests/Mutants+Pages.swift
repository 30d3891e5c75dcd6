import BackendContract
import MemoryBackend
import TestSupport

extension Mutant {
    static var pages: [Mutant] {
        let whole = "the pages of a namespace contain each value once, and no tombstones"
        let exact = "the pages of a query contain exactly the values that match its conditions"
        let current = "after a change, a value is on the pages that match its new content, and on no others"
        let stays = "a value that does not change is listed once, whatever changes beside it"
        return [
            Mutant(
                "takes a short page for the last one", breaks: whole, exact,
                fault: FaultyStore.Fault(page: { store, query, cursor, limit async throws(BackendError) in
                    StoragePage(try await store.page(query, after: cursor, limit: limit).entries, next: nil)
                })),
            Mutant(
                "begins every page with the last entry of the one before", breaks: whole, stays,
                fault: FaultyStore.Fault(page: { store, query, cursor, limit async throws(BackendError) in
                    let page = try await store.page(query, after: cursor, limit: limit)
                    guard let cursor, let last = String(validating: cursor.bytes, as: UTF8.self) else { return page }
                    let probe = try await store.read(StorageAddress(last, in: query.namespace))
                    guard let record = probe.record else { return page }
                    return StoragePage([.init(StorageAddress(last, in: query.namespace), .record(record))] + page.entries, next: page.next)
                })),
            Mutant(
                "gives places for cursors", breaks: stays,
                fault: FaultyStore.Fault(page: { store, query, cursor, limit async throws(BackendError) in
                    let all = try await store.page(query, after: nil, limit: .max).entries
                    let start = min(cursor.map { Int($0.bytes[0]) } ?? 0, all.count)
                    let end = min(start + max(limit, 1), all.count)
                    return StoragePage(Array(all[start..<end]), next: end == all.count ? nil : StorageCursor([UInt8(end)]))
                })),
            Mutant(
                "does not count what pages hold", breaks: whole, exact,
                fault: FaultyStore.Fault(count: { store, query async throws(BackendError) in
                    try await store.addresses(in: query.namespace).count
                })),
            Mutant(
                "looks at the first condition only", breaks: exact,
                fault: .queries { StorageQuery($0.namespace, Array($0.conditions.prefix(1))) }),
            Mutant(
                "forgets the conditions", breaks: exact, current, fault: .queries { StorageQuery($0.namespace) }),
            Mutant(
                "asks by the day", breaks: exact,
                fault: .queries { query in
                    StorageQuery(
                        query.namespace,
                        query.conditions.map { condition in
                            guard case .modified(let since) = condition else { return condition }
                            return .modified(since: (since / 86_400).rounded(.down) * 86_400)
                        })
                }),
            Mutant(
                "returns values without metadata on pages",
                breaks: "a page contains values as a read returns them, and at most as many as its limit",
                fault: FaultyStore.Fault(page: { store, query, cursor, limit async throws(BackendError) in
                    let page = try await store.page(query, after: cursor, limit: limit)
                    let entries = page.entries.map { entry in
                        guard var record = entry.record else { return entry }
                        record.metadata = StorageMetadata()
                        return .init(entry.address, .record(record))
                    }
                    return StoragePage(entries, next: page.next)
                })),
            Mutant(
                "leaves damaged slots off its pages", breaks: "a page lists a damaged slot as damaged, unless the whole store is damaged",
                fault: FaultyStore.Fault(page: { store, query, cursor, limit async throws(BackendError) in
                    let page = try await store.page(query, after: cursor, limit: limit)
                    return StoragePage(page.entries.filter { $0.record != nil }, next: page.next)
                })),
        ]
    }
}

extension FaultyStore.Fault {
    /// A fault that replaces each query with another one.
    fileprivate static func queries(_ change: @escaping @Sendable (StorageQuery) -> StorageQuery) -> Self {
        Self(
            page: { store, query, cursor, limit async throws(BackendError) in
                try await store.page(change(query), after: cursor, limit: limit)
            },
            count: { store, query async throws(BackendError) in try await store.count(change(query)) })
    }
}
