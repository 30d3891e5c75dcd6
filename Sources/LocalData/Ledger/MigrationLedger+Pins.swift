import BackendContract
import Sealing

/// The pins: for each key source, the identity of the sealing key that it gave.
///
/// They have a small separate list, which every opening of an encrypted database reads. Earlier releases kept them in the
/// ledger; ``foldEarlier()`` moves them.
extension MigrationLedger {
    static let pinPrefix = "pin:"

    private func pinBackend() throws(BackendError) -> any StorageBackend {
        guard let pinStore else { return try backend() }
        do { return try pinStore.backend() } catch {
            throw BackendError(.unavailable, "The list of sealing keys cannot be opened: \(error)")
        }
    }

    /// Returns the recorded identity of the key of a source; nil if none is recorded.
    /// - Throws: `BackendError`: `corrupted` if the entry has other content, because a lost pin must not look like a first start.
    func pin(_ source: String) async throws(BackendError) -> KeyIdentity? {
        if let pin = try await recordedPin(source) { return pin }
        // An earlier release may have recorded it in the ledger. If it cannot be moved, for example in a folder that is read-only, it
        // counts where it is.
        do { return try await foldEarlier() ? try await recordedPin(source) : nil } catch {
            if let pin = try await recordedPin(source) { return pin }
            let address = Self.pinAddress(source)
            return try Self.pin(in: try await backend().read(address, .validated), address)
        }
    }

    private func recordedPin(_ source: String) async throws(BackendError) -> KeyIdentity? {
        let address = Self.pinAddress(source)
        return try Self.pin(in: try await pinBackend().read(address, .validated), address)
    }

    /// Returns the recorded identities of the keys of all sources.
    func pins() async throws(BackendError) -> Set<KeyIdentity> {
        var pins = try await pins(in: try pinBackend())
        if pinStore != nil { pins.formUnion(try await self.pins(in: try backend())) }
        return pins
    }

    private func pins(in backend: any StorageBackend) async throws(BackendError) -> Set<KeyIdentity> {
        let addresses = try await backend.addresses(in: .values).filter { $0.name.hasPrefix(Self.pinPrefix) }
        var pins: Set<KeyIdentity> = []
        for (address, probe) in zip(addresses, try await backend.read(addresses, .validated)) {
            if let pin = try Self.pin(in: probe, address) { pins.insert(pin) }
        }
        return pins
    }

    /// Records the identity of the key of a source, durably.
    func setPin(_ key: KeyIdentity, _ source: String) async throws(BackendError) {
        try await apply([.put(.native(.string(key.text)), at: Self.pinAddress(source))], to: try pinBackend())
    }

    private static func pin(in probe: StorageProbe, _ address: StorageAddress) throws(BackendError) -> KeyIdentity? {
        if case .corrupt = probe {
            throw BackendError(
                .corrupted,
                "The list of sealing keys (pins.plist, or the ledger) is damaged, and was not changed. Restore it, or move it away if the keys in use are the right ones."
            )
        }
        guard let payload = try payload(of: probe) else { return nil }
        if case .native(.string(let text)) = payload, let pin = KeyIdentity(text: text) { return pin }
        throw BackendError(
            .corrupted,
            "The entry \(address.name) of the list of sealing keys does not name a key. Remove that entry if the key in use is the right one; nothing was changed."
        )
    }

    private static func pinAddress(_ source: String) -> StorageAddress { StorageAddress(shortened("\(pinPrefix)\(source)")) }

    /// The pins, as closures for the sealing keys.
    var keyPins: SealingKeys.Pins {
        SealingKeys.Pins(
            recorded: { (source) throws(BackendError) in try await self.pin(source) },
            record: { (key, source) throws(BackendError) in try await self.setPin(key, source) },
            all: { () throws(BackendError) in try await self.pins() },
            renew: { () throws(BackendError) in try await self.foldEarlier() })
    }

    /// Moves the pins and the history that an earlier release recorded in the ledger to their present places.
    ///
    /// The entries are deleted at last, so that a killed process loses none. Another call then moves them again: the pins are the
    /// same, and the page of the history is ignored because it repeats another one. An earlier release that runs beside this one
    /// may record new entries. Its pins are later than those that are recorded here.
    /// - Returns: Whether the ledger had such pins.
    @discardableResult
    func foldEarlier() async throws(BackendError) -> Bool {
        let hadPins = try await foldLarge()
        let backend = try backend()
        let isApart = pinStore != nil
        let addresses = try await backend.addresses(in: .values).filter { address in
            LedgerHistory.isEarlier(address.name) || isApart && address.name.hasPrefix(Self.pinPrefix)
        }
        if addresses.isEmpty { return hadPins }
        var pins: [StorageMutation] = []
        var (entries, revisions): ([(name: String, payload: StoragePayload)], [UInt8]) = ([], [])
        var deletions: [StorageMutation] = []
        for (address, probe) in zip(addresses, try await backend.read(addresses, .validated)) {
            if address.name.hasPrefix(Self.pinPrefix) {
                if let pin = try Self.pin(in: probe, address) { pins.append(.put(.native(.string(pin.text)), at: address)) }
            } else if let record = probe.record {
                entries.append((address.name, record.payload))
                revisions += record.revision.bytes
            }
            deletions.append(.delete(address, if: probe.unchanged))
        }
        if !pins.isEmpty { try await apply(pins, to: try pinBackend()) }
        if !entries.isEmpty {
            var page = LedgerHistory.page(of: entries)
            page.earlier = RecordOrigin.fingerprint(of: StorageRecord(payload: .bytes(revisions), revision: StorageRevision([])))
            try await counts.append(page)
        }
        try await apply(deletions, to: backend)
        return hadPins || !pins.isEmpty
    }

    /// Moves the pins and the history out of a ledger that is too large to be read by its store.
    private func foldLarge() async throws(BackendError) -> Bool {
        guard let pinStore = try pinStore.map({ _ throws(BackendError) in try pinBackend() }), let content = try await earlier?.read()
        else {
            return false
        }
        let pins = content.pins.sorted { $0.key < $1.key }.map {
            StorageMutation.put(.native(.string($0.value)), at: StorageAddress($0.key))
        }
        if !pins.isEmpty { try await apply(pins, to: pinStore) }
        try await counts.append(content.page)
        try await earlier?.replace(content)
        return !pins.isEmpty
    }
}
