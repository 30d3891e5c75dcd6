import BackendContract

extension BackendLaw {
    static let pages: [BackendLaw] = [
        BackendLaw("the pages of a namespace contain each value once, and no tombstones") { store, bench in
            for namespace in [StorageNamespace.values, shelf] {
                try await demandPages(StorageQuery(namespace), [], of: store)
                let addresses = (0..<bench.count(40, atLeast: 5)).map { StorageAddress("paged \($0)", in: namespace) }
                _ = try await store.apply(addresses.map { .put(bytes($0.name), at: $0) })
                try await store.writeTombstone(addresses[0])
                try await store.empty(addresses[1])
                for limit in [3, 1_000] { try await demandPages(StorageQuery(namespace), Set(addresses[2...]), of: store, limit: limit) }
            }
            // A namespace (a separate set of names) without values has one empty page, even if other namespaces have
            // values.
            try await demandPages(StorageQuery(StorageNamespace("unused")), [], of: store)
        },
        BackendLaw("a page contains values as a read returns them, and at most as many as its limit") { store, _ in
            let metadata = StorageMetadata(serializer: "json", typeTag: "note", modifiedAt: 90_000.5, attributes: ["colour": "red"])
            let addresses = (0..<4).map { StorageAddress("page \($0)", in: shelf) }
            _ = try await store.apply(addresses.map { .put(bytes("x \($0.name)"), metadata, at: $0) })
            for limit in [-1, 0, 1, 3] {
                var cursor: StorageCursor?
                var count = 0
                repeat {
                    let page = try await store.page(StorageQuery(shelf), after: cursor, limit: limit)
                    try demand(
                        page.entries.count <= max(limit, 1), "at most \(limit) entries, or one", found: "\(page.entries.count) of them")
                    for entry in page.entries {
                        let probe = try await store.read(entry.address, .fresh)
                        let isSame = entry.record.map { StorageProbe.value($0).isExactly(probe) } ?? false
                        try demand(isSame, "the value that a read finds, \(probe.outline)", found: "another, on a page")
                    }
                    count += page.entries.count
                    cursor = page.next
                } while cursor != nil
                try demand(count == addresses.count, "pages of \(addresses.count) entries at a limit of \(limit)", found: "\(count)")
            }
        },
        BackendLaw("the pages of a query contain exactly the values that match its conditions") { store, _ in
            for namespace in [StorageNamespace.values, shelf] {
                let mutations = shelved.enumerated().map { number, metadata in
                    StorageMutation.put(bytes("\(number)"), metadata, at: StorageAddress("shelved \(number)", in: namespace))
                }
                _ = try await store.apply(mutations)
                for conditions in questions {
                    let query = StorageQuery(namespace, conditions)
                    let wanted = zip(mutations, shelved).filter { query.matches($1) }.map(\.0.address)
                    try await demandPages(query, Set(wanted), of: store, limit: 2)
                }
            }
        },
        BackendLaw("after a change, a value is on the pages that match its new content, and on no others") { store, _ in
            let address = StorageAddress("moving", in: shelf)
            func demandOnly(_ now: StorageMetadata?) async throws {
                for conditions in questions {
                    let query = StorageQuery(shelf, conditions)
                    try await demandPages(query, now.map(query.matches) == true ? [address] : [], of: store)
                }
            }
            for metadata in [shelved[0], shelved[3], shelved[5]] {
                try await store.put(bytes("x"), metadata, at: address)
                try await demandOnly(metadata)
            }
            try await store.writeTombstone(address)
            try await demandOnly(nil)
            try await store.put(bytes("y"), shelved[1], at: address)
            try await demandOnly(shelved[1])
            try await store.empty(address)
            try await demandOnly(nil)
        },
        BackendLaw("a value that does not change is listed once, whatever changes beside it") { store, _ in
            let staying = (0..<8).map { StorageAddress("staying \($0)", in: shelf) }
            let going = (0..<8).map { StorageAddress("going \($0)", in: shelf) }
            _ = try await store.apply((staying + going).map { .put(bytes("x"), shelved[0], at: $0) })
            var seen: [StorageAddress] = []
            var cursor: StorageCursor?
            var round = 0
            repeat {
                let page = try await store.page(StorageQuery(shelf, [.typeTag("note")]), after: cursor, limit: 3)
                seen += page.entries.map(\.address)
                cursor = page.next
                // Delete values in the first three rounds, and add values in the next three. A store whose cursor (the
                // position after a page) is only a number of values fails in both cases.
                if round < 3 {
                    for address in going[(2 * round)..<(2 * round + 2)] { try await store.empty(address) }
                } else if round < 6 {
                    try await store.put(bytes("y"), shelved[0], at: StorageAddress("coming \(round)", in: shelf))
                }
                round += 1
            } while cursor != nil
            for address in staying {
                let count = seen.count { $0 == address }
                try demand(count == 1, "a value that stays, on one page", found: "it \(count) times")
            }
        },
        BackendLaw("a page lists a damaged slot as damaged, unless the whole store is damaged", needs: [.damage]) { store, bench in
            let (good, bad) = (StorageAddress("good"), StorageAddress("bad"))
            for address in [good, bad] { try await store.put(bytes("x"), at: address) }
            try await bench.corrupt(bad, in: store)
            do {
                var entries: [StoragePage.Entry] = []
                var unnamed = 0
                var cursor: StorageCursor?
                repeat {
                    let page = try await store.page(StorageQuery(.values), after: cursor, limit: 10)
                    entries += page.entries
                    unnamed += page.damaged.count
                    cursor = page.next
                } while cursor != nil
                let named = Set(entries.map(\.address))
                let damaged = entries.filter { $0.corruption != nil }.map(\.address)
                try demand(
                    named.contains(good) && named.isSubset(of: [good, bad]) && damaged.count + unnamed == 1 && !damaged.contains(good),
                    "pages with the damaged slot", found: "one of \(entries.count) entries, \(damaged.count + unnamed) of them damaged")
                try demand(unnamed == 0 || bench.capabilities.sealsNames, "a damaged slot by its name", found: "one by its handle")
                let count = try await store.count(StorageQuery(.values))
                try demand(count == 2, "a count with the damaged slot", found: "\(count)")
            } catch let error as BackendError {
                let isWholeStore = try await store.read(bad).revision == nil
                try demand(error.code == .corrupted && isWholeStore, "a page, or a store that is damaged as a whole", found: "\(error)")
            }
        },
    ]

