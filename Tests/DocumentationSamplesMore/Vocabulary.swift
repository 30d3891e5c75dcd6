import LocalDataVocabulary

/// Samples of the short names of statements. They are compiled, and not run.
enum VocabularySamples {
    static func chain() -> MigrationPolicy {
        let chain = MigrationChain {
            ModelMigration("V1") { AddEntity("notes") { AddAttribute("name", attributeType: .string) } }
            ModelMigration("V2") { UpdateEntity("notes") { UpdateAttribute("name", to: "title") } }
        }
        let policy = MigrationPolicy.incremental(chain)
        return policy
    }

    static func entities() -> ModelMigration {
        let step = ModelMigration("V3") {
            CopyEntity("notes", to: "archive")
            RenameEntity("notes", to: "pages")
            RemoveEntity("drafts")
        }
        return step
    }

    static func adHoc() -> MigrationPolicy {
        let policy = MigrationPolicy.adHoc(migrations: [
            AdHocMigration("V1") { UpdateEntity("notes") { RemoveAttribute("draft") } }
        ])
        return policy
    }
}
