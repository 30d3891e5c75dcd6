import BackendContract

extension BackendLaw {
    static let concurrency: [BackendLaw] = [
        BackendLaw("a cancelled call writes completely or not at all, and reports which") { store, bench in
            let addresses = (0..<bench.count(60, atLeast: 10)).map { StorageAddress("cancelled \($0)") }
            let (old, new) = (bytes("old"), StoragePayload.bytes([UInt8](repeating: 7, count: 10_000)))
            let metadata = StorageMetadata(typeTag: "new", attributes: ["new": "new"])
            for result in try await store.apply(addresses.map { .put(old, at: $0) }) {
                try demand(result.isApplied, "applied", found: result.outline)
            }
            let tasks = addresses.enumerated().map { index, address in
                Task { @concurrent in
                    // Some callers are cancelled before the call, some during the call, and some not at all.
                    if index % 4 == 1 { withUnsafeCurrentTask { $0?.cancel() } }
                    return await outcome(of: .put(new, metadata, at: address), in: store)
                }
            }
            for (index, task) in tasks.enumerated() where !index.isMultiple(of: 4) {
                for _ in 0..<(index % 7) { await Task.yield() }
                task.cancel()
            }
            for (index, task) in tasks.enumerated() {
                let outcome = await task.value
                let probe = try await store.read(addresses[index], .fresh)
                let isNew = probe.record?.payload == new && probe.record?.metadata.isExactly(metadata) == true
                let isOld = probe.record?.payload == old && probe.record?.metadata.isExactly(StorageMetadata()) == true
                try demand(isNew || isOld, "the old state or the new one, whole", found: probe.outline)
                switch outcome {
                case .applied: try demand(isNew, "the new value after an applied put", found: probe.outline)
                case .notApplied: try demand(isOld, "the old value after a put that was not applied", found: probe.outline)
                case .unknown: break
                }
                if index.isMultiple(of: 4) { try demand(outcome == .applied, "applied for a caller that stayed", found: "\(outcome)") }
            }
        },
        BackendLaw("a cancelled batch happens whole or not at all", requires: \.atomicBatch) { store, bench in
            for round in 0..<bench.count(30, atLeast: 5) {
                let addresses = (0..<3).map { StorageAddress("batch \(round) \($0)") }
                let task = Task { @concurrent in
                    if round.isMultiple(of: 5) { withUnsafeCurrentTask { $0?.cancel() } }
                    return try await store.apply(addresses.map { .put(bytes("x"), at: $0) })
                }
                for _ in 0..<(round % 7) { await Task.yield() }
                task.cancel()
                _ = await task.result
                var present = try await store.read(addresses, .fresh).filter { $0.record != nil }.count
                // A read of several slots (locations of one value) is not a snapshot. The cancelled caller's batch may
                // still be committed, even between the reads of two slots. In that case a second read finds the whole
                // batch.
                if present != 0 { present = try await store.read(addresses, .fresh).filter { $0.record != nil }.count }
                try demand(present == 0 || present == 3, "none or all of 3", found: "\(present)")
            }
        },
        BackendLaw("tasks that use different slots at once do not disturb each other") { store, bench in
            let slots = bench.count(50, atLeast: 8)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for slot in 0..<slots {
                    group.addTask {
                        let address = StorageAddress("slot \(slot)")
                        let first = try await store.put(bytes("first \(slot)"), at: address, if: .absent)
                        try await store.demandValue(bytes("first \(slot)"), at: address)
                        let second = try await store.put(bytes("second \(slot)"), at: address, if: .revision(first))
                        if slot.isMultiple(of: 3) { try await store.empty(address, if: .revision(second)) }
                    }
                }
                try await group.waitForAll()
            }
            for slot in 0..<slots {
                let address = StorageAddress("slot \(slot)")
                if slot.isMultiple(of: 3) {
                    try await store.demandAbsent(address, "after its own task deleted it")
                } else {
                    try await store.demandValue(bytes("second \(slot)"), at: address)
                }
            }
            let listed = try await store.addresses(in: .values)
            try demand(listed.count == slots - (slots + 2) / 3, "every remaining slot listed", found: "\(listed.count) names")
        },
        BackendLaw("a refused call does not affect other calls made at the same time") { store, bench in
            let neighbours = bench.count(24, atLeast: 6)
            let refused = refusals(bench.capabilities)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<neighbours {
                    group.addTask { try await store.put(bytes("\(number)"), at: StorageAddress("neighbour \(number)")) }
                    let mutation = refused[number % refused.count]
                    group.addTask {
                        let result = try await store.apply(mutation)
                        try demand(!result.isApplied, "a refusal", found: result.outline)
                    }
                }
                try await group.waitForAll()
            }
            for number in 0..<neighbours {
                try await store.demandValue(
                    bytes("\(number)"), at: StorageAddress("neighbour \(number)"), " beside calls that were refused")
            }
        },
        BackendLaw("a read never returns part of a value") { store, bench in
            let address = StorageAddress("whole")
            let rounds = bench.count(60, atLeast: 6)
            func content(_ round: Int) -> StoragePayload { .bytes([UInt8](repeating: UInt8(round % 251), count: 1_000 + round)) }
            try await store.put(content(0), StorageMetadata(schemaVersion: 0), at: address)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    for round in 1...rounds { try await store.put(content(round), StorageMetadata(schemaVersion: round), at: address) }
                }
                for freshness in [ReadFreshness.validated, .fresh] {
                    group.addTask {
                        var last = 0
                        while last < rounds {
                            let probe = try await store.read(address, freshness)
                            guard let record = probe.record, let round = record.metadata.schemaVersion, record.payload == content(round)
                            else {
                                throw LawViolation(expected: "a value together with its own metadata", found: probe.outline)
                            }
                            try demand(round >= last, "never an older value than before", found: "round \(round) after round \(last)")
                            last = round
                            await Task.yield()
                        }
                    }
                }
                try await group.waitForAll()
            }
        },
    ]

    /// Returns mutations (changes of one slot) that a store with these capabilities refuses. Each has a different
    /// reason.
    private static func refusals(_ capabilities: BackendCapabilities) -> [StorageMutation] {
        var mutations = [
            StorageMutation.put(bytes("x"), at: StorageAddress("refused"), if: .revision(StorageRevision([1]))),
            .put(bytes("x"), at: StorageAddress("")),
        ]
        if !capabilities.storesNativeValues { mutations.append(.put(.native(.integer(1)), at: StorageAddress("native"))) }
        if let limit = capabilities.maximumValueSize {
            let large = StoragePayload.bytes([UInt8](repeating: 7, count: limit))
            let heavy = StorageMetadata(attributes: ["heavy": String(repeating: "x", count: limit)])
            mutations.append(.put(large, heavy, at: StorageAddress("large")))
        }
        return mutations
    }

    private static func outcome(of mutation: StorageMutation, in store: any StorageBackend) async -> MutationOutcome {
        do throws(BackendError) {
            let result = try await store.apply(mutation)
            return result.isApplied ? .applied : result.failure?.outcome ?? .notApplied
        } catch { return error.outcome }
    }
}