    private static let shelf = StorageNamespace("shelf")

    /// The metadata of the stored values. The queries in `questions` distinguish these values.
    private static let shelved = [
        StorageMetadata(typeTag: "note", modifiedAt: 1_700_000_000.5, attributes: ["colour": "red", "size": "1"]),
        StorageMetadata(typeTag: "note", modifiedAt: 1_700_090_000, attributes: ["colour": "r\u{E9}d"]),
        StorageMetadata(typeTag: "Note", attributes: ["colour": "re\u{301}d", "size": ""]), StorageMetadata(),
        StorageMetadata(typeTag: "colour", modifiedAt: -1.5, attributes: ["red": "colour"]),
        StorageMetadata(typeTag: "", modifiedAt: 1_700_000_000, attributes: ["colour": "red", "size": "2"]),
        StorageMetadata(typeTag: "note", attributes: ["colour": "red"], indexesAttributes: false),
        StorageMetadata(modifiedAt: -1.5, attributes: ["size": ""], indexesAttributes: false),
    ]

    private static let questions: [[StorageQuery.Condition]] = [
        [], [.typeTag("note")], [.typeTag("")], [.typeTag("red")], [.attribute("colour", "red")], [.attribute("colour", "r\u{E9}d")],
        [.attribute("colour", "re\u{301}d")], [.attribute("size", "")], [.modified(since: 1_700_000_000.5)], [.modified(since: -1.5)],
        [.modified(since: .infinity)], [.typeTag("note"), .attribute("colour", "red")],
        [.attribute("colour", "red"), .modified(since: 1_700_000_000.25)], [.typeTag("note"), .modified(since: 1_700_000_001)],
        [.attribute("colour", "red"), .attribute("size", "2")],
    ]

    /// Reads all pages of a query, and demands that the pages contain exactly the wanted values. The store's count for
    /// the query must be the number of these values.
    private static func demandPages(
        _ query: StorageQuery, _ wanted: Set<StorageAddress>, of store: any StorageBackend, limit: Int = 100
    ) async throws {
        var found: [StorageAddress] = []
        var cursor: StorageCursor?
        repeat {
            let page = try await store.page(query, after: cursor, limit: limit)
            found += page.entries.map(\.address)
            cursor = page.next
        } while cursor != nil
        try demand(
            Set(found) == wanted && found.count == wanted.count,
            "the \(wanted.count) values of \(query.namespace) that fulfil \(query.conditions.count) conditions, each once",
            found: "\(found.count) entries, \(wanted.subtracting(found).count) of the values missing")
        let count = try await store.count(query)
        try demand(count == found.count, "a count of the \(found.count) entries on the pages", found: "\(count)")
    }
}
