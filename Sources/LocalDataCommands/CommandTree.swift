import ArgumentParser

/// The commands, in groups for the help. The tool and a mounted ``StorageCommand`` have the same ones.
enum CommandTree<Options: StorageOptions> {
    static var groups: [CommandGroup] {
        [
            CommandGroup(
                name: "Values",
                subcommands: [
                    List<Options>.self, Get<Options>.self, Set<Options>.self, Remove<Options>.self, Records<Options>.self,
                    Forget<Options>.self,
                ]),
            CommandGroup(name: "State", subcommands: [Status<Options>.self, Unlock<Options>.self, Verify<Options>.self]),
            CommandGroup(
                name: "Migration", subcommands: [Plan<Options>.self, Migrate<Options>.self, Audit<Options>.self, Windows<Options>.self]),
            CommandGroup(
                name: "Copies", subcommands: [Backup<Options>.self, Restore<Options>.self, Export<Options>.self, Import<Options>.self]),
            CommandGroup(name: "Keys", subcommands: [Keys<Options>.self]),
            CommandGroup(name: "Damage", subcommands: [Damaged<Options>.self, Quarantine<Options>.self]),
        ]
    }
}
