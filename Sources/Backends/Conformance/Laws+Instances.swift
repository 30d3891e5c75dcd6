import BackendContract

extension BackendLaw {
    static let instances: [BackendLaw] = [
        BackendLaw(
            "a store keeps everything when it is closed and opened again", needs: [.reopening], requires: { $0.durability != .process }
        ) {
            bench in
            var store = try await bench.makeStore()
            let other = StorageNamespace("other")
            let states: [(StorageAddress, StoragePayload)] = [
                (StorageAddress("one"), bytes("1")), (StorageAddress("empty"), .bytes([])), (StorageAddress("one", in: other), bytes("2")),
            ]
            for (address, payload) in states { try await store.put(payload, at: address) }
            try await store.put(bytes("x"), at: StorageAddress("gone"))
            try await store.empty(StorageAddress("gone"))
            let before = try await store.read(states.map(\.0), .fresh)
            for _ in 0..<2 {
                await store.close()
                store = try await bench.reopened(store)
                for (address, payload) in states { try await store.demandValue(payload, at: address, " before the store was closed") }
                try await store.demandAbsent(StorageAddress("gone"), "after a delete before the store was closed")
                let after = try await store.read(states.map(\.0), .fresh)
                try demand(
                    zip(before, after).allSatisfy { $0.isExactly($1) }, "the same states with the same revisions",
                    found: after.map(\.outline).joined(separator: ", "))
                let listed = try await store.addresses(in: .values)
                try demand(Set(listed) == [states[0].0, states[1].0], "the same names", found: "\(listed.count) names")
            }
            try await store.put(bytes("new"), at: states[0].0, if: before[0].revision.map { .revision($0) } ?? .absent)
        },
        BackendLaw("two instances of one store have the same identity and capabilities", needs: [.reopening]) { store, bench in
            let second = try await bench.reopened(store)
            try demand(store.identity == second.identity, "one identity", found: "\(store.identity) and \(second.identity)")
            try demand(
                store.capabilities == bench.capabilities && second.capabilities == bench.capabilities, "the claims that the bench names",
                found: "other claims")
            let fresh = try await bench.makeStore()
            try demand(fresh.identity != store.identity, "another identity for another store", found: "\(fresh.identity) twice")
        },
        BackendLaw(
            "an instance sees what another one wrote", needs: [.reopening], requires: { $0.durability != .process || $0.crossProcess }
        ) {
            bench in
            let first = try await bench.makeStore()
            let second = try await bench.reopened(first)
            let address = StorageAddress("shared")
            let ways: [ReadFreshness] = bench.capabilities.crossProcess ? [.validated, .fresh] : [.fresh]
            for (round, pair) in [(first, second), (second, first), (first, second)].enumerated() {
                let revision = try await pair.0.put(bytes("round \(round)"), at: address)
                // First read without waiting (`ImmediateBackend`). After a usual read, the second instance would
                // already know the change.
                try await pair.1.demandTheSameAtOnce(address)
                for freshness in ways {
                    let probe = try await pair.1.read(address, freshness)
                    try demand(
                        probe.record?.payload == bytes("round \(round)") && probe.revision == revision,
                        "the other instance's last put (\(freshness) read)", found: probe.outline)
                }
                try await pair.1.demandTheSameAtOnce(address)
                let listed = try await pair.1.addresses(in: .values)
                try demand(listed == [address], "the slot to be listed by both", found: "\(listed.count) names")
            }
            try await first.writeTombstone(address)
            let removed = try await second.read(address, .fresh)
            try demand(removed.isTombstone, "the other instance's tombstone", found: removed.outline)
            try await second.empty(address)
            let gone = try await first.read(address, .fresh)
            try demand(gone.isAbsent, "nothing (absent) after the other instance's delete", found: gone.outline)
        },
        BackendLaw("a precondition holds against what another instance wrote", needs: [.reopening], requires: \.crossProcess) { bench in
            let first = try await bench.makeStore()
            let second = try await bench.reopened(first)
            let address = StorageAddress("shared")
            _ = try await second.read(address, .validated)
            let revision = try await first.put(bytes("first"), at: address, if: .absent)
            let late = try await second.apply(.put(bytes("late"), at: address, if: .absent))
            try demand(late.isConflict, "conflict for a put after the other instance's", found: late.outline)
            let next = try await second.put(bytes("second"), at: address, if: .revision(revision))
            let stale = try await first.apply(.delete(address, if: .revision(revision)))
            try demand(stale.isConflict, "conflict for a delete of a state that the other instance replaced", found: stale.outline)
            try await first.empty(address, if: .revision(next))
        },
    ]
}
