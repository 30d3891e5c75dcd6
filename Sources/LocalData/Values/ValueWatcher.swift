import BackendContract

/// Reads the current value of a key for an observer, together with a subscription to its later changes.
struct ValueWatcher: Sendable {
    let slots: SlotAccess
    let coder: RecordCoder
    let history: History
    let program: ProgramCode

    init(_ slots: SlotAccess, _ coder: RecordCoder, _ history: History, _ program: ProgramCode) {
        (self.slots, self.coder, self.history, self.program) = (slots, coder, history, program)
    }

    private var valueReader: ValueReader { ValueReader(slots, coder, history, program) }

    /// Returns the current value, and a subscription to all later changes.
    /// - Parameter ifUnwritten: Reads the value after an error of its migration.
    func watch<Value>(
        _ slot: Slot<Value>, ifUnwritten: (any Error) async throws -> ValueReader.Reading<Value>
    ) async throws -> (ChangeHub.Subscription, ValueReader.Reading<Value>) {
        try await slots.lists.prepare(slot.key)
        return try await slots.withLane(slot.route) {
            // While this call holds the lane, no other call of this process changes the slot. So no change is missed, and none is delivered
            // twice.
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

    /// Returns the current value; nil if the subscription still has changes of this process that must be delivered first.
    func look<Value>(
        _ slot: Slot<Value>, _ subscription: ChangeHub.Subscription,
        ifUnwritten: (any Error) async throws -> ValueReader.Reading<Value>
    ) async throws -> ValueReader.Reading<Value>? {
        try await slots.withLane(slot.route) {
            // While this call holds the lane, all commits of this process to the slot are already published.
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

    /// Returns the value of a record that was published; nil for a removal, and for a value that has expired since.
    func decode<Value>(_ record: StorageRecord?, _ slot: Slot<Value>) async throws -> Value? {
        guard let record, !coder.isExpired(record) else { return nil }
        return try await coder.decode(record, slot)
    }
}
