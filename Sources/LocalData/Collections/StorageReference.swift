import BackendContract
internal import Foundation

/// A type whose values are stored once, in a collection of their own, and referred to by id from wherever they belong.
public protocol StoredEntity: Codable, Sendable, Identifiable where ID: Sendable {
    /// Where the values are stored.
    static var collection: StorageCollection<Self> { get }
}

/// A property that refers to a record of another collection.
///
/// Only the id is stored in its place. A reference that was made of a record stores that record too, in its own collection, when the value that holds the reference is
/// set: in the same commit, where both are in one store.
///
/// ```swift
/// var brother: StorageReference<Person>?
/// let brother = try await router.resolve(sam.brother)
/// ```
public struct StorageReference<Target: StoredEntity>: Codable, Sendable {
    /// The id of the record.
    public let id: String
    /// The record, where the reference was made of it and not read; in a box, since a record may refer to records of its own type.
    private let box: Box?

    private final class Box: Sendable {
        let target: Target
        init(_ target: Target) { self.target = target }
    }

    /// Refers to a record, which is stored together with what holds the reference.
    public init(_ target: Target) {
        id = StorageCollection<Target>.text(of: target.id)
        box = Box(target)
    }

    /// Refers to a record that is stored already, or will be.
    public init(id: Target.ID) {
        self.id = StorageCollection<Target>.text(of: id)
        box = nil
    }

    /// Reads an id.
    public init(from decoder: any Decoder) throws {
        id = try decoder.singleValueContainer().decode(String.self)
        box = nil
    }

    /// Writes the id. The record goes to whoever is collecting what a value refers to.
    public func encode(to encoder: any Encoder) throws {
        if let target = box?.target { try ReferenceCollector.current?.collect(target, id) }
        var container = encoder.singleValueContainer()
        try container.encode(id)
    }
}

extension StorageReference: Hashable {
    /// Whether two references lead to the same record.
    public static func == (left: Self, right: Self) -> Bool { left.id == right.id }
    /// Feeds the id into a hasher.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// What a value refers to, gathered while it is encoded. It belongs to one call on one thread.
final class ReferenceCollector: @unchecked Sendable {
    // `@unchecked Sendable`: a task-local value has to be; only the synchronous call that made it, and what it calls, see it.
    @TaskLocal static var current: ReferenceCollector?

    private var seen: Set<String> = []
    private(set) var changes: [@Sendable (inout StorageBatch) -> Void] = []

    /// Takes a record, once, and what it refers to in its turn.
    func collect<Target: StoredEntity>(_ target: Target, _ id: String) throws {
        let collection = Target.collection
        guard seen.insert("\(collection.domain)/\(collection.name)/\(id)").inserted else { return }
        // What it refers to comes before it.
        try walk(target, collection.template.serializer)
        changes.append { $0.set(target, for: collection.key(id)) }
    }

    /// Gathers what a value refers to, as its serializer comes upon it.
    func walk<Value>(_ value: Value, _ serializer: Serializer<Value>) throws {
        _ = try Self.$current.withValue(self) { try serializer.encode(value) }
    }
}
