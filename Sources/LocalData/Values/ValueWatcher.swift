import BackendContract

/// Follows a value: what it is now, and every change after that.
struct ValueWatcher: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History, _ program: ProgramCode) {
        (self.slots, self.coder, self.history, self.program) = (slots, coder, history, program)
    }

    private var valueReader: ValueReader { ValueReader(slots, coder, history, program) }

    /// The current value, and a subscription to everything that happens after it.
    /// - Parameter ifUnwritten: Reads the value after an error of its migration.
    func watch<Value>(
        _ slot: Slot<Value>, ifUnwritten: (any Error) async throws -> ValueReader.Reading<Value>
    ) async throws -> (ChangeHub.Subscription, ValueReader.Reading<Value>) {
        try await slots.lists.prepare(slot.key)
        return try await slots.withLane(slot.route) {
            // While the lane is held, nothing in this process changes the slot: no change is missed, and none is told twice.
            let unwritten = try await valueReader.settleOrRead(slot, ifUnwritten)?.0
            let subscription = slots.committer.hub.subscribe(to: slot.route)
            do {
                if let unwritten { return (subscription, unwritten) }
                return (subscription, try await read(slot, ifUnwritten))
            } catch {
                slots.committer.hub.unsubscribe(subscription)
                throw error
            }
        }
    }

    /// The current value; nil while changes of this process wait to be told.
    func look<Value>(
        _ slot: Slot<Value>, _ subscription: ChangeHub.Subscription,
        ifUnwritten: (any Error) async throws -> ValueReader.Reading<Value>
    ) async throws -> ValueReader.Reading<Value>? {
        try await slots.withLane(slot.route) {
            // While the lane is held, everything that this process committed is published.
            if subscription.hasChanges { return nil }
            if let unwritten = try await valueReader.settleOrRead(slot, ifUnwritten)?.0 { return unwritten }
            return subscription.hasChanges ? nil : try await read(slot, ifUnwritten)
        }
    }

    private func read<Value>(
        _ slot: Slot<Value>, _ ifUnwritten: (any Error) async throws -> ValueReader.Reading<Value>
    ) async throws -> ValueReader.Reading<Value> {
        do { return try await valueReader.read(slot) } catch { return try await ifUnwritten(error) }
    }

    /// The value of a record that was published; nil for a removal.
    func decode<Value>(_ record: StorageRecord?, _ slot: Slot<Value>) async throws -> Value? {
        guard let record else { return nil }
        return try await coder.decode(record, slot)
    }
}
