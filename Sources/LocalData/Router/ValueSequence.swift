import BackendContract

/// The current and later values of a key: see ``StorageRouter/values(for:)``.
struct ValueSequence<Value: Codable & Sendable>: AsyncSequence, Sendable {
    typealias Element = Value?
    typealias Failure = any Error

    let router: StorageRouter
    let key: StorageKey<Value>

    func makeAsyncIterator() -> Iterator { Iterator(router: router, key: key) }

    /// One iteration over the values. It observes the key from its first step until it is released.
    final class Iterator: AsyncIteratorProtocol {
        typealias Element = Value?

        private let router: StorageRouter
        private let key: StorageKey<Value>
        private var subscription: ChangeHub.Subscription?
        private var lastRevision: StorageRevision?
        private var isOver = false

        init(router: StorageRouter, key: StorageKey<Value>) {
            self.router = router
            self.key = key
        }

        deinit { subscription.map(router.slots.committer.hub.unsubscribe) }

        func next() async throws -> Value?? {
            guard !isOver else { return nil }
            do {
                guard let subscription else { return .some(try await begin()) }
                while let event = await subscription.next() {
                    // A locked store yields no values; unlocking the store triggers another read. After a shutdown,
                    // only values from before the shutdown are yielded.
                    let gate = router.slots.routes.gate
                    if gate.refuses(subscription.slot.store), !gate.isShutDown || event.isLook { continue }
                    switch event {
                    case .passed: continue
                    case .changed(let record):
                        lastRevision = record?.revision
                        return .some(try await router.valueWatcher.decode(record, try slot()))
                    case .look:
                        // Nil means that changes of this process are queued. They are yielded first, in their order.
                        guard let reading = try await look(subscription) else {
                            subscription.push(.look)
                            continue
                        }
                        if reading.record?.revision == lastRevision { continue }
                        lastRevision = reading.record?.revision
                        return .some(reading.value)
                    }
                }
                isOver = true
                try Task.checkCancellation()
                return nil
            } catch {
                isOver = true
                throw error is CancellationError ? StorageError.cancelled(key.name) : error
            }
        }

        private func begin() async throws -> Value? {
            let (subscription, reading) = try await router.call("values", key) {
                let slot = try router.entry(key)
                return try await router.valueWatcher.watch(slot) { try await router.rehearsed(slot, after: $0) }
            }
            self.subscription = subscription
            lastRevision = reading.record?.revision
            return reading.value
        }

        private func look(_ subscription: ChangeHub.Subscription) async throws -> ValueReader.Reading<Value>? {
            let slot = try slot()
            return try await router.valueWatcher.look(slot, subscription) { try await router.rehearsed(slot, after: $0) }
        }

        private func slot() throws -> Slot<Value> { try router.slots.routes.slot(for: key) }
    }
}
