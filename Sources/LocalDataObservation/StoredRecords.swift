import BackendRuntime
public import LocalData
public import Observation

/// The records of a collection or query for a view, in their order. It follows the collection, and never blocks.
///
/// Use it for a list on the screen. A view that observes the object is drawn again when a record changes.
///
/// ```swift
/// let list = StoredRecords(notes, in: storage)
/// for note in list.records { print(note.title) }  // in a view that redraws when the object changes
/// if case .failed(let error) = list.state { print(error.localizedDescription) }
/// ```
///
/// The object keeps all of its records in memory. With a limit, it keeps up to twice the limit, and the id and revision of every record of
/// the collection. It follows the collection until it is released or closed.
@MainActor @Observable public final class StoredRecords<Record: Codable & Sendable> {
    /// Whether the records are there, or why not.
    ///
    /// ```swift
    /// let text =
    ///     switch list.state {
    ///     case .loading: "…"
    ///     case .loaded: "\(list.records.count) notes"
    ///     case .locked: "Unlock the keyring to see the notes."
    ///     case .failed(let error): error.localizedDescription
    ///     }
    /// ```
    public enum State: Sendable {
        /// The first read has not ended.
        case loading
        /// ``StoredRecords/records`` has the stored records.
        case loaded
        /// A store or its key is locked. The object has dropped the records. It reads them again after the unlocking.
        case locked
        /// The records could not be read. The object tries again when a record changes, and after a pause if the error may pass.
        case failed(StorageError)
    }

    /// Whether ``records`` has the stored records, or why not.
    public private(set) var state = State.loading
    /// The records in their order; empty in every state except `loaded`. A change by this process is visible when it is durable.
    public private(set) var records: [Record] = []

    @ObservationIgnored private let storage: StorageRouter
    @ObservationIgnored private let collection: StorageCollection<Record>
    @ObservationIgnored private let following: Following
    @ObservationIgnored private var isClosed = false

    /// Begins to follow all records of a collection, in the order of their ids. Returns at once, and reads nothing itself.
    ///
    /// ```swift
    /// let list = StoredRecords(notes, in: storage, onDamage: .skip)  // with `.throw`, one damaged note hides all others
    /// ```
    /// - Parameters:
    ///   - collection: The collection.
    ///   - storage: The router. The object keeps it until it is released.
    ///   - onDamage: The handling of damaged records. With `throw`, a damaged record leads to the state `failed`.
    public convenience init(_ collection: StorageCollection<Record>, in storage: StorageRouter, onDamage: DamagePolicy = .throw) {
        self.init(RecordPlan(collection), storage, onDamage)
    }

    init(_ plan: RecordPlan<Record>, _ storage: StorageRouter, _ onDamage: DamagePolicy) {
        let follower = RecordFollower(storage, plan.collection, onDamage: onDamage, recovers: true)
        (collection, self.storage) = (plan.collection, storage)
        following = Following(end: { follower.end() }, caughtUp: { await follower.caughtUp() })
        storage.configuration.runtime.tasks.spawn { [weak self] in
            var list = RecordList(plan)
            // A read that finds no change must not cause an update of a view.
            var isNews = true
            while true {
                let step: RecordFollower<Record>.Step
                do {
                    guard let next = try await follower.next() else { return }
                    step = next
                } catch {
                    if StorageError.cancelled ~= error { return }
                    (list, isNews) = (RecordList(plan), true)
                    if await self?.show([], .after(error, plan.collection.name)) == nil { return }
                    continue
                }
                list.apply(step.updates, isCurrent: step.isCurrent)
                isNews = isNews || !step.updates.isEmpty
                guard step.isCurrent, isNews else { continue }
                if list.needsRead {
                    // Of the records beyond the limit, the list has none left. What is shown stays until they are read.
                    list = RecordList(plan)
                    await follower.restart()
                } else {
                    if await self?.show(list.records, .loaded) == nil { return }
                    isNews = false
                }
            }
        }
    }

    private func show(_ records: [Record], _ state: State) {
        if isClosed { return }
        (self.records, self.state) = (records, state)
    }

    // MARK: Changing

    /// Stores a record under its id. When the call returns, the record is as durable as its store allows, and ``records`` has this or a
    /// later one, if it matches the query.
    ///
    /// ```swift
    /// do {
    ///     try await list.set(Note(id: "a", title: "Milk"))  // then `records` has this note or a later one
    /// } catch { print(error.localizedDescription) }  // says so if the outcome is unknown
    /// ```
    /// - Throws: The errors of
    ///   `set(_:in:syncStatus:attributes:lifetime:replacingLaterVersions:)`.
    public func set(_ record: Record) async throws {
        try await storage.set(record, in: collection)
        await following.caughtUp()
    }

    /// Removes the record of an id, and every older copy of it. The removal is durable when the call returns, and ``records`` does not have
    /// the record, unless it was stored again.
    ///
    /// ```swift
    /// do { try await list.remove(id: "a") } catch StorageError.residueRemains {
    ///     print("The note was removed. An older copy remains, and the next sweep deletes it.")
    /// } catch { print(error.localizedDescription) }
    /// ```
    /// - Throws: The errors of `remove(_:)`.
    public func remove(id: String) async throws {
        try await storage.remove(collection.key(id))
        await following.caughtUp()
    }

    /// Ends the following. The records do not change any more.
    ///
    /// ```swift
    /// let list = StoredRecords(notes, in: storage)
    /// list.close()  // the window is closed, but a view still has the object
    /// ```
    public func close() {
        isClosed = true
        following.end()
    }
}

extension StoredRecords.State {
    fileprivate static func after(_ error: any Error, _ name: String) -> Self {
        let error = StorageError.wrapping(error, key: name)
        return error.code == .locked ? .locked : .failed(error)
    }
}
