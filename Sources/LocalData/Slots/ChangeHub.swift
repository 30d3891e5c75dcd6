import BackendContract
import BackendRuntime
import Synchronization

/// Hands changes of slots to those who watch them, in the order in which they were committed.
final class ChangeHub: Sendable {
    /// What a watcher is told.
    enum Event: Sendable {
        /// The slot holds this record now; nil after a removal.
        case changed(StorageRecord?)
        /// The slot may have changed: read it again.
        case look

        var isLook: Bool { if case .look = self { true } else { false } }
    }

    /// One watcher's line of events: bounded, and cut down to the latest when it is full.
    final class Subscription: Sendable {
        private struct State {
            var events: [Event] = []
            var waiting: CheckedContinuation<Event?, Never>?
            var isOver = false
        }

        static let bound = 64

        private let state = Mutex(State())
        let slot: PhysicalSlot

        init(slot: PhysicalSlot) { self.slot = slot }

        func push(_ event: Event) {
            let waiting = state.withLock { state -> CheckedContinuation<Event?, Never>? in
                if let waiting = state.waiting {
                    state.waiting = nil
                    return waiting
                }
                if state.events.count >= Self.bound { state.events = [] }
                if case (.look, .look?) = (event, state.events.last) { return nil }
                state.events.append(event)
                return nil
            }
            waiting?.resume(returning: event)
        }

        /// Whether a change of this process waits to be told.
        var hasChanges: Bool {
            state.withLock { state in state.events.contains { if case .changed = $0 { true } else { false } } }
        }

        /// Drops the events that wait.
        func forget() { state.withLock { $0.events = [] } }

        func end() {
            state.withLock { state in
                state.isOver = true
                defer { state.waiting = nil }
                return state.waiting
            }?.resume(returning: nil)
        }

        /// The next event; nil at the end or when the task is cancelled.
        func next() async -> Event? {
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let early = state.withLock { state -> Event?? in
                        if !state.events.isEmpty { return .some(state.events.removeFirst()) }
                        if state.isOver || Task.isCancelled { return .some(nil) }
                        state.waiting = continuation
                        return nil
                    }
                    if let early { continuation.resume(returning: early) }
                }
            } onCancel: {
                end()
            }
        }
    }

    private struct State {
        var subscriptions: [PhysicalSlot: [ObjectIdentifier: Subscription]] = [:]
        var forwarders: [BackendIdentity: ScheduledAction] = [:]
    }

    private let state = Mutex(State())
    private let tasks: any TaskSpawner
    private let clock: any RuntimeClock

    /// How long the hub waits before it watches a store again that can no longer be watched: twice as long each time, up to the longest.
    private static let (shortestPause, longestPause) = (Duration.seconds(1), Duration.seconds(60))

    init(tasks: any TaskSpawner, clock: any RuntimeClock) { (self.tasks, self.clock) = (tasks, clock) }

    func subscribe(to route: Route) -> Subscription {
        let subscription = Subscription(slot: route.slot)
        let needsForwarder = state.withLock { state in
            state.subscriptions[route.slot, default: [:]][ObjectIdentifier(subscription)] = subscription
            return state.forwarders[route.slot.store] == nil
        }
        if needsForwarder, let backend = route.backend as? any ObservableBackend { forward(backend) }
        return subscription
    }

    func unsubscribe(_ subscription: Subscription) {
        subscription.end()
        let idle = state.withLock { state -> ScheduledAction? in
            state.subscriptions[subscription.slot]?[ObjectIdentifier(subscription)] = nil
            if state.subscriptions[subscription.slot]?.isEmpty == true { state.subscriptions[subscription.slot] = nil }
            let store = subscription.slot.store
            guard !Self.isWatched(store, state) else { return nil }
            return state.forwarders.removeValue(forKey: store)
        }
        idle?.cancel()
    }

    /// Tells the watchers of a slot what it holds now.
    func publish(_ record: StorageRecord?, at slot: PhysicalSlot) {
        for subscription in watchers(of: slot) { subscription.push(.changed(record)) }
    }

    /// Tells the watchers of a slot that a change of this process may have happened.
    func publishUnknownOutcome(at slot: PhysicalSlot) {
        for subscription in watchers(of: slot) { subscription.push(.look) }
    }

    /// Drops what waits to be told, with the values in it: those who watch look again once the store is unlocked.
    /// - Parameter store: The store; nil for all.
    func forgetEvents(of store: BackendIdentity?) {
        for subscription in watchers(in: store) { subscription.forget() }
    }

    /// Lets those who watch look again.
    /// - Parameter store: The store; nil for all.
    func lookAgain(_ store: BackendIdentity?) {
        for subscription in watchers(in: store) { subscription.push(.look) }
    }

    private func watchers(in store: BackendIdentity?) -> [Subscription] {
        state.withLock { state in
            state.subscriptions.filter { store == nil || $0.key.store == store }.values.flatMap(\.values)
        }
    }

    private static func isWatched(_ store: BackendIdentity, _ state: State) -> Bool {
        state.subscriptions.keys.contains { $0.store == store }
    }

    func close() {
        let (subscriptions, forwarders) = state.withLock { state in
            defer { state = State() }
            return (state.subscriptions.values.flatMap(\.values), Array(state.forwarders.values))
        }
        for forwarder in forwarders { forwarder.cancel() }
        for subscription in subscriptions { subscription.end() }
    }

    private func watchers(of slot: PhysicalSlot) -> [Subscription] {
        state.withLock { Array(($0.subscriptions[slot] ?? [:]).values) }
    }

    /// - Parameters:
    ///   - isAgain: Whether changes may have been missed. Nobody looks for them while the store cannot be reached: that would be an error.
    ///   - pause: How long to wait before the next attempt, if the store cannot be watched.
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
            }
            // The store could not be watched, or no longer can be.
            if !Task.isCancelled { self?.forwardAgain(backend, after: pause) }
        }
        let surplus = state.withLock { state -> ScheduledAction? in
            if state.forwarders[store] != nil { return forwarder }
            state.forwarders[store] = forwarder
            return nil
        }
        surplus?.cancel()
    }

    /// Watches a store again after a pause, and lets those who watch look for what they missed.
    private func forwardAgain(_ backend: any ObservableBackend, after pause: Duration) {
        let store = backend.identity
        let attempt = clock.schedule(at: clock.now.advanced(by: pause)) { [weak self] in
            guard let self, let replaced = self.state.withLock({ $0.forwarders.removeValue(forKey: store) }) else { return }
            // This attempt, or what somebody began who watches since it was called off too late.
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
