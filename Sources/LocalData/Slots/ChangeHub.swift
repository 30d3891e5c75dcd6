import BackendContract
import BackendRuntime
import Synchronization

/// Passes changes of slots to the observers of these slots, in the order of their commits. Followers of a collection observe a whole
/// namespace: ``RecordSubscription``.
final class ChangeHub: Sendable {
    /// An event that a subscription delivers.
    enum Event: Sendable {
        /// The slot holds this record now; nil after a removal.
        case changed(StorageRecord?)
        /// The slot may have changed, and must be re-read.
        case look
        /// Every earlier event was delivered when this signal is released.
        case passed(ReleaseSignal)

        var isLook: Bool { if case .look = self { true } else { false } }
        var isSignal: Bool { if case .passed = self { true } else { false } }
    }

    /// The queue of one watcher. It holds a limited number of events. A full queue keeps only the latest event and all signals.
    final class Subscription: Sendable {
        private struct State {
            var events: [Event] = []
            var waiting: Wait<Event?>?
            var isOver = false
            /// Whether the last change of this process was a removal.
            var endsInRemoval = false
        }

        static let bound = 64

        private let state = Mutex(State())
        let slot: PhysicalSlot
        /// Whether the subscription receives ``Event/look`` when the store is locked.
        let reportsLocks: Bool

        init(slot: PhysicalSlot, reportsLocks: Bool = false) { (self.slot, self.reportsLocks) = (slot, reportsLocks) }

        func push(_ event: Event) {
            let waiting = state.withLock { state -> Wait<Event?>? in
                // After the end, no task reads the queue, so the signal is released here.
                if state.isOver, event.isSignal { return nil }
                if case .changed(let record) = event { state.endsInRemoval = record == nil }
                if let waiting = state.waiting.take() { return waiting }
                if state.events.count >= Self.bound { Self.merge(&state.events) }
                if case (.look, .look?) = (event, state.events.last) { return nil }
                state.events.append(event)
                return nil
            }
            waiting?.end(event)
        }

        /// Keeps only the last event, in front of all signals. So a signal is released after the delivery of the change before it, or of a
        /// later one.
        private static func merge(_ events: inout [Event]) {
            let last = events.last { !$0.isSignal }
            events = (last.map { [$0] } ?? []) + events.filter(\.isSignal)
        }

        /// Whether the queue contains a change of this process.
        var hasChanges: Bool {
            state.withLock { state in state.events.contains { if case .changed = $0 { true } else { false } } }
        }

        /// Whether the last change of this process was a removal, and no value was read since.
        var endsInRemoval: Bool { state.withLock(\.endsInRemoval) }

        /// Notes that this process removes the value without publishing a change.
        func noteRemoval() { state.withLock { $0.endsInRemoval = true } }

        /// Notes that a value was read.
        func noteValue() { state.withLock { $0.endsInRemoval = false } }

        /// Drops the queued events. If the subscription reports locks, it then receives ``Event/look``.
        func forget() {
            state.withLock { $0.events = [] }
            if reportsLocks { push(.look) }
        }

        func end() {
            state.withLock { state in
                state.isOver = true
                return state.waiting.take()
            }?.end(nil)
        }

        /// Returns the next event; nil at the end or if the task is cancelled.
        func next() async -> Event? {
            let wait = Wait<Event?>()
            state.withLock { state in
                if !state.events.isEmpty {
                    wait.end(state.events.removeFirst())
                } else if state.isOver {
                    wait.end(nil)
                } else {
                    state.waiting = wait
                }
            }
            let event = await wait.result(ifCancelled: nil)
            if event == nil { end() }
            return event
        }
    }

    private struct State {
        var subscriptions: [PhysicalSlot: [ObjectIdentifier: Subscription]] = [:]
        /// The slots of each subscription.
        var observed: [ObjectIdentifier: [PhysicalSlot]] = [:]
        var forwarders: [BackendIdentity: ScheduledAction] = [:]
        /// The followers of collections, by each store that contains their records or legacy locations.
        var followers: [BackendIdentity: [ObjectIdentifier: RecordSubscription]] = [:]
    }

    private let state = Mutex(State())
    private let tasks: any TaskSpawner
    private let clock: any RuntimeClock

    /// The pauses before the hub tries again to watch a store that could not be watched. Each pause is twice as long as the previous one,
    /// up to the longest.
    private static let (shortestPause, longestPause) = (Duration.seconds(1), Duration.seconds(60))

