/// A minimal store of bytes by name: read, write, delete, list. For a new backend, implement this protocol first.
///
/// ``ByteStoreBackend`` makes a complete ``StorageBackend`` from a byte store. Implement ``StorageBackend`` instead if
/// several processes change the store, or if it can commit several changes at once.
///
/// ```swift
/// actor DictionaryStore: ByteStore {
///     private var content: [String: [UInt8]] = [:]
///     nonisolated let identity = BackendIdentity(kind: "dictionary", store: "main")
///     nonisolated let capabilities = BackendCapabilities(durability: .process)
///
///     func read(_ name: String) throws(BackendError) -> [UInt8]? { content[name] }
///     func write(_ bytes: [UInt8], _ name: String) throws(BackendError) { content[name] = bytes }
///     func delete(_ name: String) throws(BackendError) { content[name] = nil }
///     func list() throws(BackendError) -> [String] { Array(content.keys) }
/// }
/// ```
///
/// A store that is locked or cannot be reached throws ``BackendError`` with `locked` or `unavailable`. ``read(_:)``
/// returns nil only if it is *certain* that nothing is stored under the name. `BackendConformance` checks these rules.
public protocol ByteStore: Sendable {
    /// Identifies the physical store.
    var identity: BackendIdentity { get }

    /// The guarantees of the store. ``ByteStoreBackend`` never claims two of them, because it cannot keep them: atomic
    /// batches, and preconditions between processes.
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

    /// Returns all names under which bytes are stored.
    /// - Throws: ``BackendError`` when the list would be incomplete.
    func list() async throws(BackendError) -> [String]
}
