public import LocalData

extension StorageRouter {
    /// Returns the records of a collection, and then every change of them.
    ///
    /// ```swift
    /// do {
    ///     for try await change in storage.changes(in: notes) {
    ///         switch change {
    ///         case .inserted(let id, let note): print("\(id) is new: \(note.title)")
    ///         case .changed(let id, let old, let new): print("\(id) was \(old?.title ?? "unknown"), and is \(new.title)")
    ///         case .removed(let id, _): print("\(id) was removed")
    ///         }
    ///     }
    /// } catch StorageError.corrupted { print("A note is damaged. Pass `onDamage: .skip` to follow the others.") }
    /// ```
    ///
    /// The sequence begins with all present records as ``RecordChange/inserted(id:_:)``, in no particular order. Records in legacy
    /// locations are first moved to the collection. Then the changes of each record follow in their order. Changes by this process arrive
    /// when they are durable. Changes by other processes arrive when the store reports them, also those of an earlier release in a release
    /// window.
    ///
    /// The sequence buffers 64 changes. If the loop is slower, it gets only the last state of each record. While the router is locked, the
    /// sequence waits. A shutdown ends it. The expiry of a record is no change: the record is removed when a sweep purges it, or when the
    /// sequence re-reads it.
    /// - Parameters:
    ///   - collection: The collection.
    ///   - onDamage: The handling of damaged records. A damaged record counts as removed.
    /// - Returns: A sequence. Each iteration reads the records again. It throws `StorageError` when the store or a legacy
    ///   location cannot be read, and as `onDamage` specifies.
    public nonisolated func changes<Record>(
        in collection: StorageCollection<Record>, onDamage: DamagePolicy = .throw
    ) -> some AsyncSequence<RecordChange<Record>, any Error> & Sendable {
        RecordChanges(router: self, collection: collection, onDamage: onDamage)
    }
}

/// The present records and later changes of a collection.
private struct RecordChanges<Record: Codable & Sendable>: AsyncSequence, Sendable {
    typealias Element = RecordChange<Record>
    typealias Failure = any Error

    let router: StorageRouter
    let collection: StorageCollection<Record>
    let onDamage: DamagePolicy

    func makeAsyncIterator() -> Iterator {
        Iterator(follower: RecordFollower(router, collection, onDamage: onDamage, recovers: false))
    }

    /// One iteration. It follows the collection from its first step until it is released.
    struct Iterator: AsyncIteratorProtocol {
        typealias Element = RecordChange<Record>

        let follower: RecordFollower<Record>

        mutating func next() async throws -> RecordChange<Record>? { try await follower.nextUpdate().map { RecordChange($0) } }
    }
}

extension RecordChange where Record: Codable {
    fileprivate init(_ update: RecordFollower<Record>.Update) {
        self =
            switch (update.new, update.wasPresent) {
            case (let new?, false): .inserted(id: update.id, new)
            case (let new?, true): .changed(id: update.id, old: update.old, new: new)
            case (nil, _): .removed(id: update.id, old: update.old)
            }
    }
}
