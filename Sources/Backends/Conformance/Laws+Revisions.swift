import BackendContract

extension BackendLaw {
    static let revisions: [BackendLaw] = [
        BackendLaw("no revision is used again, also after a delete") { store, bench in
            try await collect(from: store, rounds: bench.count(200, atLeast: 5), into: [])
        },
        BackendLaw("no revision is used again after reopening", needs: [.reopening], requires: { $0.durability != .process }) { bench in
            let store = try await bench.makeStore()
            var seen = try await collect(from: store, rounds: 3, into: [])
            for _ in 0..<3 {
                await store.close()
                seen = try await collect(from: bench.reopened(store), rounds: 2, into: seen)
            }
        },
        BackendLaw("a revision changes exactly when the state of its slot changes") { store, _ in
            let address = StorageAddress("state")
            let first = try await store.put(bytes("same"), at: address)
            try await store.put(bytes("x"), at: StorageAddress("other"))
            let unchanged = try await store.read(address, .fresh)
            try demand(unchanged.revision == first, "the same revision for the same state", found: "another one")
            let second = try await store.put(bytes("same"), at: address)
            try demand(second != first, "a new revision for every put, also of an equal value", found: "the same one")
            let third = try await store.put(bytes("same"), StorageMetadata(typeTag: "T"), at: address)
            try demand(third != second, "a new revision for new metadata", found: "the same one")
        },
    ]

    /// Repeatedly writes equal values and tombstones (records of a removal), and deletes the slots (locations of one
    /// value) again. Demands that every new state has a revision, its identifier, that was never used before.
    @discardableResult
    private static func collect(
        from store: any StorageBackend, rounds: Int, into old: Set<StorageRevision>
    ) async throws -> Set<StorageRevision> {
        var seen = old
        let addresses = [StorageAddress("cycle"), StorageAddress("cycle 2"), StorageAddress("cycle", in: StorageNamespace("other"))]
        for round in 0..<rounds {
            let address = addresses[round % addresses.count]
            var new = [try await store.put(bytes("same"), at: address)]
            if round.isMultiple(of: 2) { new.append(try await store.writeTombstone(address)) }
            for revision in new {
                try demand(
                    seen.insert(revision).inserted, "a revision that was never used before", found: "one used again in round \(round)")
            }
            try await store.empty(address)
        }
        return seen
    }
}
