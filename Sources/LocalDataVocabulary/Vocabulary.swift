// Short names for the statements of migration plans, without the prefix `SchemaPlan.`. They are a separate module,
// because such general names may collide with those of other packages.
@_exported public import LocalData
@_exported public import LocalDataPlans

/// Declares a new entity: see ``SchemaPlan/AddEntity``.
///
/// ```swift
/// let chain = MigrationChain {
///     ModelMigration("V1") { AddEntity("notes") { AddAttribute("name", attributeType: .string) } }
///     ModelMigration("V2") { UpdateEntity("notes") { UpdateAttribute("name", to: "title") } }
/// }
/// let policy = MigrationPolicy.incremental(chain)
/// ```
public typealias AddEntity = SchemaPlan.AddEntity
/// Changes the attributes of an entity: see ``SchemaPlan/UpdateEntity``.
///
/// ```swift
/// let chain = MigrationChain {
///     ModelMigration("V1") { AddEntity("notes") { AddAttribute("name", attributeType: .string) } }
///     ModelMigration("V2") { UpdateEntity("notes") { UpdateAttribute("name", to: "title") } }
/// }
/// let policy = MigrationPolicy.incremental(chain)
/// ```
public typealias UpdateEntity = SchemaPlan.UpdateEntity
/// Copies an entity with its records: see ``SchemaPlan/CopyEntity``.
///
/// ```swift
/// let step = ModelMigration("V3") {
///     CopyEntity("notes", to: "archive")
///     RenameEntity("notes", to: "pages")
///     RemoveEntity("drafts")
/// }
/// ```
public typealias CopyEntity = SchemaPlan.CopyEntity
/// Renames an entity: see ``SchemaPlan/RenameEntity``.
///
/// ```swift
/// let step = ModelMigration("V3") {
///     CopyEntity("notes", to: "archive")
///     RenameEntity("notes", to: "pages")
///     RemoveEntity("drafts")
/// }
/// ```
public typealias RenameEntity = SchemaPlan.RenameEntity
/// Removes an entity and its records: see ``SchemaPlan/RemoveEntity``.
///
/// ```swift
/// let step = ModelMigration("V3") {
///     CopyEntity("notes", to: "archive")
///     RenameEntity("notes", to: "pages")
///     RemoveEntity("drafts")
/// }
/// ```
public typealias RemoveEntity = SchemaPlan.RemoveEntity
/// Adds an attribute to an entity: see ``SchemaPlan/AddAttribute``.
///
/// ```swift
/// let chain = MigrationChain {
///     ModelMigration("V1") { AddEntity("notes") { AddAttribute("name", attributeType: .string) } }
///     ModelMigration("V2") { UpdateEntity("notes") { UpdateAttribute("name", to: "title") } }
/// }
/// let policy = MigrationPolicy.incremental(chain)
/// ```
public typealias AddAttribute = SchemaPlan.AddAttribute
/// Changes an attribute: see ``SchemaPlan/UpdateAttribute``.
///
/// ```swift
/// let chain = MigrationChain {
///     ModelMigration("V1") { AddEntity("notes") { AddAttribute("name", attributeType: .string) } }
///     ModelMigration("V2") { UpdateEntity("notes") { UpdateAttribute("name", to: "title") } }
/// }
/// let policy = MigrationPolicy.incremental(chain)
/// ```
public typealias UpdateAttribute = SchemaPlan.UpdateAttribute
/// Removes an attribute from every record: see ``SchemaPlan/RemoveAttribute``.
///
/// ```swift
/// let policy = MigrationPolicy.adHoc(migrations: [
///     AdHocMigration("V1") { UpdateEntity("notes") { RemoveAttribute("draft") } }
/// ])
/// ```
public typealias RemoveAttribute = SchemaPlan.RemoveAttribute
/// A step to the next version: see ``SchemaPlan/ModelMigration``.
///
/// ```swift
/// let chain = MigrationChain {
///     ModelMigration("V1") { AddEntity("notes") { AddAttribute("name", attributeType: .string) } }
///     ModelMigration("V2") { UpdateEntity("notes") { UpdateAttribute("name", to: "title") } }
/// }
/// let policy = MigrationPolicy.incremental(chain)
/// ```
public typealias ModelMigration = SchemaPlan.ModelMigration
/// A step directly to a later version: see ``SchemaPlan/AdHocMigration``.
///
/// ```swift
/// let policy = MigrationPolicy.adHoc(migrations: [
///     AdHocMigration("V1") { UpdateEntity("notes") { RemoveAttribute("draft") } }
/// ])
/// ```
public typealias AdHocMigration = SchemaPlan.AdHocMigration
/// The versions of a catalog: see ``SchemaPlan/MigrationChain``.
///
/// ```swift
/// let chain = MigrationChain {
///     ModelMigration("V1") { AddEntity("notes") { AddAttribute("name", attributeType: .string) } }
///     ModelMigration("V2") { UpdateEntity("notes") { UpdateAttribute("name", to: "title") } }
/// }
/// let policy = MigrationPolicy.incremental(chain)
/// ```
public typealias MigrationChain = SchemaPlan.MigrationChain
/// The way in which stored data reaches the declared version: see ``SchemaPlan/Policy``.
///
/// ```swift
/// let chain = MigrationChain {
///     ModelMigration("V1") { AddEntity("notes") { AddAttribute("name", attributeType: .string) } }
///     ModelMigration("V2") { UpdateEntity("notes") { UpdateAttribute("name", to: "title") } }
/// }
/// let policy = MigrationPolicy.incremental(chain)
/// ```
public typealias MigrationPolicy = SchemaPlan.Policy
