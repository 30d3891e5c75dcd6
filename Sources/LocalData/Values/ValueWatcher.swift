import BackendContract

/// Reads the current value of a key for an observer, together with a subscription to its later changes.
struct ValueWatcher: EnginePart, Sendable {
    let engine: Engine

    /// Returns the slots whose changes can change a value: its own first, then its legacy locations. These concern it only until it has
    /// left them, and in a release window.
    func watched<Value>(_ slot: Slot<Value>) async throws -> [Route] {
        guard slot.key.hasMigration else { return [slot.route] }
        if slot.key.releaseWindow == nil, (try? await slot.route.probe())?.metadata != nil { return [slot.route] }
        return [slot.route] + (try LegacyLocations(engine: engine).all(of: slot.untyped)).map(\.route)
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
