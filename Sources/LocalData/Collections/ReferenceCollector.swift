import BackendContract
import Synchronization

/// The records that values hold within their references, gathered while the values are encoded.
final class ReferenceCollector: Sendable {
    @TaskLocal static var current: ReferenceCollector?

    /// A record that has to be stored with what refers to it.
    struct Referred: Sendable {
        let target: any Sendable
        /// Adds the change that stores it: in the place of what stands there, if a call made the reference.
        let set: @Sendable (inout StorageBatch) -> Void
        /// Stores it where there is no such record yet.
        let insert: @Sendable (MigrationEngine, ReferenceHolder) async throws -> ReferenceHolder.Insertion
    }

    private struct State {
        var seen: Set<String> = []
        /// In an order in which what a record refers to comes before it.
        var found: [(name: String, referred: Referred)] = []
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

    private static func name<Target: StoredEntity>(_ collection: StorageCollection<Target>, _ id: String) -> String {
        "\(collection.domain)/\(collection.name)/\(id)"
    }

    /// Takes a record, once, and what it refers to in its turn.
    /// - Parameter isPending: Whether it is part of an older value: it does not replace what stands.
    func collect<Target: StoredEntity>(_ target: Target, _ id: String, isPending: Bool) throws {
        let collection = Target.collection
        let name = Self.name(collection, id)
        guard state.withLock({ $0.seen.insert(name).inserted }) else { return }
        let key = collection.key(id)
        // What it refers to comes before it.
        _ = try encoding(target, key.serializer)
        let referred = Referred(
            target: target, set: { $0.set(target, for: key, isInsertion: isPending) },
            insert: { try await $0.insert(target, key, of: collection, for: $1) })
        state.withLock { $0.found.append((name, referred)) }
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
