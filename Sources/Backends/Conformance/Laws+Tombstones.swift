import BackendContract

extension BackendLaw {
    static let tombstones: [BackendLaw] = [
        BackendLaw("a removed value leaves a tombstone with its metadata, and no value") { store, _ in
            let address = StorageAddress("removed")
            let metadata = StorageMetadata(origin: [1, 2, 3], modifiedAt: 12.5, attributes: ["why": "the user asked 🗑️"])
            for hasValue in [false, true] {
                if hasValue { try await store.put(bytes("x"), at: address) }
                let revision = try await store.writeTombstone(address, metadata)
                for freshness in [ReadFreshness.validated, .fresh] {
                    let probe = try await store.read(address, freshness)
                    guard case .tombstone(let tombstone) = probe else { throw LawViolation(expected: "a tombstone", found: probe.outline) }
                    try demand(tombstone.revision == revision, "the revision that the removal returned", found: "another one")
                    try demand(
                        tombstone.metadata.isExactly(metadata), "the tombstone's metadata",
                        found: tombstone.metadata.differences(from: metadata))
                }
            }
        },
        BackendLaw("a put over a tombstone needs no precondition, or the tombstone's revision") { store, _ in
            let address = StorageAddress("again")
            try await store.writeTombstone(address)
            try await store.put(bytes("one"), at: address)
            try await store.demandValue(bytes("one"), at: address)
            let revision = try await store.writeTombstone(address)
            try await store.put(bytes("two"), at: address, if: .revision(revision))
            try await store.demandValue(bytes("two"), at: address)
        },
        BackendLaw("a delete removes a tombstone") { store, _ in
            let address = StorageAddress("forgotten")
            try await store.writeTombstone(address)
            try await store.empty(address)
            try await store.demandAbsent(address, "after a tombstone was deleted")
        },
        BackendLaw("a tombstone survives reopening", needs: [.reopening], requires: { $0.durability != .process }) { store, bench in
            let (address, metadata) = (StorageAddress("removed"), StorageMetadata(origin: [7]))
            let revision = try await store.writeTombstone(address, metadata)
            await store.close()
            let probe = try await bench.reopened(store).read(address, .fresh)
            guard case .tombstone(let tombstone) = probe else { throw LawViolation(expected: "a tombstone", found: probe.outline) }
            try demand(
                tombstone.revision == revision && tombstone.metadata.isExactly(metadata), "the same tombstone",
                found: tombstone.metadata.differences(from: metadata))
        },
    ]
}
