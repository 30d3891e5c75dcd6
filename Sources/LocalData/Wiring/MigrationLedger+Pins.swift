import BackendContract
import Sealing

/// The pins: for each key source, the identity of the sealing key that it gave.
///
/// They have a small separate list, which every opening of an encrypted database reads. Earlier releases kept them in the
/// ledger; ``foldEarlier(_:)`` moves them.
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
        do { return try await foldEarlier(self) ? try await recordedPin(source) : nil } catch {
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
        var pins: Set<KeyIdentity> = []
        for (address, probe) in try await Self.entries(of: backend, { $0.hasPrefix(Self.pinPrefix) }) {
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
            renew: { () throws(BackendError) in try await self.foldEarlier(self) })
    }

    /// Returns whether an entry of the ledger is from the history of an earlier release, which had one for each value and each migration.
    static func isHistory(_ name: String) -> Bool { name.hasPrefix("value:") || name.hasPrefix("history:") }

    /// Moves the pins that an earlier release recorded in the ledger to their present place, and deletes its history.
    ///
    /// The entries are deleted at last, so that a killed process loses no pin. An earlier release that runs beside this one may record new
    /// entries. Its pins are later than those that are recorded here.
    /// - Parameter large: Reads a large ledger, and writes to the file; nil if the ledger is no file, in a restore and in a rehearsal.
    /// - Returns: Whether the ledger had such pins.
    func foldEarlier(_ large: EarlierLedger?) async throws(BackendError) -> Bool {
        var hadPins = false
        if pinStore != nil, let large, let content = try await large.read() {
            let pins = content.pins.sorted { $0.key < $1.key }
            try await apply(pins.map { .put(.native(.string($0.value)), at: StorageAddress($0.key)) }, to: try pinBackend())
            try await large.replace(content)
            hadPins = !pins.isEmpty
        }
        let isApart = pinStore != nil
        let entries = try await entries { Self.isHistory($0) || isApart && $0.hasPrefix(Self.pinPrefix) }
        var pins: [StorageMutation] = []
        for (address, probe) in entries where address.name.hasPrefix(Self.pinPrefix) {
            if let pin = try Self.pin(in: probe, address) { pins.append(.put(.native(.string(pin.text)), at: address)) }
        }
        if !pins.isEmpty { try await apply(pins, to: try pinBackend()) }
        try await apply(entries.map { .delete($0.address, if: $0.probe.unchanged) }, to: try backend())
        return hadPins || !pins.isEmpty
    }
}
