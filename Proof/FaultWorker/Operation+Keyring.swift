import LocalData

/// Operations on values in a real keyring.
extension Operation {
    static let keyring: [Operation] = {
        #if Keyring && os(Linux)
            return made
        #else
            return []
        #endif
    }()

    private static let made: [Operation] = {
        let first = Keys.text("first", Keys.keyring)
        let sealed = Keys.text("sealed", Keys.ringed)
        let read = Keys.read([first])
        var operations = [
            Operation(
                name: "keyring: set", prepare: { try await $0.router.set("old", for: first) },
                act: { try await $0.router.set("new", for: first) }, read: read),
            Operation(
                name: "keyring: remove", prepare: { try await $0.router.set("old", for: first) },
                act: { try await $0.router.remove(first) }, read: read),
            lazy("list to keyring", from: Keys.list, to: Keys.keyring),
            lazy("keyring to database", from: Keys.keyring, to: Keys.database, options: MigrationOptions(allowsWeakerProtection: true)),
            Operation(
                name: "database under a key in the keyring: first set", act: { try await $0.router.set("new", for: sealed) },
                read: Keys.read([sealed])),
        ]
        for index in operations.indices { operations[index].usesKeyring = true }
        return operations
    }()
}
