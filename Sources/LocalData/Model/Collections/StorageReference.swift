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
/// written: in the same commit, where both are in one store, and else before it. A record that a call writes replaces the stored one; a record that a migration or a step of a chain made
/// is stored where there is no such record yet.
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
        /// Whether a step of a chain made the reference: until the older value is rewritten, the record may be nowhere else.
        let isOfChain = ReferenceCollector.current?.isOfChain == true
        init(_ target: Target) { self.target = target }
    }

    /// The record, where it is part of an older value that was read and not yet written in its new shape.
    var pending: Target? { box.flatMap { $0.isOfChain ? $0.target : nil } }

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
        // Between two steps of a chain a value may have been written and read again.
        box = try ReferenceCollector.current?.target(Target.self, id).map(Box.init)
    }

    /// Writes the id. The record goes to whoever is collecting what a value refers to.
    public func encode(to encoder: any Encoder) throws {
        if let target = box?.target { ReferenceCollector.current?.collect(target, id, isPending: pending != nil) }
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
