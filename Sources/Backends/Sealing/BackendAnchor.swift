package import BackendContract

/// A freshness anchor in a slot of another store, for example an item in the keyring. An anchor holds a mark of the
/// latest state of a database, outside the database's file, so that an older file is detected.
package struct BackendAnchor: FreshnessAnchor {
    private let backend: any StorageBackend
    private let address: StorageAddress

    /// The name of the anchor for messages: the store and the slot.
    package let name: String

    /// Creates an anchor for a slot. The store is not opened yet.
    package init(_ backend: any StorageBackend, address: StorageAddress) {
        self.backend = backend
        self.address = address
        name = "\(backend.identity) item \(address.name)"
    }

    /// Reads the mark. Returns nil if the slot is empty or its record was removed.
    package func load() async throws(BackendError) -> FreshnessMark? { try await look().mark }

    /// Replaces the mark if the slot contains the expected one. Returns false if it contains another mark, or changes
    /// between the read and the write of this call.
    package func store(_ mark: FreshnessMark, replacing known: FreshnessMark?) async throws(BackendError) -> Bool {
        let (present, revision) = try await look()
        guard present == known else { return false }
        let mutation = StorageMutation.put(
            .bytes(Array(mark.text.utf8)), StorageMetadata(serializer: "freshness"), at: address,
            if: revision.map { .revision($0) } ?? .absent)
        switch try await backend.apply(mutation) {
        case .applied: return true
        case .conflict(.unavailable(let error)), .failed(let error): throw error
        case .locked, .conflict(.locked): throw locked
        case .conflict, .notAttempted: return false
        }
    }

    /// Unlocks the store, if it can be locked.
    package func unlock() async throws(BackendError) {
        if let lockable = backend as? any LockableBackend { try await lockable.unlock() }
    }

    private func look() async throws(BackendError) -> (mark: FreshnessMark?, revision: StorageRevision?) {
        switch try await backend.read(address, .fresh) {
        case .absent: return (nil, nil)
        case .tombstone(let tombstone): return (nil, tombstone.revision)
        case .value(let record):
            let text: String? =
                switch record.payload {
                case .bytes(let bytes), .native(.data(let bytes)): String(validating: bytes, as: UTF8.self)
                case .native(.string(let text)): text
                case .native: nil
                }
            guard let mark = text.flatMap({ FreshnessMark(text: $0) }) else { throw Self.damaged(name) }
            return (mark, record.revision)
        case .corrupt: throw Self.damaged(name)
        case .locked: throw locked
        case .unavailable(let error): throw error
        }
    }

    private var locked: BackendError {
        BackendError(.locked, "\(name) is locked. It records the latest state of a database; unlock it and try again.")
    }

    /// The error for a slot or file that contains something other than a mark.
    static func damaged(_ name: String) -> BackendError {
        BackendError(
            .corrupted,
            "\(name) does not hold the mark of a database. It was damaged, or changed by another program: restore it, or remove it and accept the present state of the database. Nothing was changed."
        )
    }
}
