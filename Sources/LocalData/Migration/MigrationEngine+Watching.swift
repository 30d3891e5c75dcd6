import BackendContract

extension MigrationEngine {
    /// The current value, and everything that happens after it.
    func watch<Value>(_ key: StorageKey<Value>) async throws -> (ChangeHub.Subscription, StorageRecord?, Value?) {
        let route = try routes.route(for: key)
        try await key.prepare?(self)
        return try await lanes.withLane(route.slot, keyName: key.name) {
            // While the lane is held nothing in this process changes the slot: no change is missed, and none is told twice.
            if key.mayBeOutdated { _ = try await settle(key, route, try await context(.read, route)) }
            let subscription = hub.subscribe(to: route)
            do {
                let (record, value) = try await current(key)
                return (subscription, record, value)
            } catch {
                hub.unsubscribe(subscription)
                throw error
            }
        }
    }

    /// The current value, unless changes of this process wait to be told.
    func look<Value>(_ key: StorageKey<Value>, _ subscription: ChangeHub.Subscription) async throws -> (StorageRecord?, Value?)? {
        let route = try routes.route(for: key)
        return try await lanes.withLane(route.slot, keyName: key.name) {
            // While the lane is held, everything that this process committed is published.
            if subscription.hasChanges { return nil }
            if key.mayBeOutdated { _ = try await settle(key, route, try await context(.read, route)) }
            return subscription.hasChanges ? nil : try await current(key)
        }
    }

    /// The value of a record that was published; nil for a removal.
    func decode<Value>(_ record: StorageRecord?, _ key: StorageKey<Value>) async throws -> Value? {
        guard let record else { return nil }
        return try await records.decode(record, key, try routes.route(for: key))
    }
}
