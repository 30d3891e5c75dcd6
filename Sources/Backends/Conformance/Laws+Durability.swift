import BackendContract

extension BackendLaw {
    static let durability: [BackendLaw] = [
        BackendLaw("no change reports more durability than the backend claims") { store, bench in
            let address = StorageAddress("lasting")
            let claim = store.capabilities.durability
            try demand(claim == bench.capabilities.durability, "the durability that the bench names", found: "\(claim)")
            for mutation in [StorageMutation.put(bytes("x"), at: address), .tombstone(at: address), .delete(address), .delete(address)] {
                let result = try await store.apply(mutation)
                guard case .applied(_, let durability) = result else { throw LawViolation(expected: "applied", found: result.outline) }
                try demand(durability <= claim, "at most \(claim)", found: "\(durability)")
                try demand(claim == .process || durability != .process, "longer than the process, as claimed", found: "\(durability)")
            }
        },
        BackendLaw("after synchronize, everything read is as durable as any acknowledged change") { store, _ in
            var promised = try await store.synchronize()
            for name in ["one", "two"] {
                let result = try await store.apply(.put(bytes("x"), at: StorageAddress(name)))
                guard case .applied(_, let durability) = result else { throw LawViolation(expected: "applied", found: result.outline) }
                promised = max(promised, durability)
            }
            let reached = try await store.synchronize()
            try demand(reached >= promised, "at least what the changes promised", found: "\(reached)")
            try demand(reached <= store.capabilities.durability, "at most what is claimed", found: "\(reached)")
        },
        BackendLaw("a store in use is ready") { store, _ in
            try await store.put(bytes("x"), at: StorageAddress("x"))
            let status = await store.status()
            try demand(status == .ready, "ready", found: "\(status)")
        },
    ]
}
