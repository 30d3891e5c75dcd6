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

    /// Names are compared as stores compare them: byte by byte.
    private struct Name: Hashable {
        let domain: StorageDomain
        let address: StorageAddress
    }

    /// A record that was met and is still to be looked at. It is encoded by and by and not where it was met: a long row of records that refer to the next one would be as
    /// many calls within each other.
    private struct Met: Sendable {
        let name: Name
        let encode: @Sendable () throws -> [UInt8]
        let referred: Referred
    }

    private struct State {
        /// The bytes of each record; nil until it is encoded.
        var seen: [Name: [UInt8]?] = [:]
        /// The bytes of records that were met again.
        var again: [(name: Name, bytes: [UInt8])] = []
        /// Not yet looked at, in the order in which they were met.
        var met: [Met] = []
        /// In an order in which what a record refers to comes before it.
        var found: [(name: Name, referred: Referred)] = []
    }

    private let state = Mutex(State())
    /// Whether a chain is run meanwhile: references that are made then are made of parts of an older value.
    let isOfChain: Bool

    init(isOfChain: Bool = false) { self.isOfChain = isOfChain }

    var isEmpty: Bool { state.withLock { $0.found.isEmpty && $0.met.isEmpty } }
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
    /// - Parameter isPending: Whether it is part of an older value: it does not replace what stands.
    func collect<Target: StoredEntity>(_ target: Target, _ id: String, isPending: Bool) {
        let collection = Target.collection
        let key = collection.key(id)
        let referred = Referred(
            target: target, set: { $0.set(target, for: key, isInsertion: isPending) },
            insert: { try await $0.insert(target, key, of: collection, for: $1) })
        let met = Met(name: Self.name(collection, id), encode: { Array(try key.serializer.encode(target)) }, referred: referred)
        state.withLock { $0.met.append(met) }
    }

    /// The serializer's bytes of a value; what it refers to is gathered.
    func encoding<Value>(_ value: Value, _ serializer: Serializer<Value>) throws -> [UInt8] {
        let bytes = try Self.$current.withValue(self) { Array(try serializer.encode(value)) }
        try lookAround()
        return bytes
    }

    private enum Step {
        case enter(Met)
        case leave(Name, Referred)
    }

    /// Looks at what was met, and at what that refers to.
    private func lookAround() throws {
        func takeMet() -> [Step] {
            state.withLock { state in
                defer { state.met = [] }
                return state.met.reversed().map(Step.enter)
            }
        }
        var open = takeMet()
        while let step = open.popLast() {
            switch step {
            case .enter(let met):
                let isNew = state.withLock { state in
                    if state.seen.keys.contains(met.name) { return false }
                    state.seen.updateValue(nil, forKey: met.name)
                    return true
                }
                guard isNew else {
                    let bytes = try Self.$current.withValue(nil, operation: met.encode)
                    state.withLock { if $0.seen[met.name] != bytes { $0.again.append((met.name, bytes)) } }
                    continue
                }
                let bytes = try Self.$current.withValue(self, operation: met.encode)
                state.withLock { $0.seen[met.name] = bytes }
                open.append(.leave(met.name, met.referred))
                open += takeMet()
            case .leave(let name, let referred): state.withLock { $0.found.append((name, referred)) }
            }
        }
    }

    /// A record that was gathered before.
    func target<Target: StoredEntity>(_ type: Target.Type, _ id: String) throws -> Target? {
        if isEmpty { return nil }
        try lookAround()
        let name = Self.name(Target.collection, id)
        return state.withLock { $0.found }.first { $0.name == name }?.referred.target as? Target
    }
}
