/// The keys of one part of a program: what a sweep visits and an audit lists.
public protocol StorageKeyCatalog: Sendable {
    /// The catalog's name, which is persisted: keep it when the type is renamed. Defaults to the type's name.
    var id: String { get }

    /// The part of the program that answers for keys that name no owner themselves. Defaults to ``id``.
    var owner: String { get }

    /// Every key of this part of the program.
    var allKeys: [AnyStorageKey] { get }

    /// Keys that this part of the program does not use any more, and that no migration reads: what their places still hold is a row of its own in reports and audits.
    /// Nothing is removed from there. Defaults to none.
    var retiredKeys: [AnyStorageKey] { get }

    /// The least protection that each key must have; a catalog with a weaker key is refused. Defaults to plain.
    var minimumProtection: ProtectionLevel { get }

    /// The shape of what the keys store, for ``StorageRouter/registerCatalog(_:migrationPolicy:configuration:)``. Defaults to none.
    var schema: CatalogSchema? { get }
}

extension StorageKeyCatalog {
    /// The name of the catalog's type.
    public var id: String { String(describing: Self.self) }
    /// The id.
    public var owner: String { id }
    /// None.
    public var retiredKeys: [AnyStorageKey] { [] }
    /// No demands.
    public var minimumProtection: ProtectionLevel { .plain }
    /// No declared schema.
    public var schema: CatalogSchema? { nil }
}
