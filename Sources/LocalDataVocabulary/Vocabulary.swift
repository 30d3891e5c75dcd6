// Short names for the statements of migration plans, without the prefix `SchemaPlan.`. They are a separate module,
// because such general names may collide with those of other packages.
@_exported public import LocalData
@_exported public import LocalDataPlans

/// A new entity: see ``SchemaPlan/AddEntity``.
public typealias AddEntity = SchemaPlan.AddEntity
/// A change of an entity's attributes: see ``SchemaPlan/UpdateEntity``.
public typealias UpdateEntity = SchemaPlan.UpdateEntity
/// A copy of an entity with its records: see ``SchemaPlan/CopyEntity``.
public typealias CopyEntity = SchemaPlan.CopyEntity
/// A new name for an entity: see ``SchemaPlan/RenameEntity``.
public typealias RenameEntity = SchemaPlan.RenameEntity
/// The removal of an entity: see ``SchemaPlan/RemoveEntity``.
public typealias RemoveEntity = SchemaPlan.RemoveEntity
/// A new attribute: see ``SchemaPlan/AddAttribute``.
public typealias AddAttribute = SchemaPlan.AddAttribute
/// A changed attribute: see ``SchemaPlan/UpdateAttribute``.
public typealias UpdateAttribute = SchemaPlan.UpdateAttribute
/// The removal of an attribute: see ``SchemaPlan/RemoveAttribute``.
public typealias RemoveAttribute = SchemaPlan.RemoveAttribute
/// A step to the next version: see ``SchemaPlan/ModelMigration``.
public typealias ModelMigration = SchemaPlan.ModelMigration
/// A step directly to a later version: see ``SchemaPlan/AdHocMigration``.
public typealias AdHocMigration = SchemaPlan.AdHocMigration
/// The versions of a catalog: see ``SchemaPlan/MigrationChain``.
public typealias MigrationChain = SchemaPlan.MigrationChain
/// How stored data reaches the declared version: see ``SchemaPlan/Policy``.
public typealias MigrationPolicy = SchemaPlan.Policy
