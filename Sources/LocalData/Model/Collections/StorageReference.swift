import BackendContract
internal import Foundation

/// A type whose values are stored once, in one collection, so that other values can refer to them by id.
///
/// Conform to it if several values contain the same record, such as the author of many notes. Then use a
/// ``StorageReference`` for the property.
///
/// ```swift
/// struct Tag: StoredEntity {
///     var id: String
///     var color: String
///
///     static let collection = StorageCollection<Tag>("tags", domain: .encryptedSQLite(database: "editor"))
/// }
/// ```
public protocol StoredEntity: Codable, Sendable, Identifiable where ID: Sendable {
    /// The collection that stores the values.
    static var collection: StorageCollection<Self> { get }
}

/// A property that refers to a record of another collection, instead of a copy of the record.
///
/// The reference is encoded as the id of the record. A reference that was created with ``init(_:)`` also contains the
/// record. When the router writes a value with such a reference, it also stores the record in the record's collection.
/// If one store holds the value and the record, and can commit both at once, it does. Otherwise the record is written
/// first.
///
/// If the program writes a value, the records in its references replace the stored records of the same ids. A record
/// that a migration or a step of a schema evolution created replaces nothing. It is only stored if its collection has
/// no record of that id. The removal of a value does not remove the records in its references.
///
/// ```swift
/// let jon = Person(id: UUID(), name: "Jon")
/// let sam = Person(id: UUID(), name: "Sam", brother: StorageReference(jon))
/// try await storage.set(sam, in: Person.collection)  // stores Jon too
/// do {
///     if let brother = sam.brother { show(try await storage.resolve(brother).name) }
/// } catch StorageError.notFound {
///     show("The brother was removed.")
/// }
/// ```
public struct StorageReference<Target: StoredEntity>: Codable, Sendable {
    /// The id of the record.
    public let id: String
    /// Holds the record; nil if the reference was decoded or created from an id. It is a class, because a record may
    /// contain references to its own type.
    private let box: Box?

    private final class Box: Sendable {
        let target: Target
        /// Whether a step of a schema evolution created the reference, from a value of an earlier version. Until the
        /// converted value is written, the record may exist only in this reference.
        let isOfChain = ReferenceCollector.current?.isOfChain == true
        init(_ target: Target) { self.target = target }
    }

    /// The record, if a step of a schema evolution created it from an older value that is not rewritten yet; otherwise
    /// nil.
    var pending: Target? { box.flatMap { $0.isOfChain ? $0.target : nil } }

    /// Creates a reference to a record. The record is stored together with the value that contains the reference.
    ///
    /// ```swift
    /// let note = Note(id: UUID(), title: "Groceries", author: StorageReference(jon))
    /// try await storage.set(note, in: notes)  // one commit, because notes and people are in one database
    /// ```
    public init(_ target: Target) {
        id = StorageCollection<Target>.text(of: target.id)
        box = Box(target)
    }

    /// Creates a reference to a record that is stored separately.
    ///
    /// ```swift
    /// let draft = Note(id: UUID(), title: "Draft", author: StorageReference(id: samID))  // Sam is not changed
    /// ```
    public init(id: Target.ID) {
        self.id = StorageCollection<Target>.text(of: id)
        box = nil
    }

    /// Decodes an id.
    public init(from decoder: any Decoder) throws {
        id = try decoder.singleValueContainer().decode(String.self)
        // A step of a schema evolution may have created the reference with a record. If the value was encoded for the
        // next step, the collector still has that record.
        box = try ReferenceCollector.current?.target(Target.self, id).map(Box.init)
    }

    /// Encodes the id. While the router encodes a value, this also passes the record in the reference to the router.
    public func encode(to encoder: any Encoder) throws {
        if let target = box?.target { ReferenceCollector.current?.collect(target, id, isPending: pending != nil) }
        var container = encoder.singleValueContainer()
        try container.encode(id)
    }
}

extension StorageReference: Hashable {
    /// Returns whether two references have the same id.
    public static func == (left: Self, right: Self) -> Bool { left.id == right.id }
    /// Hashes the id.
    public func hash(into hasher: inout Hasher) { hasher.combine(id) }
}
