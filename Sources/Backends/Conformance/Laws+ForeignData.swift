import BackendContract

extension BackendLaw {
    static let foreignData: [BackendLaw] = [
        BackendLaw("another program's value is readable, foreign and without metadata", needs: [.foreignWriter]) { store, bench in
            let address = StorageAddress("foreign")
            try await bench.writeForeign("theirs", at: address, in: store)
            let revision = try await demandForeign("theirs", at: address, in: store)
            let listed = try await store.addresses(in: .values)
            try demand(listed.contains(address), "a foreign value to be listed", found: "\(listed.count) names without it")
            let refused = try await store.apply(.put(bytes("ours"), at: address, if: .absent))
            try demand(refused.isConflict, "conflict for absent on a foreign value", found: refused.outline)
            try await store.put(bytes("ours"), StorageMetadata(typeTag: "T"), at: address, if: .revision(revision))
            let record = try await store.demandValue(bytes("ours"), at: address)
            try demand(record.metadata.typeTag == "T", "our metadata once the value is ours", found: "other metadata")
        },
        BackendLaw("a foreign value changes its revision with its content", needs: [.foreignWriter]) { store, bench in
            let address = StorageAddress("foreign")
            try await bench.writeForeign("first", at: address, in: store)
            let first = try await demandForeign("first", at: address, in: store)
            let again = try await demandForeign("first", at: address, in: store)
            try demand(first == again, "one revision for one state", found: "two")
            try await bench.writeForeign("second", at: address, in: store)
            let stale = try await store.apply(.delete(address, if: .revision(first)))
            try demand(stale.isConflict, "conflict for the revision of a foreign value that was replaced", found: stale.outline)
            let second = try await demandForeign("second", at: address, in: store)
            try await store.empty(address, if: .revision(second))
            try await store.demandAbsent(address, "after a foreign value was deleted")
        },
        BackendLaw("a value that no longer matches its metadata is foreign, and the metadata is not returned", needs: [.strandedMetadata]) {
            bench in
            let store = try await bench.makeStore()
            let (address, neighbour) = (StorageAddress("changed"), StorageAddress("neighbour"))
            let payload: StoragePayload = bench.capabilities.storesNativeValues ? .native(.string("ours")) : bytes("ours")
            let revision = try await store.put(payload, StorageMetadata(serializer: "json", origin: [1], sealing: "x"), at: address)
            try await store.put(payload, StorageMetadata(typeTag: "kept"), at: neighbour)
            try await bench.changeBehindMetadata("theirs", at: address, in: store)
            let foreign = try await demandForeign("theirs", at: address, in: store)
            try demand(foreign != revision, "another revision for the changed value", found: "the old one")
            let stale = try await store.apply(.put(bytes("new"), at: address, if: .revision(revision)))
            try demand(stale.isConflict, "conflict for the revision of the value that was changed", found: stale.outline)
            let record = try await store.demandValue(payload, at: neighbour, " beside the one that was changed")
            try demand(record.metadata.typeTag == "kept", "the neighbour's metadata", found: "other metadata")
        },
        BackendLaw("damaged bytes are reported as corrupted, and overwritten only under their revision", needs: [.damage]) { store, bench in
            let address = StorageAddress("damaged")
            let old = try await store.put(bytes("whole"), at: address)
            try await bench.corrupt(address, in: store)
            let damaged = try await demandDamage(at: address, in: store)
            try demand(damaged.revision != old, "another revision for the damaged state", found: "that of the whole value")
            for mutation in [
                StorageMutation.put(bytes("new"), at: address), .put(bytes("new"), at: address, if: .absent),
                .put(bytes("new"), at: address, if: .revision(old)), .delete(address), .tombstone(at: address),
            ] {
                let result = try await store.apply(mutation)
                let code = result.failure?.code
                try demand(
                    result.isConflict || damaged.revision == nil && code == .corrupted,
                    "conflict (or corrupted, where the whole store is damaged) for a change that has not seen the damage",
                    found: result.outline)
                let still = try await demandDamage(at: address, in: store)
                try demand(
                    still.bytes == damaged.bytes && still.revision == damaged.revision, "the damaged bytes untouched", found: "others")
            }
            do {
                let listed = try await store.addresses(in: .values)
                try demand(listed.contains(address), "a damaged slot to be listed", found: "\(listed.count) names without it")
            } catch let error as BackendError {
                // The name of the slot (the location of the value) may be unreadable, because the whole store is
                // damaged or because the store encrypts names. The store must then throw instead of returning an
                // incomplete list.
                try demand(
                    error.code == .corrupted && (damaged.revision == nil || bench.capabilities.sealsNames),
                    "a list, or an error with the code corrupted", found: "\(error)")
            }
            guard let revision = damaged.revision else { return }
            try await store.put(bytes("repaired"), at: address, if: .revision(revision))
            try await store.demandValue(bytes("repaired"), at: address)
        },
        BackendLaw("with damage in one slot, the others are readable, or none is reported as absent", needs: [.damage]) { store, bench in
            let (damaged, whole, never) = (StorageAddress("damaged"), StorageAddress("whole"), StorageAddress("never"))
            for address in [damaged, whole] { try await store.put(bytes("whole"), at: address) }
            try await bench.corrupt(damaged, in: store)
            let revision = try await demandDamage(at: damaged, in: store).revision
            if revision != nil {
                try await store.demandValue(bytes("whole"), at: whole, " beside a damaged slot")
                try await store.demandAbsent(never, "beside a damaged slot")
            } else {
                for address in [whole, never] { _ = try await demandDamage(at: address, in: store) }
            }
        },
    ]

    /// Reads a slot with each ``ReadFreshness``. Demands the text that another program wrote, without metadata and with
    /// the mark ``StorageRecord/isForeign``. The store may return the text as a native text or as its bytes.
    private static func demandForeign(
        _ text: String, at address: StorageAddress, in store: any StorageBackend
    ) async throws -> StorageRevision {
        var revision: StorageRevision?
        for freshness in [ReadFreshness.validated, .fresh] {
            let probe = try await store.read(address, freshness)
            guard let record = probe.record else {
                throw LawViolation(expected: "a foreign value (\(freshness) read)", found: probe.outline)
            }
            try demand(
                record.payload.isExactly(bytes(text)) || record.payload.isExactly(.native(.string(text))), "the other program's text",
                found: probe.outline)
            try demand(record.isForeign, "a value that is marked as foreign", found: probe.outline)
            try demand(
                record.metadata.isExactly(StorageMetadata()), "no metadata with a foreign value",
                found: record.metadata.differences(from: StorageMetadata()))
            revision = record.revision
        }
        guard let revision else { throw LawViolation(expected: "a revision", found: "none") }
        return revision
    }

    private static func demandDamage(at address: StorageAddress, in store: any StorageBackend) async throws -> StorageCorruption {
        var found: StorageCorruption?
        for freshness in [ReadFreshness.validated, .fresh] {
            let probe = try await store.read(address, freshness)
            guard let corruption = probe.corruption else {
                throw LawViolation(expected: "corrupt (\(freshness) read)", found: probe.outline)
            }
            found = corruption
        }
        guard let found else { throw LawViolation(expected: "corrupt", found: "nothing") }
        return found
    }
}
