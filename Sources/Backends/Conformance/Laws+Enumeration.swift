import BackendContract

extension BackendLaw {
    static let enumeration: [BackendLaw] = [
        BackendLaw("values and tombstones are listed, deleted slots are not") { store, _ in
            try await demandNames([], in: .values, of: store)
            let (value, tombstone, gone) = (StorageAddress("value"), StorageAddress("tombstone"), StorageAddress("gone"))
            for address in [value, tombstone, gone] { try await store.put(bytes("x"), at: address) }
            try await store.writeTombstone(tombstone)
            try await store.empty(gone)
            try await demandNames([value, tombstone], in: .values, of: store)
            try await store.empty(tombstone)
            try await store.empty(value)
            try await demandNames([], in: .values, of: store)
        },
        BackendLaw("a namespace lists its own slots only") { store, _ in
            let namespaces = [StorageNamespace.values, StorageNamespace("quarantine"), StorageNamespace("ledger")]
            for (index, namespace) in namespaces.enumerated() {
                for name in 0...index { try await store.put(bytes("x"), at: StorageAddress("\(name)", in: namespace)) }
            }
            for (index, namespace) in namespaces.enumerated() {
                try await demandNames(Set((0...index).map { StorageAddress("\($0)", in: namespace) }), in: namespace, of: store)
            }
            try await demandNames([], in: StorageNamespace("unused"), of: store)
        },
        BackendLaw("equal names in two namespaces are two slots") { store, _ in
            let addresses = [StorageAddress("x"), StorageAddress("x", in: StorageNamespace("quarantine")), StorageAddress("quarantine.x")]
            for (index, address) in addresses.enumerated() {
                try await store.demandAbsent(address, "before its own put")
                try await store.put(bytes("\(index)"), at: address)
            }
            for (index, address) in addresses.enumerated() { try await store.demandValue(bytes("\(index)"), at: address) }
            try await store.empty(addresses[0])
            try await store.demandAbsent(addresses[0], "after its delete")
            for index in 1...2 { try await store.demandValue(bytes("\(index)"), at: addresses[index], " beside a deleted one") }
        },
        BackendLaw("many slots are listed, each once") { store, bench in
            let addresses = Set((0..<bench.count(500, atLeast: 10)).map { StorageAddress("many \($0)") })
            _ = try await store.apply(addresses.map { .put(bytes("x"), at: $0) })
            try await demandNames(addresses, in: .values, of: store)
        },
    ]

    static func demandNames(
        _ wanted: Set<StorageAddress>, in namespace: StorageNamespace, of store: any StorageBackend
    ) async throws {
        let listed = try await store.addresses(in: namespace)
        try demand(
            Set(listed) == wanted && listed.count == wanted.count, "the \(wanted.count) slots in use in \(namespace), each once",
            found: "\(listed.count) addresses, \(wanted.subtracting(listed).count) of the slots missing")
    }
}
