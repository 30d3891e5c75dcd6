extension StorageBackend {
    /// Lists the names and reads as many slots as the page needs: the implementation for a store without an index. Every page takes time in proportion to the namespace.
    public func page(
        _ query: StorageQuery, after cursor: StorageCursor?, limit: Int
    ) async throws(BackendError) -> StoragePage {
        let limit = max(limit, 1)
        var rest = try await addresses(in: query.namespace).sorted { $0.precedes($1) }[...]
        if let cursor {
            guard let name = String(validating: cursor.bytes, as: UTF8.self) else { throw StorageCursor.stranger }
            let last = StorageAddress(name, in: query.namespace)
            rest = rest[rest.firstPlace { last.precedes($0) }...]
        }
        var entries: [StoragePage.Entry] = []
        while !rest.isEmpty {
            let chunk = rest.prefix(max(limit, 64))
            for (address, probe) in zip(chunk, try await read(Array(chunk), .validated)) {
                if let entry = try query.entry(address, probe) { entries.append(entry) }
                rest = rest.dropFirst()
                if entries.count == limit {
                    return StoragePage(entries, next: rest.isEmpty ? nil : StorageCursor(Array(address.name.utf8)))
                }
            }
        }
        return StoragePage(entries, next: nil)
    }

    /// Counts what the pages hold.
    public func count(_ query: StorageQuery) async throws(BackendError) -> Int { try await countByPages(query) }

    /// Counts what the pages hold, one after the other.
    package func countByPages(_ query: StorageQuery) async throws(BackendError) -> Int {
        var count = 0
        var cursor: StorageCursor?
        repeat {
            let page = try await page(query, after: cursor, limit: 512)
            count += page.entries.count + page.damaged.count
            cursor = page.next
        } while cursor != nil
        return count
    }
}

extension StorageQuery {
    /// The entry of a page for what was read from a slot; nil if the slot does not belong on the page.
    /// - Throws: ``BackendError`` when the slot cannot be read: an incomplete page is never returned.
    package func entry(_ address: StorageAddress, _ probe: StorageProbe) throws(BackendError) -> StoragePage.Entry? {
        switch probe {
        case .value(let record): matches(record.metadata) ? StoragePage.Entry(address, .record(record)) : nil
        case .corrupt(let corruption): StoragePage.Entry(address, .corrupt(corruption))
        case .absent, .tombstone: nil
        case .locked: throw BackendError(.locked, "The store is locked. Unlock it and try again.")
        case .unavailable(let error): throw error
        }
    }
}

extension StorageCursor {
    /// The error for a cursor that did not come from a page of this store and query.
    package static var stranger: BackendError {
        BackendError(.unsupported, "The cursor belongs to another store or another query. Begin with the first page.")
    }
}

extension StorageAddress {
    /// Whether the name's bytes come before another's.
    package func precedes(_ other: StorageAddress) -> Bool { name.utf8.lexicographicallyPrecedes(other.name.utf8) }
}

extension RandomAccessCollection {
    /// The first index at which a condition holds, found by bisection: the condition must hold for every index after the first. The end index if it never holds.
    package func firstPlace(where isTrue: (Element) -> Bool) -> Index {
        var (low, count) = (startIndex, count)
        while count > 0 {
            let half = count / 2
            let middle = index(low, offsetBy: half)
            if isTrue(self[middle]) {
                count = half
            } else {
                low = index(after: middle)
                count -= half + 1
            }
        }
        return low
    }
}
