import BackendContract
import Synchronization

/// The memory of a key for its route and its last value. A value that is read again and again is neither searched for nor decoded.
/// Reason: "A key remembers a value that is read twice" in Docs/Decisions/LocksAndCommits.md.
final class KeyMemory: Sendable {
    private struct State: Sendable {
        var lastRead: ReadMoment?
        /// The number of reads at that moment.
        var reads = 0
        var known: RememberedValue?
        /// The route of the key, and the number of the router's table that owns it.
        weak var route: (any AnyObject & Sendable)?
        var routeTable: UInt64 = 0
        /// The number of the router's table whose ``RememberingKeys`` list this memory; 0 for none.
        var listed: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Returns the route in a router's table. Makes it if another router, or none, has used the key last.
    func route<Found: AnyObject & Sendable>(table: UInt64, orMake make: () throws -> Found) rethrows -> Found {
        if let route = state.withLock({ $0.routeTable == table ? $0.route : nil }) { return unsafeDowncast(route, to: Found.self) }
        let route = try make()
        state.withLock { ($0.route, $0.routeTable) = (route, table) }
        return route
    }

    /// Returns the remembered value if it is current. Forgets it if it is not.
    func current(table: UInt64, locks: Int) -> RememberedValue? {
        guard let known = state.withLock(\.known), known.moment.table == table else { return nil }
        if known.moment.locks == locks, known.store.immediateVersion() == known.moment.version { return known }
        forget(known)
        return nil
    }

    /// Forgets a value, unless the key remembers another one by now.
    func forget(_ value: RememberedValue) { state.withLock { if $0.known === value { $0.known = nil } } }

    /// Notes a read. Returns whether it is the second one at that moment. Only then is the value worth remembering.
    func isSecondRead(at moment: ReadMoment) -> Bool {
        state.withLock { state in
            state.reads = state.lastRead == moment ? state.reads + 1 : 1
            state.lastRead = moment
            return state.reads == 2
        }
    }

    /// Remembers a value. Returns whether the keys of its router do not list this memory yet.
    fileprivate func remember(_ value: RememberedValue) -> Bool {
        // The older value may be the last reference to its store. It is released after the lock.
        let (older, isNew) = state.withLock { state in
            defer { (state.known, state.listed) = (value, value.moment.table) }
            return (state.known, state.listed != value.moment.table)
        }
        withExtendedLifetime(older) {}
        return isNew
    }

    /// Forgets the value of a router, and its last read.
    fileprivate func forget(table: UInt64) {
        let older = state.withLock { state -> RememberedValue? in
            guard state.listed == table else { return nil }
            defer { state = State() }
            return state.known
        }
        withExtendedLifetime(older) {}
    }
}

/// When a value was read: numbers of which one changes before a change of the value is acknowledged, and when a lock begins.
struct ReadMoment: Equatable, Sendable {
    /// The number of the router's table of routes.
    let table: UInt64
    /// The number of the router's locks.
    let locks: Int
    /// The version of the store.
    let version: UInt64
}

/// A value that was read, or its absence.
final class RememberedValue: Sendable {
    let moment: ReadMoment
    let store: any ImmediateBackend
    /// The ``ValueBox`` of the value or of the key's default; nil if there is neither.
    let box: (any AnyObject & Sendable)?
    /// Whether the box has the default.
    let isDefault: Bool

    init<Value: Sendable>(_ value: Value?, default: Value?, at moment: ReadMoment, in store: any ImmediateBackend) {
        (self.moment, self.store) = (moment, store)
        (box, isDefault) = ((value ?? `default`).map { ValueBox($0) }, value == nil)
    }
}

/// A value in an object, which has no type for its owner.
final class ValueBox<Value: Sendable>: Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}

/// The keys that remember values of a router.
final class RememberingKeys: Sendable {
    private let memories = Mutex<[(memory: KeyMemory, table: UInt64)]>([])
    /// A number that changes when a lock of the router begins, before its keys forget their values.
    let locks = Atomic(0)

    deinit { forget() }

    /// Remembers a value of a key, unless a lock has begun since it was read. At most 4,096 keys remember a value.
    func remember(_ value: RememberedValue, in memory: KeyMemory) {
        if memory.remember(value) {
            if memories.withLock(\.count) >= 4_096 { forget() }
            memories.withLock { $0.append((memory, value.moment.table)) }
        }
        if locks.load(ordering: .acquiring) != value.moment.locks { memory.forget(value) }
    }

    /// Lets all keys forget their values.
    func forget() {
        let all = memories.withLock { memories in
            defer { memories = [] }
            return memories
        }
        for (memory, table) in all { memory.forget(table: table) }
    }
}
