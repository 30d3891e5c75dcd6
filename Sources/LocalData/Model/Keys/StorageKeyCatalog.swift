/// Lists the keys and collections of one part of a program.
///
/// Register each catalog at launch with ``StorageRouter/registerCatalog(_:migrateImmediately:)``. A sweep then migrates
/// and converts all values, and an audit lists them. The router refuses a catalog with a problem, such as two keys of
/// one slot, before it reads anything.
///
/// ```swift
/// struct AppKeys: StorageKeyCatalog {
///     var allKeys: [AnyStorageKey] { [.key(.width), .key(.title), .key(.apiToken), .collection(notes)] }
/// }
/// ```
public protocol StorageKeyCatalog: Sendable {
    /// The catalog's name, which is persisted. Do not change it when you rename the type. By default it is the type's
    /// name.
    ///
    /// ```swift
    /// struct WeatherKeys: StorageKeyCatalog {
    ///     var id: String { "AppKeys" }  // the name of the type in release 1
    ///     var allKeys: [AnyStorageKey] { [.key(.width)] }
    /// }
    /// ```
    var id: String { get }

    /// The part of the program that is responsible for keys without an owner. By default it is ``id``.
    var owner: String { get }

    /// Every key of this part of the program.
    var allKeys: [AnyStorageKey] { get }

    /// Keys that this part of the program no longer uses, and that no migration reads. By default there are none.
    ///
    /// If the slot of a retired key still contains data, reports and audits have a row for it. The data is not removed.
    ///
    /// ```swift
    /// struct AppKeys: StorageKeyCatalog {
    ///     var allKeys: [AnyStorageKey] { [.key(.width)] }
    ///     var retiredKeys: [AnyStorageKey] { [.key(.legacyTitle)] }
    /// }
    /// ```
    var retiredKeys: [AnyStorageKey] { get }

    /// The least protection that each key must have. The router refuses a catalog that has a key with less protection.
    /// By default every protection is accepted.
    ///
    /// ```swift
    /// struct Secrets: StorageKeyCatalog {
    ///     var allKeys: [AnyStorageKey] { [.key(.apiToken)] }
    ///     var minimumProtection: ProtectionLevel { .keychain }  // a key in plain user defaults refuses the catalog
    /// }
    /// ```
    var minimumProtection: ProtectionLevel { get }

    /// The schema of the stored values, for `registerCatalog(_:migrationPolicy:configuration:)` of `LocalDataPlans`. By
    /// default there is none.
    var schema: CatalogSchema? { get }
}

extension StorageKeyCatalog {
    /// The name of the catalog's type.
    public var id: String { String(describing: Self.self) }
    /// The catalog's id.
    public var owner: String { id }
    /// No retired keys.
    public var retiredKeys: [AnyStorageKey] { [] }
    /// No required protection.
    public var minimumProtection: ProtectionLevel { .plain }
    /// No declared schema.
    public var schema: CatalogSchema? { nil }
}
