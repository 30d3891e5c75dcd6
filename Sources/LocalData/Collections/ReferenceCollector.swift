import BackendContract
import Synchronization

/// The records that values hold within their references, gathered while the values are encoded.
final class ReferenceCollector: Sendable {
    @TaskLocal static var current: ReferenceCollector?

    /// A record that has to be stored with what refers to it.
    struct Referred: Sendable {
        let target: any Sendable
        /// Adds the change that stores it, whatever stands there.
        let set: @Sendable (inout StorageBatch) -> Void
        /// Stores it where there is no such record yet.
        let insert: @Sendable (MigrationEngine, ReferenceHolder) async throws -> ReferenceHolder.Insertion
    }

    /// Names are compared as stores compare them: byte by byte.
    private struct Name: Hashable {
        let domain: StorageDomain
        let address: StorageAddress
    }

    private struct State {
        /// The bytes of each record; nil while what it refers to is gathered.
        var seen: [Name: [UInt8]?] = [:]
        /// The bytes of records that were met again.
        var again: [(name: Name, bytes: [UInt8])] = []
        /// In an order in which what a record refers to comes before it.
        var found: [(name: Name, referred: Referred)] = []
    }

    private let state = Mutex(State())

    var isEmpty: Bool { state.withLock { $0.found.isEmpty } }
    var found: [Referred] { state.withLock { $0.found.map(\.referred) } }

    /// The changes that store the records.
    var batch: StorageBatch {
        var batch = StorageBatch()
        for referred in found { referred.set(&batch) }
        return batch
    }

    /// Whether one record was met in several states, of which only the first is among the found.
    var hasOtherStates: Bool { state.withLock { state in state.again.contains { state.seen[$0.name] != $0.bytes } } }

    private static func name<Target: StoredEntity>(_ collection: StorageCollection<Target>, _ id: String) -> Name {
        Name(domain: collection.domain, address: StorageAddress(id, in: collection.namespace))
    }

    /// Takes a record, once, and what it refers to in its turn.
    func collect<Target: StoredEntity>(_ target: Target, _ id: String) throws {
        let collection = Target.collection
        let name = Self.name(collection, id)
        let key = collection.key(id)
        let isNew = state.withLock { state in
            if state.seen.keys.contains(name) { return false }
            state.seen.updateValue(nil, forKey: name)
            return true
        }
        guard isNew else {
            let bytes = Array(try Self.$current.withValue(nil) { try key.serializer.encode(target) })
            return state.withLock { if $0.seen[name] != bytes { $0.again.append((name, bytes)) } }
        }
        // What it refers to comes before it.
        let bytes = try encoding(target, key.serializer)
        let referred = Referred(
            target: target, set: { $0.set(target, for: key) }, insert: { try await $0.insert(target, key, of: collection, for: $1) })
        state.withLock { state in
            state.seen[name] = bytes
            state.found.append((name, referred))
        }
    }

    /// The serializer's bytes of a value; what it refers to is gathered.
    func encoding<Value>(_ value: Value, _ serializer: Serializer<Value>) throws -> [UInt8] {
        try Self.$current.withValue(self) { Array(try serializer.encode(value)) }
    }

    /// A record that was gathered before.
    func target<Target: StoredEntity>(_ type: Target.Type, _ id: String) -> Target? {
        let found = state.withLock { $0.found }
        if found.isEmpty { return nil }
        let name = Self.name(Target.collection, id)
        return found.first { $0.name == name }?.referred.target as? Target
    }
}
