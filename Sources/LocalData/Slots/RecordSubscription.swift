import BackendContract
import Synchronization

/// The record that a change replaced. A class, because a commit copies its changes several times.
final class ReplacedRecord: Sendable {
    let record: StorageRecord

    init(_ record: StorageRecord) { self.record = record }
}

/// The queue of one follower of a collection. It holds a limited number of changes, and then merges them.
///
/// While there is room, every change of this process is kept. A full queue keeps the last change of each record. If too many records have
/// changes, only their addresses are kept, and the follower re-reads them. If there are too many addresses, the follower scans the whole
/// collection once.
final class RecordSubscription: Sendable {
    /// A part of a store whose changes concern the records.
    struct Region: Sendable {
        enum Part: Sendable {
            /// The records themselves.
            case records
            /// A legacy location with the same ids.
            case older
            /// A legacy location that is one value with this name: the list of all records.
            case list(String)
        }

        let store: BackendIdentity
        let namespace: StorageNamespace
        let part: Part

        func contains(_ address: StorageAddress) -> Bool {
            guard address.namespace == namespace else { return false }
            if case .list(let name) = part { return address.name.hasSameBytes(as: name) }
            return true
        }
    }

    /// A change by this process.
    struct Change: Sendable {
        let address: StorageAddress
        /// The new record; nil after a removal.
        let record: StorageRecord?
        /// The record before the first of the merged changes, if it is known.
        let replaced: ReplacedRecord?
    }

    /// The events that wait.
    struct Pending: Sendable {
        var changes: [Change] = []
        /// The records that must be re-read.
        var looks: Set<StorageAddress> = []
        /// Whether every record may have changed.
        var isScan = false
        /// The signals of callers that wait until the earlier events were delivered.
        var signals: [ReleaseSignal] = []

        /// Whether no event waits, apart from signals.
        var isEmpty: Bool { changes.isEmpty && looks.isEmpty && !isScan }
    }

    private struct State {
        var pending = Pending()
        /// Whether events were dropped because of a lock. The next event then causes a scan.
        var hasLost = false
        var regions: [Region] = []
        var waiting: Wait<Void>?
        var isOver = false
    }

    /// The largest number of changes that wait. Each may hold two records.
    static let mostChanges = 64
    /// The largest number of addresses that wait.
    static let mostLooks = 1_024

    private let state = Mutex(State())
    /// Whether the follower is woken when a store of the collection is locked.
    private let reportsLocks: Bool

    init(reportsLocks: Bool) { self.reportsLocks = reportsLocks }

    /// Sets the parts of stores to listen to.
    func listen(to regions: [Region]) { state.withLock { $0.regions = regions } }

    /// Whether a slot contains a record of the collection.
    func concerns(_ slot: PhysicalSlot) -> Bool { state.withLock { Self.part(of: slot, in: $0).map(Self.isRecords) ?? false } }

    private static func part(of slot: PhysicalSlot, in state: borrowing State) -> Region.Part? {
        state.regions.first { $0.store == slot.store && $0.contains(slot.address) }?.part
    }

    private static func isRecords(_ part: Region.Part) -> Bool { if case .records = part { true } else { false } }

    // MARK: Events

    /// A change by this process. Changes in legacy locations are skipped: a move to the collection is a change of the collection.
    func push(_ record: StorageRecord?, replacing replaced: ReplacedRecord?, at slot: PhysicalSlot) {
        wake { state in
            guard Self.part(of: slot, in: state).map(Self.isRecords) ?? false else { return false }
            state.pending.changes.append(Change(address: slot.address, record: record, replaced: replaced))
            if state.pending.changes.count > Self.mostChanges { Self.merge(&state.pending) }
            return true
        }
    }

    /// A change by this process that may have happened.
    func pushUnknownOutcome(at slot: PhysicalSlot) { pushForeign([slot.address], in: slot.store) }