    init(tasks: any TaskSpawner, clock: any RuntimeClock) { (self.tasks, self.clock) = (tasks, clock) }

    /// Begins to pass the changes of slots to a subscription.
    /// - Parameter routes: The slot of the subscription, then its legacy locations. A change of one of these is the event ``Event/look``.
    func add(_ subscription: Subscription, to routes: [Route]) {
        state.withLock { state in
            state.observed[ObjectIdentifier(subscription)] = routes.map(\.slot)
            for route in routes { state.subscriptions[route.slot, default: [:]][ObjectIdentifier(subscription)] = subscription }
        }
        watch(routes.map(\.backend))
    }

    func unsubscribe(_ subscription: Subscription) {
        subscription.end()
        stopWatching { state in
            for slot in state.observed.removeValue(forKey: ObjectIdentifier(subscription)) ?? [] {
                state.subscriptions[slot]?[ObjectIdentifier(subscription)] = nil
                if state.subscriptions[slot]?.isEmpty == true { state.subscriptions[slot] = nil }
            }
        }
    }

    /// Passes the new content of a slot to its observers.
    /// - Parameter replaced: The record that the change replaced, if a follower may report it.
    func publish(_ record: StorageRecord?, replacing replaced: ReplacedRecord? = nil, at slot: PhysicalSlot) {
        let (watchers, followers) = observers(of: slot)
        for subscription in watchers { subscription.push(subscription.slot == slot ? .changed(record) : .look) }
        for subscription in followers { subscription.push(record, replacing: replaced, at: slot) }
    }

    /// Notifies the observers of a slot that a change of this process may have been applied.
    func publishUnknownOutcome(at slot: PhysicalSlot) {
        let (watchers, followers) = observers(of: slot)
        for subscription in watchers { subscription.push(.look) }
        for subscription in followers { subscription.pushUnknownOutcome(at: slot) }
    }

    /// Drops the events that were not delivered, and the values in them. The observers re-read their slots once the store is unlocked.
    /// - Parameter store: The store; nil for all stores.
    func forgetEvents(of store: BackendIdentity?) {
        for subscription in watchers(in: store) where store == nil || subscription.slot.store == store { subscription.forget() }
        for subscription in followers(in: store) { subscription.forget() }
    }

    /// Causes the observers of a store to re-read their slots.
    /// - Parameter store: The store; nil for all stores.
    func lookAgain(_ store: BackendIdentity?) {
        for subscription in watchers(in: store) { subscription.push(.look) }
        for subscription in followers(in: store) { subscription.rescan() }
    }

    /// Notes that this process destroys the content of a store. Observers must not report this as a loss.
    func noteRemovals(in store: BackendIdentity) {
        for subscription in watchers(in: store) where subscription.slot.store == store { subscription.noteRemoval() }
    }

    private func watchers(in store: BackendIdentity?) -> [Subscription] {
        state.withLock { state in
            state.subscriptions.filter { store == nil || $0.key.store == store }.values.flatMap(\.values)
        }
    }

    private static func isWatched(_ store: BackendIdentity, _ state: State) -> Bool {
        state.followers[store] != nil || state.subscriptions.keys.contains { $0.store == store }
    }

    func close() {
        let (subscriptions, followers, forwarders) = state.withLock { state in
            defer { state = State() }
            return (
                state.subscriptions.values.flatMap(\.values), state.followers.values.flatMap(\.values), Array(state.forwarders.values)
            )
        }
        for forwarder in forwarders { forwarder.cancel() }
        for subscription in subscriptions { subscription.end() }
        for subscription in followers { subscription.end() }
    }

    private func observers(of slot: PhysicalSlot) -> (watchers: [Subscription], followers: [RecordSubscription]) {
        state.withLock { state in
            let watchers = Array((state.subscriptions[slot] ?? [:]).values)
            // Most programs follow no collection.
            if state.followers.isEmpty { return (watchers, []) }
            return (watchers, Array((state.followers[slot.store] ?? [:]).values))
        }
    }

    /// Watches the stores that are not watched yet.
    private func watch(_ backends: [any StorageBackend]) {
        var seen = state.withLock { Set($0.forwarders.keys) }
        let new = backends.filter { seen.insert($0.identity).inserted }
        for case let backend as any ObservableBackend in new { forward(backend) }
    }

