import Foundation
import LocalData
import LocalDataPlans

/// Samples of migration plans. They are compiled, and not run.
enum PlanSamples {
    static func statements() -> SchemaPlan.ModelMigration {
        let step = SchemaPlan.ModelMigration("V2") {
            SchemaPlan.UpdateEntity("notes") {
                SchemaPlan.AddAttribute("stars", attributeType: .integer, default: 0)
                SchemaPlan.RemoveAttribute("draft")
            }
        }
        return step
    }

    static func entities() -> [SchemaPlan.ModelMigration] {
        let first = SchemaPlan.ModelMigration("V1") {
            SchemaPlan.AddEntity("notes", in: .encryptedSQLite(database: "main")) {
                SchemaPlan.AddAttribute("id", attributeType: .string)
                SchemaPlan.AddAttribute("title", attributeType: .string)
            }
        }
        let second = SchemaPlan.ModelMigration("V2") {
            SchemaPlan.UpdateEntity("notes") {
                SchemaPlan.UpdateAttribute("title", to: "heading")
                SchemaPlan.AddAttribute("stars", attributeType: .integer, default: 0)
            }
        }
        let inferred = SchemaPlan.ModelMigration("V2", stage: .lightweight) {  // refused if a change cannot be inferred
            SchemaPlan.UpdateEntity("notes") { SchemaPlan.AddAttribute("color", attributeType: .string, optional: true) }
        }
        let old = SchemaPlan.RemoveEntity("theme", in: .userDefaults, as: .key)  // no registered key has this name any more
        print(inferred, old)
        let third = SchemaPlan.ModelMigration("V3") { SchemaPlan.CopyEntity("notes", to: "archive") }
        let fourth = SchemaPlan.ModelMigration("V4") { SchemaPlan.RenameEntity("notes", to: "pages") }
        let fifth = SchemaPlan.ModelMigration("V5") { SchemaPlan.RemoveEntity("archive") }  // its records become backups
        return [first, second, third, fourth, fifth]
    }

    static func attributes() -> [SchemaPlan.UpdateEntity] {
        let update = SchemaPlan.UpdateEntity("notes") {
            SchemaPlan.AddAttribute("color", attributeType: .string, optional: true)
            SchemaPlan.AddAttribute("length", attributeType: .integer) { old in
                .integer(Int64(old["text"]?.string?.count ?? 0))  // computed from the record before the step
            }
        }
        let identified = SchemaPlan.UpdateEntity("notes") {
            SchemaPlan.AddAttribute("token", attributeType: .uuid) { old, context in
                .string(context.identity.uuidString)  // the same in every run
            }
        }
        let converted = SchemaPlan.UpdateEntity("notes") {
            SchemaPlan.UpdateAttribute("stars", attributeType: .integer)  // the step fails if a text is no number
            SchemaPlan.UpdateAttribute("title", to: "heading", optional: false, default: "Untitled")
        }
        let shortened = SchemaPlan.UpdateEntity("notes") {
            SchemaPlan.UpdateAttribute("title") { value in .string(String((value?.string ?? "").prefix(80))) }
        }
        let smaller = SchemaPlan.UpdateEntity("notes") { SchemaPlan.RemoveAttribute("draft") }
        return [update, identified, converted, shortened, smaller]
    }

    static func steps(_ first: SchemaPlan.ModelMigration, _ second: SchemaPlan.ModelMigration) -> [SchemaPlan.Policy] {
        let step = SchemaPlan.ModelMigration(
            "V2", didMigrate: { storage in print(try await storage.count(in: notes), "notes were migrated") }
        ) {
            SchemaPlan.UpdateEntity("notes") { SchemaPlan.AddAttribute("stars", attributeType: .integer, default: 0) }
        }
        let shortcut = SchemaPlan.AdHocMigration(from: "V1", to: "V3") {
            SchemaPlan.UpdateEntity("notes") { SchemaPlan.UpdateAttribute("name", to: "heading") }
        }
        let chain = SchemaPlan.MigrationChain {
            first  // describes the version at which the chain begins
            second  // leads from the first version to the second one
        }
        let inferred = SchemaPlan.Policy.lightweight
        let direct = SchemaPlan.Policy.adHoc(migrations: [shortcut], lightWeightBackup: true)
        let incremental = SchemaPlan.Policy.incremental(chain)
        let composite = SchemaPlan.Policy.composite(adHoc: [shortcut], chain: chain)
        print(step)
        return [inferred, direct, incremental, composite]
    }

    static func register(_ storage: StorageRouter, _ catalog: AppKeys, _ chain: SchemaPlan.MigrationChain) async throws {
        do {
            let result = try await storage.registerCatalog(catalog, migrationPolicy: .incremental(chain))
            for step in result.plan.steps { print("\(step.from ?? "no version") -> \(step.to): \(step.records) records") }
            try result.sweep.requireComplete()
        } catch StorageError.incompatibleSchema {
            print("A later version of the program has migrated the data. Nothing was changed.")
        }
        let plan = try await storage.planRegistration(of: catalog, migrationPolicy: .incremental(chain))
        print("\(plan.plan.steps.map(\.records).reduce(0, +)) records would change")
        if let problem = plan.plan.fallback { print("The plan failed, and the inferred changes replaced it: \(problem)") }
        print("\(plan.plan.from ?? "no version") -> \(plan.plan.to ?? "unknown")")
    }

    struct NewerOnly: StorageMigrationPolicy {
        struct TooOld: Error {}
        func validateModel(_ schema: CatalogSchema, in store: StoredSchema) -> Bool { store.version == schema.version }
        func configureStoreDescription(_ description: inout StorageMigrationDescription) { description.lightWeightBackup = true }
        func resolveIncompatible(dataModel: CatalogSchema, in store: StoredSchema) throws -> SchemaPlan.Policy {
            guard store.version != "V1" else { throw TooOld() }  // the router writes nothing, and passes the error to its caller
            return .lightweight
        }
    }

    static func custom(_ storage: StorageRouter, _ catalog: AppKeys) async throws {
        do { try await storage.registerCatalog(catalog, migrationPolicy: .custom(NewerOnly())) } catch is NewerOnly.TooOld {
            print("Start version 2 of the program once, and then this version.")
        }
    }

    static func description(_ description: inout StorageMigrationDescription) {
        description.lightWeightBackup = true  // infer the changes if no plan applies
        description.keepsRemovedEntities = false  // purge the records of removed entities
    }

    static func stored(_ store: StoredSchema) {
        if store.isEmpty { print("There is no data yet.") }
        print(store.version ?? "The entities have different versions: \(store.versions)")
    }
}
