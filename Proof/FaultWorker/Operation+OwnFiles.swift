import LocalData

/// Operations that change files of the library beside the stores: the mark of stores that are being forgotten, and the
/// list of witnesses, which record that a value exists.
extension Operation {
    static let ownFiles = [forgetDomain, forgetEverything, witness]

    private static let listed = Keys.text("listed", Keys.list)
    private static let sealed = Keys.text("sealed", Keys.list, .encrypted)
    private static let stored = Keys.text("stored", Keys.database)
    private static let kept = [listed, sealed, stored]

    private static let fill: Work = { stage in for key in kept { try await stage.router.set("old", for: key) } }

    /// Destroys a database, and not the list. If the program is killed, the next call completes that.
    private static let forgetDomain = Operation(
        name: "forget a domain", prepare: fill, act: { try await $0.router.forget(Keys.database) }, read: Keys.read(kept))

    private static let forgetEverything = Operation(
        name: "forget everything", prepare: fill,
        act: { stage in
            try await stage.router.registerCatalog(FaultCatalog(allKeys: kept.map { .key($0) }))
            try await stage.router.forgetEverything()
        }, read: Keys.read(kept))

    private static let witnessed = Keys.text("witnessed", Keys.database).witnessed()

    /// Stores the first value of a key with a witness. The witness must not be on the disk without the value.
    private static let witness = Operation(
        name: "witness", act: { try await $0.router.set("new", for: witnessed) }, read: Keys.read([witnessed]))
}
