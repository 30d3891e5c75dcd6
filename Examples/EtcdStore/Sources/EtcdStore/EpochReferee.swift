public import BackendContract

/// The referee of an epoch: a number that only one program at a time can raise.
///
/// A program that fails over another store, such as a PostgreSQL server, keeps the epoch in etcd. A program that takes over raises it
/// first, and acts only if it has succeeded:
///
/// ```swift
/// let referee = EpochReferee(EtcdStore(cluster, context: "orders"), name: "primary")
/// let epoch = try await referee.current()
/// guard let mine = try await referee.advance(from: epoch, holder: "machine-2") else { return }
/// // Promote the standby, and store `mine.number` in it.
/// ```
///
/// The referee does not stop the former holder. The other store must refuse a writer whose epoch is lower than one that it has seen.
public struct EpochReferee: Sendable {
    /// An epoch, as the referee keeps it.
    public struct Epoch: Hashable, Sendable {
        /// The number of the epoch; 0 before the first one.
        public let number: UInt64
        /// The program that raised the epoch; nil before the first one.
        public let holder: String?
        fileprivate let revision: StorageRevision?
    }

    private let store: EtcdStore
    private let address: StorageAddress

    private static let holderAttribute = "holder"

    /// Creates a referee.
    /// - Parameters:
    ///   - store: The store that keeps the epoch, in its namespace `epochs`.
    ///   - name: The name of the epoch.
    public init(_ store: EtcdStore, name: String) {
        self.store = store
        address = StorageAddress(name, in: StorageNamespace("epochs"))
    }

    /// Returns the current epoch. A majority of the members confirms it.
    /// - Throws: ``BackendError`` if the epoch cannot be read.
    public func current() async throws(BackendError) -> Epoch {
        switch try await store.read(address, .fresh) {
        case .value(let record):
            guard case .bytes(let bytes) = record.payload, let text = String(validating: bytes, as: UTF8.self), let number = UInt64(text)
            else { throw Self.damaged }
            return Epoch(number: number, holder: record.metadata.attributes[Self.holderAttribute], revision: record.revision)
        case .absent: return Epoch(number: 0, holder: nil, revision: nil)
        case .unavailable(let error): throw error
        case .tombstone, .locked, .corrupt: throw Self.damaged
        }
    }

    /// Raises the epoch by 1 if it is still a given one. The new epoch is durable when the call returns.
    /// - Parameters:
    ///   - epoch: The epoch that the program has seen.
    ///   - holder: The name of the program.
    /// - Returns: The new epoch; nil if another program has raised it.
    /// - Throws: ``BackendError``. If its ``BackendError/outcome`` is `unknown`, the epoch may have been raised. ``current()`` returns its
    ///   holder.
    public func advance(from epoch: Epoch, holder: String) async throws(BackendError) -> Epoch? {
        let number = epoch.number + 1
        let metadata = StorageMetadata(attributes: [Self.holderAttribute: holder])
        let precondition: StorageMutation.Precondition = epoch.revision.map { .revision($0) } ?? .absent
        switch try await store.apply(.put(.bytes(Array("\(number)".utf8)), metadata, at: address, if: precondition)) {
        case .applied(let revision, _): return Epoch(number: number, holder: holder, revision: revision)
        case .conflict: return nil
        case .failed(let error): throw error
        case .notAttempted, .locked: throw BackendError(.failed, "The epoch was not changed.")
        }
    }

    private static let damaged = BackendError(
        .corrupted, "The epoch is damaged. Delete its key once it is certain which program holds the epoch.")
}
