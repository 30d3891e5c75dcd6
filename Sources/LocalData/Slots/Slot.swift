import BackendContract

/// A key and where it leads: found once for each call, its name checked.
struct Slot<Value: Codable & Sendable>: Sendable {
    let key: StorageKey<Value>
    let route: Route

    var name: String { key.name }
    var id: PhysicalSlot { route.slot }
    var address: StorageAddress { route.address }
    /// The slot where the type of its value does not matter.
    var untyped: UntypedSlot { UntypedSlot(key: key, route: route) }
}

/// A slot whose type of value does not matter where it is used.
struct UntypedSlot: Sendable {
    let key: any TypedKey
    let route: Route

    var name: String { key.name }
    var id: PhysicalSlot { route.slot }
}

/// A value in a legacy location.
struct SourceRecord: Sendable {
    let key: AnyStorageKey
    let route: Route
    let record: StorageRecord
}

extension SourceRecord {
    init<Value>(_ slot: Slot<Value>, _ record: StorageRecord) { self.init(key: .key(slot.key), route: slot.route, record: record) }
}
