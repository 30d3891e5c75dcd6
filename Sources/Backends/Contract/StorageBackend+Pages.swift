extension StorageBackend {
    /// Returns a page of a query. This is the default for a store without an index. It gets all names of the namespace,
    /// sorts them, and reads as many slots (locations of one value) as the page needs.
    ///
    /// Every page takes time proportional to the number of names in the namespace.
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

    /// Counts the entries and damaged slots of all pages. This is the default for a store without an index.
    public func count(_ query: StorageQuery) async throws(BackendError) -> Int { try await countByPages(query) }

    /// Reads all pages and counts their entries and damaged slots.
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
    /// Returns the page entry for the result of a read; nil if the slot does not match the query.
    /// - Throws: ``BackendError`` when the slot could not be read. A page never omits such a slot.
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
    /// The error for a cursor (the position after a page) that belongs to another store or query.
    package static var stranger: BackendError {
        BackendError(.unsupported, "The cursor belongs to another store or another query. Begin with the first page.")
    }
}

extension StorageAddress {
    /// Whether the name sorts before the other name. Names are compared by their UTF-8 bytes.
    package func precedes(_ other: StorageAddress) -> Bool { name.utf8.lexicographicallyPrecedes(other.name.utf8) }
}

extension RandomAccessCollection {
    /// Returns the first index at which a condition holds; `endIndex` if it never holds.
    ///
    /// The search is binary: once the condition holds for an element, it must hold for all later ones.
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
