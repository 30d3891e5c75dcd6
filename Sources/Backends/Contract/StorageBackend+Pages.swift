extension StorageBackend {
    /// Lists the names, and looks at as many as the page needs: what a store does that has no index. It takes time by the namespace for every page.
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
            count += page.entries.count
            cursor = page.next
        } while cursor != nil
        return count
    }
}

extension StorageQuery {
    /// What a look at a slot of the namespace means for a page; nil where it does not belong on it.
    /// - Throws: ``BackendError`` where what stands there cannot be told: an incomplete page is never returned.
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
    /// The error of a cursor that no page of the store and the query handed out.
    package static var stranger: BackendError {
        BackendError(.unsupported, "The cursor belongs to another store or another query. Begin with the first page.")
    }
}

extension StorageAddress {
    /// Whether the name's bytes come before another's.
    package func precedes(_ other: StorageAddress) -> Bool { name.utf8.lexicographicallyPrecedes(other.name.utf8) }
}

extension RandomAccessCollection {
    /// The first place from which on something is true, in a collection where it stays true once it is; its end where it never is.
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
