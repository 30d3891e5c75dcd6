import BackendContract

extension BackendLaw {
    static let batches: [BackendLaw] = [
        BackendLaw("an apply returns one result for each mutation, in their order") { store, _ in
            let addresses = (0..<5).map { StorageAddress("batch \($0)") }
            try await store.put(bytes("old"), at: addresses[1])
            let results = try await store.apply([
                .put(bytes("0"), at: addresses[0]), .delete(addresses[1]), .tombstone(at: addresses[2]), .delete(addresses[3]),
                .put(bytes("4"), at: addresses[4]),
            ])
            try demand(results.count == 5, "5 results", found: "\(results.count)")
            let probes = try await store.read(addresses, .fresh)
            for (result, probe) in zip(results, probes) {
                guard case .applied(let revision, _) = result else { throw LawViolation(expected: "applied", found: result.outline) }
                try demand(revision == probe.revision, "the revision of \(probe.outline)", found: "another one, or one too many")
            }
            try demand(
                probes[0].record?.payload == bytes("0") && probes[1].isAbsent && probes[2].isTombstone && probes[3].isAbsent
                    && probes[4].record?.payload == bytes("4"), "what the five mutations say",
                found: probes.map(\.outline).joined(separator: ", "))
            let none = try await store.apply([])
            try demand(none.isEmpty, "no result for no mutation", found: "\(none.count)")
        },
        BackendLaw("a batch with a failing precondition changes nothing", requires: \.atomicBatch) { store, _ in
            let addresses = (0..<4).map { StorageAddress("batch \($0)") }
            try await store.put(bytes("old"), at: addresses[1])
            try await store.put(bytes("old"), at: addresses[3])
            let before = try await store.read(addresses, .fresh)
            for failing in addresses.indices {
                let mutations = [
                    StorageMutation.put(bytes("new"), at: addresses[0]), .put(bytes("new"), at: addresses[1]),
                    .tombstone(at: addresses[2]), .delete(addresses[3]),
                ].enumerated().map { index, mutation in
                    index == failing ? StorageMutation(mutation.address, mutation.operation, if: .revision(StorageRevision([1]))) : mutation
                }
                let results = try await store.apply(mutations)
                try demand(results.count == 4, "4 results", found: "\(results.count)")
                for (index, result) in results.enumerated() {
                    try demand(
                        index == failing ? result.isConflict : result.isNotAttempted,
                        index == failing ? "conflict for the mutation whose precondition fails" : "not attempted for the others",
                        found: result.outline)
                }
                let after = try await store.read(addresses, .fresh)
                try demand(
                    zip(before, after).allSatisfy { $0.isExactly($1) }, "every slot unchanged",
                    found: after.map(\.outline).joined(separator: ", "))
            }
        },
        BackendLaw("a batch with an unusable name changes nothing", requires: \.atomicBatch) { store, _ in
            let good = StorageAddress("good")
            let results = try await store.apply([.put(bytes("x"), at: good), .put(bytes("x"), at: StorageAddress(""))])
            try demand(results.count == 2 && results[0].isNotAttempted, "not attempted for the good name", found: results[0].outline)
            try demand(results.last?.failure?.code == .invalidName, "invalidName for the bad one", found: results[1].outline)
            try await store.demandAbsent(good, "after a batch that failed")
        },
        BackendLaw("without atomic batches, each mutation has a separate, true result", requires: { !$0.atomicBatch }) { store, _ in
            let addresses = (0..<3).map { StorageAddress("single \($0)") }
            try await store.put(bytes("old"), at: addresses[1])
            let results = try await store.apply([
                .put(bytes("new"), at: addresses[0], if: .absent), .put(bytes("new"), at: addresses[1], if: .absent),
                .put(bytes("new"), at: addresses[2], if: .absent),
            ])
            try demand(results.count == 3, "3 results", found: "\(results.count)")
            try demand(results[1].isConflict, "conflict for the precondition that fails", found: results[1].outline)
            for (index, result) in results.enumerated() {
                let probe = try await store.read(addresses[index], .fresh)
                try demand(
                    (probe.record?.payload == bytes("new")) == result.isApplied, "the new value exactly where the result says applied",
                    found: "\(probe.outline) where the result was \(result.outline)")
            }
            try await store.demandValue(bytes("old"), at: addresses[1], " before the one that conflicted")
        },
        BackendLaw("a large batch is applied completely") { store, bench in
            let addresses = (0..<bench.count(300, atLeast: 5)).map { StorageAddress("many \($0)") }
            let results = try await store.apply(addresses.map { .put(bytes($0.name), at: $0, if: .absent) })
            try demand(results.count == addresses.count, "\(addresses.count) results", found: "\(results.count)")
            for result in results { try demand(result.isApplied, "applied", found: result.outline) }
            let probes = try await store.read(addresses, .fresh)
            for (address, probe) in zip(addresses, probes) {
                try demand(probe.record?.payload == bytes(address.name), "the value of each slot", found: probe.outline)
            }
        },
    ]
}