    /// Removes an observer, and stops watching the stores that no other observer needs.
    private func stopWatching(_ remove: (inout State) -> Void) {
        let idle = state.withLock { state in
            remove(&state)
            let stores = state.forwarders.keys.filter { !Self.isWatched($0, state) }.sorted { $0.description < $1.description }
            return stores.compactMap { state.forwarders.removeValue(forKey: $0) }
        }
        for forwarder in idle { forwarder.cancel() }
    }

    /// Watches a store for changes by other processes, and passes them to the observers.
    /// - Parameters:
    ///   - isAgain: Whether changes may have been missed. If the store is ready, the observers then re-read their slots. If it is not, they
    ///     do not, because the reads would fail.
    ///   - pause: The time to wait before the next attempt, if the store cannot be watched.
    private func forward(_ backend: any ObservableBackend, isAgain: Bool = false, pause: Duration = shortestPause) {
        let changes = backend.foreignChanges()
        let store = backend.identity
        let forwarder = tasks.spawn { [weak self] in
            if isAgain, await backend.status() == .ready { self?.lookAgain(store) }
            var pause = pause
            for await addresses in changes {
                guard let self else { return }
                pause = Self.shortestPause
                let touched = self.state.withLock { state in
                    state.subscriptions.filter { slot, _ in slot.store == store && (addresses?.contains(slot.address) ?? true) }.values
                        .flatMap(\.values)
                }
                for subscription in touched { subscription.push(.look) }
                for subscription in self.followers(in: store) { subscription.pushForeign(addresses, in: store) }
            }
            // The store could not be watched, or can no longer be watched.
            if !Task.isCancelled { self?.forwardAgain(backend, after: pause) }
        }
        let surplus = state.withLock { state -> ScheduledAction? in
            if state.forwarders[store] != nil { return forwarder }
            state.forwarders[store] = forwarder
            return nil
        }
        surplus?.cancel()
    }

    /// Watches a store again after a pause. The observers then re-read their slots, because they may have missed changes.
    private func forwardAgain(_ backend: any ObservableBackend, after pause: Duration) {
        let store = backend.identity
        let attempt = clock.schedule(at: clock.now.advanced(by: pause)) { [weak self] in
            guard let self, let replaced = self.state.withLock({ $0.forwarders.removeValue(forKey: store) }) else { return }
            // `replaced` is this attempt. If this attempt was cancelled too late, `replaced` may instead be a forwarder that a later
            // observer has started.
            replaced.cancel()
            self.forward(backend, isAgain: true, pause: min(pause * 2, Self.longestPause))
        }
        let isNeeded = state.withLock { state in
            state.forwarders[store] = Self.isWatched(store, state) ? attempt : nil
            return state.forwarders[store] != nil
        }
        if !isNeeded { attempt.cancel() }
    }
}

// MARK: Followers of collections

extension ChangeHub {
    /// Begins to pass the changes of a collection to a subscription.
    /// - Parameter backends: The backends of the subscription's regions.
    func follow(_ subscription: RecordSubscription, in backends: [any StorageBackend]) {
        state.withLock { state in
            for backend in backends { state.followers[backend.identity, default: [:]][ObjectIdentifier(subscription)] = subscription }
        }
        watch(backends)
    }

    func unfollow(_ subscription: RecordSubscription) {
        subscription.end()
        stopWatching { state in
            for store in state.followers.keys {
                state.followers[store]?[ObjectIdentifier(subscription)] = nil
                if state.followers[store]?.isEmpty == true { state.followers[store] = nil }
            }
        }
    }

    /// Returns the record that a change replaces, if a follower may report it; otherwise nil.
    func replaced(_ probe: StorageProbe, at slot: PhysicalSlot) -> ReplacedRecord? {
        guard let record = probe.record, observers(of: slot).followers.contains(where: { $0.concerns(slot) }) else { return nil }
        return ReplacedRecord(record)
    }

    /// Returns the followers of collections in a store.
    /// - Parameter store: The store; nil for all stores.
    private func followers(in store: BackendIdentity?) -> [RecordSubscription] {
        state.withLock { state in
            if let store { return Array((state.followers[store] ?? [:]).values) }
            // A follower may listen in several stores, but is returned once.
            return Array(state.followers.values.reduce(into: [:]) { $0.merge($1) { first, _ in first } }.values)
        }
    }
}
