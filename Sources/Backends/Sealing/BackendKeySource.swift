package import BackendContract
internal import BackendRuntime

/// A source of sealing keys in a slot of another store: the keyring on a desktop, or memory in a test.
package struct BackendKeySource: KeySource {
    private let backend: any StorageBackend
    private let address: StorageAddress

    /// The name of the source for messages: the store and the slot.
    package let identifier: String
    /// The short name of the source. It contains the name of the slot and does not depend on the store.
    package var pin: String { "keyring item \(address.name)" }
    /// The protection level that the store declares.
    package var protection: ProtectionLevel { backend.capabilities.protection }

    /// Creates a source for a slot. The store is not opened yet.
    package init(_ backend: any StorageBackend, address: StorageAddress) {
        self.backend = backend
        self.address = address
        identifier = "\(backend.identity) item \(address.name)"
    }

    /// Reads the keys. Returns nil if the slot is proven to be empty, or contains an item without content.
    /// - Throws: ``BackendError``: `encryptionKeyMissing` if the key was removed; `encryptionKeyMismatch` if it was
    ///   damaged; `locked` and other errors of the store.
    package func load() async throws(BackendError) -> SourceKeys? {
        var probe = try await backend.read(address, .validated)
        switch probe {
        case .absent: return nil
        case .value: return try takeKeys(from: &probe)
        case .locked: throw BackendError(.locked, "The store that holds the key is locked. Unlock it and try again.")
        case .unavailable(let error): throw error
        case .tombstone:
            throw BackendError(.encryptionKeyMissing, "The key was removed from \(identifier). Restore it; nothing was changed.")
        // A keyring saves a new item first without its secret. An item without content therefore never contained a key.
        case .corrupt(let corruption) where corruption.bytes.isEmpty: return nil
        case .corrupt:
            throw BackendError(.encryptionKeyMismatch, "The content of \(identifier) is damaged. Restore the key; nothing was changed.")
        }
    }

    /// Writes the keys if the slot is empty. If the slot already contains keys, returns those. Any other content is an
    /// error and is not changed.
    package func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys {
        var result = try await put(keys, if: .absent)
        if case .conflict(.corrupt(let corruption)) = result, corruption.bytes.isEmpty, let revision = corruption.revision {
            result = try await put(keys, if: .revision(revision))
        }
        switch result {
        case .applied: return keys
        case .conflict(var probe) where probe.record != nil:
            result = .notAttempted
            return try takeKeys(from: &probe)
        case .locked: throw BackendError(.locked, "The store that is to hold the key is locked. Unlock it and try again.")
        case .failed(let error): throw error
        case .conflict, .notAttempted:
            throw BackendError(
                .encryptionKeyMismatch, "\(identifier) holds something that is not a key. Check it; nothing was changed.")
        }
    }

    /// Makes the content of the store durable, as far as the store can.
    package func synchronize() async throws(BackendError) { _ = try await backend.synchronize() }

    /// Replaces the content of the slot, if the slot still contains the expected keys. Otherwise throws `conflict`.
    package func replace(_ old: SourceKeys, with new: SourceKeys) async throws(BackendError) {
        var probe = try await backend.read(address, .fresh)
        guard let revision = probe.revision, probe.record != nil, try takeKeys(from: &probe).holdsSame(as: old) else {
            throw replacedMeanwhile
        }
        switch try await put(new, if: .revision(revision)) {
        case .applied: return
        case .locked: throw BackendError(.locked, "The store that holds the key is locked. Unlock it and try again.")
        case .failed(let error): throw error
        case .conflict, .notAttempted: throw replacedMeanwhile
        }
    }

    private func put(_ keys: SourceKeys, if precondition: StorageMutation.Precondition) async throws(BackendError) -> MutationResult {
        var text = keys.textBytes()
        // A store in memory may keep this array. Wiping does not affect the store's array, because changing a shared
        // array changes a copy.
        defer { wipe(&text) }
        return try await backend.apply(.put(.bytes(text), StorageMetadata(serializer: "key"), at: address, if: precondition))
    }

    /// Unlocks the store, if it can be locked.
    package func unlock() async throws(BackendError) {
        if let lockable = backend as? any LockableBackend { try await lockable.unlock() }
    }

    /// Returns whether the store reports that it is locked.
    package func isLocked() async -> Bool { await backend.status() == .locked }

    /// Takes the keys out of the record in a probe, which is the result of a read, and overwrites the record's bytes.
    /// The probe is `absent` afterwards.
    private func takeKeys(from probe: inout StorageProbe) throws(BackendError) -> SourceKeys {
        guard let payload = probe.record?.payload else { throw notAKey }
        probe = .absent
        switch payload {
        case .bytes(var bytes):
            defer { wipe(&bytes) }
            return try SourceKeys(textBytes: bytes)
        case .native(.string(let text)):
            var bytes = Array(text.utf8)
            defer { wipe(&bytes) }
            return try SourceKeys(textBytes: bytes)
        case .native: throw notAKey
        }
    }

    private var notAKey: BackendError {
        BackendError(.encryptionKeyMismatch, "The content of \(identifier) is not a key. Restore it; nothing was changed.")
    }
}
