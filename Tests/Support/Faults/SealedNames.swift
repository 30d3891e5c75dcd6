package import BackendContract
package import MemoryBackend

/// Makes a store in memory answer like a store that seals names, if its capabilities claim that it seals names.
/// In such a store the name of a damaged slot is unknown. A handle identifies the slot instead.
extension InMemoryStore {
    /// The namespaces that the laws (the rules for all backends) use in such stores.
    private static let namespaces = [StorageNamespace.values, StorageNamespace("shelf")]

    private func damaged() async throws(BackendError) -> [DamagedSlot] {
        var damaged: [DamagedSlot] = []
        guard capabilities.sealsNames else { return [] }
        for namespace in Self.namespaces {
            for address in try await addresses(in: namespace) {
                if case .corrupt(let corruption) = try await read(address) {
                    damaged.append(DamagedSlot(Self.handle(of: address, corruption.revision), corruption))
                }
            }
        }
        return damaged
    }

    private static func handle(of address: StorageAddress, _ revision: StorageRevision?) -> DamageHandle {
        DamageHandle(
            [UInt8(address.name.utf8.count)] + Array("\(address.name)\(address.namespace.name)".utf8) + [0] + (revision?.bytes ?? []))
    }

    /// Returns the address that a handle was made from.
    package static func address(of handle: DamageHandle) -> StorageAddress? {
        guard let count = handle.bytes.first.map(Int.init), let end = handle.bytes.dropFirst().firstIndex(of: 0), end > count else {
            return nil
        }
        let name = String(decoding: handle.bytes[1...count], as: UTF8.self)
        return StorageAddress(name, in: StorageNamespace(String(decoding: handle.bytes[(count + 1)..<end], as: UTF8.self)))
    }

    package func sealedListing(in namespace: StorageNamespace) async throws(BackendError) -> StorageListing {
        let damaged = try await damaged()
        let hidden = Set(damaged.compactMap { Self.address(of: $0.handle) })
        return StorageListing(try await addresses(in: namespace).filter { !hidden.contains($0) }, damaged: damaged)
    }

    package func sealedAddresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
        let listing = try await sealedListing(in: namespace)
        guard listing.damaged.isEmpty else { throw BackendError(.corrupted, "A slot has lost its name.") }
        return listing.addresses
    }

    package func sealedPage(
        _ query: StorageQuery, after cursor: StorageCursor?, limit: Int
    ) async throws(BackendError) -> StoragePage {
        let page = try await page(query, after: cursor, limit: limit)
        guard capabilities.sealsNames else { return page }
        let damaged = page.entries.compactMap { entry in
            entry.corruption.map { DamagedSlot(Self.handle(of: entry.address, $0.revision), $0) }
        }
        return StoragePage(page.entries.filter { $0.record != nil }, damaged: damaged, next: page.next)
    }

    package func sealedDamage(at handle: DamageHandle) async throws(BackendError) -> StorageCorruption? {
        try await damaged().first { $0.handle == handle }?.corruption
    }

    package func deleteSealedDamage(at handle: DamageHandle) async throws(BackendError) -> Bool {
        guard let corruption = try await sealedDamage(at: handle), let address = Self.address(of: handle),
            let revision = corruption.revision
        else { return false }
        return try await apply(.delete(address, if: .revision(revision))).isApplied
    }
}
