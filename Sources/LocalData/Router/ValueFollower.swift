import BackendContract
import BackendRuntime

/// The content of a key, as ``ValueFollower`` delivers it.
package enum FollowedState<Value: Sendable>: Sendable {
    case value(Value)
    /// There is no value.
    case absent
    /// There was a value, and it was removed without a call of this process.
    case vanished
    /// The store, or a key that it needs, is locked.
    case locked
    case failed(StorageError)
}

/// Follows a value. ``next()`` also delivers locks and errors, and continues after them. ``nextValue()`` ends with the first error.
package actor ValueFollower<Value: Codable & Sendable> {
    private let router: StorageRouter
    private let key: StorageKey<Value>
    /// The subscription, created before the first read, so that ``caughtUp()`` finds it. Nil if the key has no route yet.
    private let early: ChangeHub.Subscription?

    private var following: (slot: Slot<Value>, subscription: ChangeHub.Subscription)?
    private var isOver = false
    private var retry = Retry()
    /// The state that was delivered last; nil before the first.
    private var last: Last?
    /// The revision and the expiry date of the last value, also of one before a lock or an error.
    private var revision: StorageRevision?
    private var expiresAt: Double?
    /// Whether the last read or change found a value. Kept during a lock or an error.
    private var isPresent = false
    private var hasVanished = false
    /// Whether ``nextValue()`` has returned.
    private var hasBegun = false

    private enum Last: Equatable {
        case content, locked
        case failed(StorageError.Code)
    }

    /// Creates a follower. Reads nothing.
    package init(_ router: StorageRouter, _ key: StorageKey<Value>) {
        (self.router, self.key) = (router, key)
        early = (try? router.entry(key)).map(Self.subscription)
    }

    deinit {
        retry.cancel()
        if let subscription = following?.subscription { router.slots.committer.hub.unsubscribe(subscription) }
    }

    /// Returns the next state; nil at the end: after a shutdown or ``end()``, or if the task is cancelled.
    package func next() async -> FollowedState<Value>? {
        while !isOver {
            do { if let state = try await advance() { return state } } catch {
                if let state = failure(error) { return state }
            }
        }
        // Later events are not read, so callers must not wait for them.
        early?.end()
        early?.forget()
        return nil
    }

    /// Returns the next value, which is nil if it is absent. Returns nil at the end: after a shutdown, and after an error.
    /// - Throws: ``StorageError`` if a read fails, and if the store is locked before the first value.
    func nextValue() async throws -> Value?? {
        if isOver { return nil }
        defer { hasBegun = true }
        do {
            while !isOver {
                switch try await advance() {
                case .value(let value): return .some(value)
                case .absent, .vanished: return .some(nil)
                case .locked where !hasBegun: throw router.slots.routes.gate.refusal(key.name)
                case .locked, .failed, nil: continue
                }
            }
            try Task.checkCancellation()
            return nil
        } catch {
            isOver = true
            throw error is CancellationError ? StorageError.cancelled(key.name) : error
        }
    }

    /// Waits until the reader has applied all events so far.
    package nonisolated func caughtUp() async {
        await withCheckedContinuation { continuation in
            let signal = ReleaseSignal(continuation)
            early?.push(.passed(signal))
        }
    }

    /// Ends the sequence of states.
    package nonisolated func end() { early?.end() }

    private func advance() async throws -> FollowedState<Value>? {
        let (slot, subscription) = try await begin()
        guard let event = await subscription.next() else {
            isOver = true
            return nil
        }
        if case .passed = event { return nil }
        let gate = router.slots.routes.gate
        if gate.refuses(slot.id.store), !gate.isShutDown || event.isLook {
            if gate.isShutDown { return nil }
            // Unlocking causes another read.
            return deliver(.locked, as: .locked)
        }
        switch event {
        case .passed: return nil
        case .changed(let record):
            let value = try await router.valueWatcher.decode(record, slot)
            note(value == nil ? nil : record)
            hasVanished = false
            return deliver(value.map { .value($0) } ?? .absent, as: .content)
        case .look: return try await look(slot, subscription)
        }
    }

    private func begin() async throws -> (Slot<Value>, ChangeHub.Subscription) {
        if let following { return following }
        let (slot, routes): (Slot<Value>, [Route])
        do {
            (slot, routes) = try await router.call("values", key) {
                let slot = try router.entry(key)
                return (slot, try await router.valueWatcher.watched(slot))
            }
        } catch {
            // No later event makes the key usable.
            isOver = true
            throw error
        }
        let subscription = early ?? Self.subscription(to: slot)
        following = (slot, subscription)
        router.slots.committer.hub.add(subscription, to: routes)
        // A shutdown may have ended all subscriptions before this one was added.
        if router.slots.routes.gate.isShutDown {
            isOver = true
            throw router.slots.routes.gate.refusal(key.name)
        }
        return (slot, subscription)
    }

    /// Creates a subscription whose first event is the first read.
    private static func subscription(to slot: Slot<Value>) -> ChangeHub.Subscription {
        let subscription = ChangeHub.Subscription(slot: slot.id, reportsLocks: true)
        subscription.push(.look)
        return subscription
    }

    private func look(_ slot: Slot<Value>, _ subscription: ChangeHub.Subscription) async throws -> FollowedState<Value>? {
        let reading = try await router.call("values", slot.key) {
            try await router.slots.lists.prepare(slot.key)
            return try await router.valueWatcher.look(slot, subscription) { try await router.rehearsed(slot, after: $0) }
        }
        guard let reading else {
            // Changes of this process are delivered first.
            subscription.push(.look)
            return nil
        }
        retry.succeeded()
        guard let value = reading.value else {
            if isPresent, !subscription.endsInRemoval, expiresAt.map({ $0 > router.coder.now }) ?? true { hasVanished = true }
            let isNew = isPresent || last != .content
            note(nil)
            return isNew ? deliver(hasVanished ? .vanished : .absent, as: .content) : nil
        }
        subscription.noteValue()
        let isNew = !isPresent || reading.record?.revision != revision || last != .content
        note(reading.record)
        isPresent = true
        hasVanished = false
        return isNew ? deliver(.value(value), as: .content) : nil
    }

    private func note(_ record: StorageRecord?) {
        (revision, expiresAt, isPresent) = (record?.revision, record?.metadata.expiresAt, record != nil)
    }

    private func deliver(_ state: FollowedState<Value>, as kind: Last) -> FollowedState<Value>? {
        if kind != .content, kind == last { return nil }
        last = kind
        return state
    }

    /// The state after an error; nil if it was delivered before, or if the sequence of states ends.
    private func failure(_ error: any Error) -> FollowedState<Value>? {
        if error is CancellationError || Task.isCancelled || StorageError.cancelled ~= error {
            isOver = true
            return nil
        }
        if StorageError.shutDown ~= error, last != nil {
            isOver = true
            return nil
        }
        if let subscription = following?.subscription {
            retry.schedule(after: error, router.configuration.runtime.clock) { [weak subscription] in subscription?.push(.look) }
        }
        let error = StorageError.wrapping(error, key: key.name)
        if error.code == .locked { return deliver(.locked, as: .locked) }
        if error.code == .vanished {
            let isNew = !hasVanished || last != .content
            note(nil)
            hasVanished = true
            return isNew ? deliver(.vanished, as: .content) : nil
        }
        return deliver(.failed(error), as: .failed(error.code))
    }
}
