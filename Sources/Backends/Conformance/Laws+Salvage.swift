import BackendContract

/// The laws (rules that a backend must keep) for stores that encrypt names. In such a store, the name of a damaged
/// slot, the location of one value, cannot be read, but all other slots remain readable.
extension BackendLaw {
    static let salvage: [BackendLaw] = [
        BackendLaw(
            "beside a damaged slot without a name the others are listed, and a handle reads and deletes it", needs: [.damage],
            requires: \.sealsNames
        ) { store, bench in
            let salvageable = try salvageable(store)
            for namespace in [StorageNamespace.values, StorageNamespace("shelf")] {
                let addresses = (0..<3).map { StorageAddress("\($0)", in: namespace) }
                for address in addresses { try await store.put(bytes(address.name), StorageMetadata(typeTag: "note"), at: address) }
                try await bench.corrupt(addresses[1], in: store)
                let whole = Set([addresses[0], addresses[2]])
                let listing = try await salvageable.listing(in: namespace)
                try demand(
                    Set(listing.addresses).subtracting([addresses[1]]) == whole, "the two whole slots", found: "\(listing.addresses)")
                guard let damaged = listing.damaged.first, listing.damaged.count == 1 else {
                    throw LawViolation(expected: "one damaged slot by its handle", found: "\(listing.damaged.count)")
                }
                for conditions in [[], [StorageQuery.Condition.typeTag("note")]] {
                    let page = try await store.page(StorageQuery(namespace, conditions), after: nil, limit: 10)
                    try demand(
                        Set(page.entries.map(\.address)) == whole, "a page with the whole slots", found: "\(page.entries.count) entries")
                    try demand(
                        page.damaged.map(\.handle) == [damaged.handle], "a page with the damaged slot",
                        found: "\(page.damaged.count) of them")
                }
                let found = try await salvageable.damage(at: damaged.handle)
                try demand(found == damaged.corruption, "the bytes of the damaged slot", found: found == nil ? "nothing" : "other bytes")
                try await demandDeleted(damaged.handle, from: salvageable)
                try await store.demandAbsent(addresses[1], "after it was deleted by its handle")
                try await demandNames(whole, in: namespace, of: store)
                try await store.put(bytes("new"), StorageMetadata(typeTag: "note"), at: addresses[1])
                try await demandNames(Set(addresses), in: namespace, of: store)
                let page = try await store.page(StorageQuery(namespace, [.typeTag("note")]), after: nil, limit: 10)
                try demand(
                    page.entries.count == 3 && page.damaged.isEmpty, "a page of three values",
                    found: "\(page.entries.count), and \(page.damaged.count) damaged")
                for address in addresses { try await store.empty(address) }
            }
        },
        BackendLaw("a handle of damage identifies one state of a slot, and no later state", needs: [.damage], requires: \.sealsNames) {
            bench in
            let store = try await bench.makeStore()
            let salvageable = try salvageable(store)
            let address = StorageAddress("damaged")
            try await store.put(bytes("old"), at: address)
            try await bench.corrupt(address, in: store)
            guard let handle = try await salvageable.listing(in: .values).damaged.first?.handle else {
                throw LawViolation(expected: "a damaged slot by its handle", found: "none")
            }
            guard let revision = try await store.read(address).revision else {
                throw LawViolation(expected: "damage that has a revision", found: "none")
            }
            try await store.put(bytes("new"), at: address, if: .revision(revision))
            let found = try await salvageable.damage(at: handle)
            try demand(found == nil, "nothing for the handle of a slot that was replaced", found: "damage")
            let isDeleted = try await salvageable.deleteDamage(at: handle)
            try demand(!isDeleted, "false for the handle of a slot that was replaced", found: "true")
            try await store.demandValue(bytes("new"), at: address)
            for bytes in [[], [0], [UInt8](repeating: 7, count: 41)] {
                let isAnyDeleted = try await salvageable.deleteDamage(at: DamageHandle(bytes))
                try demand(!isAnyDeleted, "false for a handle that the store did not make", found: "true")
            }
        },
    ]

    private static func salvageable(_ store: any StorageBackend) throws -> any SalvageableBackend {
        guard let salvageable = store as? any SalvageableBackend else {
            throw LawViolation(expected: "a SalvageableBackend where names are sealed", found: "another type")
        }
        return salvageable
    }

    private static func demandDeleted(_ handle: DamageHandle, from store: any SalvageableBackend) async throws {
        let isDeleted = try await store.deleteDamage(at: handle)
        try demand(isDeleted, "true for a damaged slot that was deleted", found: "false")
        let again = try await store.deleteDamage(at: handle)
        try demand(!again, "false for a damaged slot that is gone", found: "true")
    }

}
