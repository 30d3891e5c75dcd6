import LocalData

/// Operations on single values that do not move.
extension Operation {
    static let values = inPlace(Keys.list) + inPlace(Keys.database) + [sealed, sealedAgain, expiry]

    /// The operations on plain values of one store, a property list or a database.
    private static func inPlace(_ domain: StorageDomain) -> [Operation] {
        let place = domain == Keys.list ? "list" : "database"
        let (first, second, third) = (Keys.text("first", domain), Keys.text("second", domain), Keys.text("third", domain))
        let fill: Work = { stage in
            try await stage.router.set("old", for: first)
            try await stage.router.set("old", for: second)
        }
        let read = Keys.read([first, second, third])
        return [
            Operation(name: "\(place): first set", act: { try await $0.router.set("new", for: first) }, read: read),
            Operation(name: "\(place): set", prepare: fill, act: { try await $0.router.set("new", for: first) }, read: read),
            Operation(
                name: "\(place): update", prepare: fill,
                act: { stage in
                    try await stage.router.update(first) { value in value = value?.hasSuffix("+") == true ? value : (value ?? "") + "+" }
                }, read: read),
            Operation(name: "\(place): remove", prepare: fill, act: { try await $0.router.remove(first) }, read: read),
            Operation(
                name: "\(place): batch", prepare: fill,
                act: { stage in
                    try await stage.router.batch { batch in
                        batch.set("new", for: first)
                        batch.remove(second)
                        batch.set("new", for: third)
                    }
                }, read: read),
            Operation(
                name: "\(place): first batch",
                act: { stage in try await stage.router.batch { for key in [first, second, third] { $0.set("new", for: key) } } },
                read: read),
            Operation(
                name: "\(place): close", prepare: fill,
                act: { stage in
                    try await stage.router.set("new", for: first)
                    try await stage.close()
                }, read: read),
        ]
    }

    private static let secret = Keys.text("secret", Keys.list, .encrypted)

    /// Stores the first sealed (encrypted) value of a property list. This also creates the key.
    private static let sealed = Operation(
        name: "list: first sealed value", act: { try await $0.router.set("new", for: secret) }, read: Keys.read([secret]))

    private static let sealedAgain = Operation(
        name: "list: sealed value", prepare: { try await $0.router.set("old", for: secret) },
        act: { try await $0.router.set("new", for: secret) }, read: Keys.read([secret]))

    /// A sweep, which migrates and purges values, meets expired values. Then new values are set with another lifetime.
    private static let expiry: Operation = {
        let keys = [Keys.text("session", Keys.database), Keys.text("draft", Keys.list)]
        return Operation(
            name: "expiry", isAtomic: false,
            prepare: { stage in
                for key in keys { try await stage.router.set("old", for: key, lifetime: .milliseconds(1)) }
                try await Task.sleep(for: .milliseconds(5))
            },
            act: { stage in
                try await stage.router.registerCatalog(FaultCatalog(allKeys: keys.map { .key($0) }), migrateImmediately: true)
                    .requireComplete()
                for key in keys { try await stage.router.set("new", for: key, lifetime: .seconds(100_000)) }
            }, read: Keys.read(keys), keys: keys.map { .key($0) })
    }()
}
