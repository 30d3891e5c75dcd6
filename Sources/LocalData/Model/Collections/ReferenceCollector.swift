import BackendContract
import Synchronization

/// Collects the records inside the references of a value while the value is encoded.
final class ReferenceCollector: Sendable {
    @TaskLocal static var current: ReferenceCollector?

    /// The identity of a record. Names are compared byte by byte, as stores compare them.
    private struct Name: Hashable {
        let domain: StorageDomain
        let address: StorageAddress
    }

    /// A record that is not encoded yet. Such records are kept in a list and encoded one after the other. Encoding them
    /// recursively would overflow the stack on a long chain of references.
    private struct Met: Sendable {
        let name: Name
        let encode: @Sendable () throws -> [UInt8]
        let referred: @Sendable (_ bytes: [UInt8]) -> any ReferredRecord
    }

    private struct State {
        /// The encoded bytes of each record; nil until it is encoded.
        var seen: [Name: [UInt8]?] = [:]
        /// The bytes of records that were found again, if they differ from the bytes in ``seen``.
        var again: [(name: Name, bytes: [UInt8])] = []
        /// The records that are not encoded yet, in the order in which they were found.
        var met: [Met] = []
        /// The encoded records. Each one comes after the records that it refers to.
        var found: [(name: Name, referred: any ReferredRecord)] = []
    }

    private let state = Mutex(State())
    /// Whether this object collects records during a schema evolution, in which the steps of a chain convert a stored
    /// value of an earlier version. A step may create a reference to a record that is not stored yet. So references
    /// that are created during the conversion return this record, see `StorageReference.pending`.
    let isOfChain: Bool

    init(isOfChain: Bool = false) { self.isOfChain = isOfChain }

    var isEmpty: Bool { state.withLock { $0.found.isEmpty && $0.met.isEmpty } }
    var found: [any ReferredRecord] { state.withLock { $0.found.map(\.referred) } }

    /// Whether one record was found with different contents. ``found`` contains only the first of them.
    var hasOtherStates: Bool { state.withLock { state in state.again.contains { state.seen[$0.name] != $0.bytes } } }

    private static func name<Target: StoredEntity>(_ collection: StorageCollection<Target>, _ id: String) -> Name {
        Name(domain: collection.domain, address: StorageAddress(id, in: collection.namespace))
    }

    /// Adds a record. ``encodeMet()`` encodes it later, together with the records that it refers to.
    /// - Parameter isPending: Whether the record comes from a value of an earlier schema version that is converted, but
    ///   not rewritten yet. Such a record never replaces a stored record.
    func collect<Target: StoredEntity>(_ target: Target, _ id: String, isPending: Bool) {
        let collection = Target.collection
        let key = collection.key(id)
        let met = Met(name: Self.name(collection, id), encode: { Array(try key.serializer.encode(target)) }) { bytes in
            Referred(target: target, key: key, bytes: bytes, isPending: isPending)
        }
        state.withLock { $0.met.append(met) }
    }

    /// Encodes a value with its serializer, and collects the records to which the value refers.
    func encoding<Value>(_ value: Value, _ serializer: Serializer<Value>) throws -> [UInt8] {
        let bytes = try Self.$current.withValue(self) { Array(try serializer.encode(value)) }
        try encodeMet()
        return bytes
    }

    private enum Step {
        case enter(Met)
        case leave(Name, any ReferredRecord)
    }

    /// Encodes the collected records, and the records that they refer to.
    func encodeMet() throws {
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
                open.append(.leave(met.name, met.referred(bytes)))
                open += takeMet()
            case .leave(let name, let referred): state.withLock { $0.found.append((name, referred)) }
            }
        }
    }

    /// Returns the collected record with an id; nil if no record with this id was collected.
    func target<Target: StoredEntity>(_ type: Target.Type, _ id: String) throws -> Target? {
        if isEmpty { return nil }
        try encodeMet()
        let name = Self.name(Target.collection, id)
        return state.withLock { $0.found }.first { $0.name == name }?.referred.target as? Target
    }
}

/// A collected record with its type erased. `Referred` is the only conforming type.
protocol ReferredRecord: Sendable {
    associatedtype Target: StoredEntity
    var target: Target { get }
    var key: StorageKey<Target> { get }
    var bytes: [UInt8] { get }
    var isPending: Bool { get }
}

/// An encoded record that a reference contains.
struct Referred<Target: StoredEntity>: ReferredRecord {
    let target: Target
    let key: StorageKey<Target>
    /// The output of the serializer for the record.
    let bytes: [UInt8]
    /// Whether the record comes from a value of an earlier schema version that is converted, but not rewritten yet.
    /// Such a record is only written to an empty slot.
    let isPending: Bool
}
