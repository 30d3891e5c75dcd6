import BackendContract

extension BackendLaw {
    static let values: [BackendLaw] = [
        BackendLaw("a value that was put is what the next read returns") { store, _ in
            let every = StoragePayload.bytes(Array(0...255))
            let revision = try await store.put(every, at: StorageAddress("every byte"))
            let record = try await store.demandValue(every, at: StorageAddress("every byte"))
            try demand(record.revision == revision, "the revision that the put returned", found: "another one")
            try await store.put(bytes("second"), at: StorageAddress("other"))
            try await store.demandValue(every, at: StorageAddress("every byte"), " before another slot was written")
            try await store.demandValue(bytes("second"), at: StorageAddress("other"))
        },
        BackendLaw("a slot that was never written is absent") { store, _ in
            try await store.demandAbsent(StorageAddress("never"), "in an empty store")
            try await store.put(bytes("x"), at: StorageAddress("some"))
            try await store.demandAbsent(StorageAddress("never"), "beside a slot that holds a value")
            try await store.demandAbsent(StorageAddress("som"), "under the beginning of a name in use")
            try await store.demandAbsent(StorageAddress("some "), "under a name in use and a space")
        },
        BackendLaw("a deleted slot is absent, and deleting nothing succeeds") { store, _ in
            let address = StorageAddress("short-lived")
            try await store.empty(address)
            try await store.put(bytes("x"), at: address)
            try await store.put(bytes("y"), at: StorageAddress("neighbour"))
            try await store.empty(address)
            try await store.demandAbsent(address, "after a delete")
            try await store.empty(address)
            try await store.demandAbsent(address, "after two deletes")
            try await store.demandValue(bytes("y"), at: StorageAddress("neighbour"), " beside a deleted one")
        },
        BackendLaw("a second put replaces the first one completely") { store, _ in
            let address = StorageAddress("replaced")
            for content in ["a rather long first value", "short", "", "and a longer one again, longer than all those before"] {
                try await store.put(bytes(content), StorageMetadata(typeTag: content), at: address)
                let record = try await store.demandValue(bytes(content), at: address)
                try demand(record.metadata.typeTag == content, "the metadata of the last put", found: "other metadata")
            }
        },
        BackendLaw("an empty value is a value") { store, _ in
            let address = StorageAddress("empty")
            try await store.put(.bytes([]), at: address)
            try await store.demandValue(.bytes([]), at: address)
        },
        BackendLaw("a value of 1 MiB is stored completely, or refused as too large before anything is written") { store, bench in
            try await checkSize(1 << 20, mustFit: (bench.capabilities.maximumValueSize ?? .max) >= 1 << 20, store)
        },
        BackendLaw(
            "the largest value claimed fits, and one byte more is refused as too large",
            requires: { ($0.maximumValueSize ?? .max) <= 1 << 22 }
        ) { bench in
            guard let limit = bench.capabilities.maximumValueSize else { return }
            let store = try await bench.makeStore()
            try await checkSize(limit, mustFit: true, store)
            try await checkSize(limit + 1, mustFit: false, store)
        },
        BackendLaw("a read returns one probe for each address in their order, also for repeats and for no address") { store, _ in
            let (first, second, none) = (StorageAddress("1"), StorageAddress("2"), StorageAddress("3"))
            try await store.put(bytes("one"), at: first)
            try await store.put(bytes("two"), at: second)
            for freshness in [ReadFreshness.validated, .fresh] {
                let probes = try await store.read([second, none, first, second], freshness)
                try demand(probes.count == 4, "4 probes", found: "\(probes.count)")
                let contents = probes.map(\.record?.payload)
                try demand(
                    contents == [bytes("two"), nil, bytes("one"), bytes("two")] && probes[1].isAbsent,
                    "the probes in the order of the addresses",
                    found: probes.map(\.outline).joined(separator: ", "))
                let nothing = try await store.read([], freshness)
                try demand(nothing.isEmpty, "no probe for no address", found: "\(nothing.count)")
            }
        },
    ]

    /// Replaces a small value with a value of the given size. The store must either keep the whole new value, or refuse
    /// it and leave the small value unchanged.
    private static func checkSize(_ size: Int, mustFit: Bool, _ store: any StorageBackend) async throws {
        let address = StorageAddress("size \(size)")
        try await store.put(bytes("old"), at: address)
        let large = StoragePayload.bytes((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 8) })
        let result = try await store.apply(.put(large, at: address))
        if result.isApplied {
            try demand(mustFit, "a refusal as tooLarge of \(size) bytes", found: result.outline)
            try await store.demandValue(large, at: address)
        } else {
            try demand(!mustFit, "\(size) bytes to fit", found: result.outline)
            try demand(
                result.failure?.code == .tooLarge && result.failure?.outcome == .notApplied, "a refusal as tooLarge, not applied",
                found: result.outline)
            try await store.demandValue(bytes("old"), at: address, " before the one that was too large")
        }
    }
}
