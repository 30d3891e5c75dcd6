/// A minimal store of bytes by name. For a new backend, implement this protocol first.
///
/// ``ByteStoreBackend`` wraps it as a complete ``StorageBackend`` and adds metadata, tombstones, revisions and preconditions.
///
/// A store that is locked or cannot be reached throws ``BackendError`` with `locked` or `unavailable`. ``read(_:)`` returns nil only if it
/// is *certain* that nothing is stored under the name.
public protocol ByteStore: Sendable {
    /// The physical store.
    var identity: BackendIdentity { get }

    /// The guarantees of the store. ``ByteStoreBackend`` does not claim those that it cannot keep: atomic batches, and preconditions
    /// between processes.
    var capabilities: BackendCapabilities { get }

    /// Returns the bytes under a name; nil if nothing is stored there.
    /// - Throws: ``BackendError`` when the store cannot be read.
    func read(_ name: String) async throws(BackendError) -> [UInt8]?

    /// Stores bytes under a name and replaces the existing ones. When the call returns, the bytes have the durability that ``capabilities``
    /// claims.
    /// - Throws: ``BackendError``.
    func write(_ bytes: [UInt8], _ name: String) async throws(BackendError)

    /// Deletes the bytes under a name. Does nothing if there are none.
    /// - Throws: ``BackendError``.
    func delete(_ name: String) async throws(BackendError)

    /// Lists all names that have bytes.
    /// - Throws: ``BackendError`` when the list would be incomplete.
    func list() async throws(BackendError) -> [String]
}