    /// Changes by other processes.
    /// - Parameter addresses: The slots; nil for any.
    func pushForeign(_ addresses: Set<StorageAddress>?, in store: BackendIdentity) {
        wake { state in
            let regions = state.regions.filter { $0.store == store }
            guard let addresses else {
                if !regions.isEmpty { Self.scan(&state.pending) }
                return !regions.isEmpty
            }
            guard let records = state.regions.first(where: { Self.isRecords($0.part) }) else { return false }
            var isConcerned = false
            for address in addresses {
                guard let region = regions.first(where: { $0.contains(address) }) else { continue }
                isConcerned = true
                let record = StorageAddress(address.name, in: records.namespace)
                switch region.part {
                case .records, .older: Self.look(at: record, &state.pending)
                case .list: Self.scan(&state.pending)
                }
            }
            return isConcerned
        }
    }

    /// Causes a read of one record.
    func look(at address: StorageAddress) {
        wake { state in
            Self.look(at: address, &state.pending)
            return true
        }
    }

    /// Causes a scan of all records.
    func rescan() {
        wake { state in
            Self.scan(&state.pending)
            return true
        }
    }

    /// Adds a signal that is released when the earlier events were delivered.
    func push(_ signal: ReleaseSignal) {
        wake { state in
            if state.isOver { return false }
            state.pending.signals.append(signal)
            return true
        }
    }

    /// Drops the events that wait, with the values in them, because the store was locked.
    func forget() {
        wake { state in
            state.pending = Pending(isScan: reportsLocks)
            state.hasLost = true
            return reportsLocks
        }
    }

    /// Drops the changes by this process, which the scan that begins now replaces. Events of other processes stay: they may concern legacy
    /// locations, which the scan does not read.
    func clear() { state.withLock { state in (state.pending.changes, state.hasLost) = ([], false) } }

    /// Whether a change by this process waits that an earlier read may have seen.
    func hasChange(of address: StorageAddress) -> Bool { state.withLock { $0.pending.changes.contains { $0.address == address } } }

    /// Keeps the last change of each record. If that frees too little room, keeps only the addresses.
    private static func merge(_ pending: inout Pending) {
        var first: [StorageAddress: ReplacedRecord?] = [:]
        for change in pending.changes where first[change.address] == nil { first[change.address] = .some(change.replaced) }
        var seen: Set<StorageAddress> = []
        var merged: [Change] = []
        for change in pending.changes.reversed() where seen.insert(change.address).inserted {
            merged.append(Change(address: change.address, record: change.record, replaced: first[change.address] ?? nil))
        }
        guard merged.count > mostChanges / 2 else { return pending.changes = merged.reversed() }
        pending.changes = []
        for address in seen { look(at: address, &pending) }
    }

    private static func look(at address: StorageAddress, _ pending: inout Pending) {
        if pending.isScan { return }
        pending.looks.insert(address)
        if pending.looks.count > mostLooks { scan(&pending) }
    }

    private static func scan(_ pending: inout Pending) {
        pending.looks = []
        pending.isScan = true
    }

    // MARK: The follower

    var isOver: Bool { state.withLock(\.isOver) }

    /// Changes the state, and wakes the follower if the change returns true.
    private func wake(_ change: (inout State) -> Bool) {
        state.withLock { state in change(&state) ? state.waiting.take() : nil }?.end(())
    }

    func end() {
        wake { state in
            state.isOver = true
            state.pending.signals = []
            return true
        }
    }

    /// Takes all events that wait, and waits for the first if there is none. Nil at the end, or when the task is cancelled.
    func next() async -> Pending? {
        while true {
            let wait = Wait<Void>()
            let (taken, isOver) = state.withLock { state -> (Pending?, Bool) in
                if state.pending.isEmpty, state.pending.signals.isEmpty {
                    state.waiting = wait
                    return (nil, state.isOver)
                }
                var taken = state.pending
                if state.hasLost, !taken.isEmpty { RecordSubscription.scan(&taken) }
                if !taken.isEmpty { state.hasLost = false }
                state.pending = Pending()
                return (taken, false)
            }
            if let taken { return taken }
            if isOver { return nil }
            await wait.result(ifCancelled: ())
            if Task.isCancelled { end() }
        }
    }
}
