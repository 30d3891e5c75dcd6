import BackendContract

/// Lists what a part of a store holds, with what is damaged in it.
struct Listing: EnginePart, Sendable {
    let engine: Engine

    /// The slots of a namespace, with the damaged ones whose names are lost.
    func slots(in domain: StorageDomain, _ namespace: StorageNamespace, name: String) async throws -> StorageListing {
        let (_, backend) = try slots.routes.backend(for: domain, key: name)
        return try await translatingErrors(key: name) { () throws(BackendError) in
            if let salvageable = backend as? any SalvageableBackend { return try await salvageable.listing(in: namespace) }
            return StorageListing(try await backend.addresses(in: namespace), damaged: [])
        }
    }

    /// The names of the values in a namespace, sorted, and the damaged slots. Removed values are not listed. A locked slot whose name
    /// cannot be read is listed like a damaged one, with the error `locked`.
    func names(in domain: StorageDomain, _ namespace: StorageNamespace) async throws -> [ListEntry<String>] {
        let name = "\(domain)"
        let (_, backend) = try slots.routes.backend(for: domain, key: name)
        let beside = try await translating(name, await (backend as? any PartlyLockedBackend)?.slotsBesideLocks(in: namespace))
        let listing =
            if let beside { StorageListing(beside.addresses, damaged: []) } else { try await slots(in: domain, namespace, name: name) }
        let addresses = listing.addresses.sorted { $0.precedes($1) }
        let probes = try await translatingErrors(key: name) { () throws(BackendError) in try await backend.read(addresses, .validated) }
        let named = zip(addresses, probes).compactMap { address, probe -> ListEntry<String>? in
            switch probe {
            case .tombstone, .absent: return nil
            case .corrupt(let corruption):
                guard let revision = corruption.revision else { return .value(address.name) }
                return .damaged(
                    DamagedRecord(domain, .named(address, revision)), reason: .damaged(corruption, named: address.name, in: domain))
            case .value, .locked, .unavailable: return .value(address.name)
            }
        }
        let locked = (beside?.nameless ?? []).map { handle in
            ListEntry<String>.damaged(DamagedRecord(domain, .nameless(handle)), reason: .locked(name, domain))
        }
        return named + locked
            + listing.damaged.map { slot in
                .damaged(DamagedRecord(domain, .nameless(slot.handle)), reason: .damaged(slot.corruption, of: name, in: domain))
            }
    }
}

extension StorageError {
    /// The error of damaged bytes under a name.
    fileprivate static func damaged(_ corruption: StorageCorruption, named name: String, in domain: StorageDomain) -> StorageError {
        StorageError(
            StorageError.corrupted, key: name,
            "The value in \(domain) is damaged (\(corruption.reason)). Its bytes are kept: export it, set it aside or remove it by its handle."
        )
    }
}
