/// The smallest store: bytes under names. The first protocol to implement for a new backend.
///
/// Wrapped in a ``ByteStoreBackend`` it becomes a full ``StorageBackend``: the adapter adds metadata, tombstones, revisions and
/// preconditions. A store that can be locked or out of reach throws ``BackendError`` with `locked` or `unavailable`; it returns nil
/// from ``read(_:)`` only when it *knows* that there is nothing.
public protocol ByteStore: Sendable {
    /// The physical store.
    var identity: BackendIdentity { get }

    /// What the store promises. The adapter reduces the claims that it cannot keep itself (no atomic batches, no preconditions between processes).
    var capabilities: BackendCapabilities { get }

    /// The bytes under a name, or nil when there are none.
    /// - Throws: ``BackendError`` when that cannot be known.
    func read(_ name: String) async throws(BackendError) -> [UInt8]?

    /// Stores bytes under a name, replacing what was there; durable, as far as ``capabilities`` claims, when it returns.
    /// - Throws: ``BackendError``.
    func write(_ bytes: [UInt8], _ name: String) async throws(BackendError)

    /// Deletes the bytes under a name; a name without bytes is not an error.
    /// - Throws: ``BackendError``.
    func delete(_ name: String) async throws(BackendError)

    /// All names in use.
    /// - Throws: ``BackendError`` when they cannot all be listed.
    func list() async throws(BackendError) -> [String]
}
