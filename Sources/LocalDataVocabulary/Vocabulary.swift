// The words of migration plans under their bare names. They are a module of their own, since names as general as these meet those of other packages.
@_exported public import LocalData

/// A new entity: see ``SchemaPlan/AddEntity``.
public typealias AddEntity = SchemaPlan.AddEntity
/// A change of an entity's attributes: see ``SchemaPlan/UpdateEntity``.
public typealias UpdateEntity = SchemaPlan.UpdateEntity
/// A second entity with the records of one: see ``SchemaPlan/CopyEntity``.
public typealias CopyEntity = SchemaPlan.CopyEntity
/// Another name for an entity: see ``SchemaPlan/RenameEntity``.
public typealias RenameEntity = SchemaPlan.RenameEntity
/// The end of an entity: see ``SchemaPlan/RemoveEntity``.
public typealias RemoveEntity = SchemaPlan.RemoveEntity
/// A new attribute: see ``SchemaPlan/AddAttribute``.
public typealias AddAttribute = SchemaPlan.AddAttribute
/// A changed attribute: see ``SchemaPlan/UpdateAttribute``.
public typealias UpdateAttribute = SchemaPlan.UpdateAttribute
/// The end of an attribute: see ``SchemaPlan/RemoveAttribute``.
public typealias RemoveAttribute = SchemaPlan.RemoveAttribute
/// The step that leads to a version: see ``SchemaPlan/ModelMigration``.
public typealias ModelMigration = SchemaPlan.ModelMigration
/// A step straight to a later version: see ``SchemaPlan/AdHocMigration``.
public typealias AdHocMigration = SchemaPlan.AdHocMigration
/// The versions of a catalog: see ``SchemaPlan/MigrationChain``.
public typealias MigrationChain = SchemaPlan.MigrationChain
/// How stored data come to the declared version: see ``StorageMigrationPolicy``.
public typealias MigrationPolicy = StorageMigrationPolicy
/// A policy of one's own: see ``StorageMigrationPolicyProtocol``.
public typealias MigrationPolicyProtocol = StorageMigrationPolicyProtocol
