import BackendContract

/// Reads values: from their place, or from where they used to be.
struct ValueReader: Sendable {
    let env: Environment

    init(_ env: Environment) { self.env = env }

    /// A value and the record that holds it; both nil when the value is absent.
    struct Reading<Value: Sendable>: Sendable {
        var record: StorageRecord?
        var value: Value?
    }

    /// The current value of a key: from its place, or from where it used to be.
    func read<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws -> Reading<Value> {
        if slot.key.membership != nil { try await env.prepare(slot.key, host) }
        if let found = try await readInPlace(slot, isSettled: false) { return found }
        if !env.lanes.isHeldByCurrentChain(slot.id) { try await migrate(slot, host) }
        return try await readInPlace(slot, isSettled: true) ?? Reading()
    }

    /// Reads the key's own place.
    /// - Parameter isSettled: Whether migrations and chains have run: what is found then is the answer.
    /// - Returns: The value, or its absence; nil when migrations or a chain have to run first.
    private func readInPlace<Value>(_ slot: Slot<Value>, isSettled: Bool) async throws -> Reading<Value>? {
        switch try await slot.route.read() {
        case .value(let record):
            // An expired value is absent, and no older copy takes its place.
            if env.isExpired(record) { return env.safeguards.contains(.expiryDecides) || isSettled ? Reading() : nil }
            // A chain runs where its result is written.
            if !isSettled, slot.key.evolution != nil, env.coder.isOutdated(record.metadata, slot.key) { return nil }
            do {
                let decoded = try await env.coder.read(record, slot)
                return decoded.isOutdated && !isSettled ? nil : Reading(record: record, value: decoded.value)
            } catch let error as StorageError {
                guard slot.key.hasMigration, !isSettled, error.meansUndecodable else { throw error }
                return nil
            }
        case .tombstone: return Reading()
        case .absent: return slot.key.hasMigration && !isSettled ? nil : Reading()
        case .corrupt(let corruption):
            guard slot.key.hasMigration, !isSettled else { throw slot.route.corrupted(corruption) }
            return nil
        case .locked: throw StorageError.locked(slot.name, slot.route.domain)
        case .unavailable(let error): throw StorageError.from(error, key: slot.name)
        }
    }

    /// Runs the key's migrations, once for all callers that ask at the same time.
    private func migrate<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws {
        if env.lanes.isInChain {
            // A migration's own reads wait in the lanes, where a circle is noticed, and never in another call's flight.
            try await settle(slot, host)
            return
        }
        try await env.flights.join(Flights.Work(slot)) { [self] in
            try await settle(slot, host)
            await env.ledger.flush()
        }
    }

    private func settle<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws {
        try await env.withLane(slot.route) { try await settleHoldingLane(slot, host) }
    }

    /// Brings a value to its place and shape while the lane of its slot is held.
    func settleHoldingLane<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws {
        _ = try await Settler(env).settle(slot, await env.run(.read, slot.id, host))
    }

    /// What a key's own place holds, with its metadata, also when it has expired. Legacy locations are not read.
    func stored<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws -> StoredValue<Value>? {
        guard let record = try await record(slot, host) else { return nil }
        return StoredValue(
            id: slot.name, value: try await env.coder.decode(record, slot), record.metadata, isExpired: env.isExpired(record))
    }

    /// Whether a key's own place holds a value. Legacy locations are not read.
    func exists<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws -> Bool {
        try await record(slot, host).map { !env.isExpired($0) } ?? false
    }

    private func record<Value>(_ slot: Slot<Value>, _ host: any MigrationHost) async throws -> StorageRecord? {
        try await env.prepare(slot.key, host)
        let probe = try await slot.route.probe()
        if case .corrupt(let corruption) = probe { throw slot.route.corrupted(corruption) }
        return probe.record
    }
}
