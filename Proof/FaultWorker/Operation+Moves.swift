import Foundation
import LocalData

/// Operations on values that move from a legacy location, in which an older program stored them, to their destination.
extension Operation {
    static let moves = [
        lazy("list to database", from: Keys.list, to: Keys.database),
        lazy("database to database", from: Keys.database, to: Keys.other),
        lazy("list to sealed list", from: Keys.list, to: .userDefaults(suite: "modern"), .encrypted),
        sweep, changeOfAMovingValue, conflict, purge, openWindow, endOfWindow,
    ]

    static func lazy(
        _ name: String, from source: StorageDomain, to destination: StorageDomain, _ security: SecurityPolicy = .automatic,
        options: MigrationOptions = MigrationOptions()
    ) -> Operation {
        let older = Keys.text("old", source)
        let key = Keys.text("new", destination, security).moved(from: older, options: options)
        return Operation(
            name: "lazy get: \(name)", prepare: { try await $0.router.set("value", for: older) }, act: { _ = try await $0.router.get(key) },
            read: Keys.read([key]), keys: [.key(key)], older: [older])
    }

    /// A sweep, which migrates all keys, moves twelve values from a property list into a database.
    private static let sweep: Operation = {
        let older = (0..<12).map { Keys.text("old-\($0)", Keys.list) }
        let keys = older.map { Keys.text("new-\($0.name)", Keys.database).moved(from: $0) }
        return Operation(
            name: "sweep of 12 keys", isAtomic: false,
            prepare: { stage in for key in older { try await stage.router.set("value of \(key.name)", for: key) } },
            act: { stage in
                try await stage.router.registerCatalog(FaultCatalog(allKeys: keys.map { .key($0) }), migrateImmediately: true)
                    .requireComplete()
            }, read: Keys.read(keys), keys: keys.map { .key($0) }, older: older)
    }()

    private static let pending = Keys.text("old", Keys.list)
    private static let destination = Keys.text("new", Keys.database)
    private static let moving = destination.moved(from: pending)

    private static let changeOfAMovingValue = Operation(
        name: "set over a pending value", prepare: { try await $0.router.set("old", for: pending) },
        act: { try await $0.router.set("new", for: moving) }, read: Keys.read([moving]), keys: [.key(moving)], older: [pending])

    /// Stores different values in the destination and in the legacy location. A sweep then moves the legacy value into
    /// the quarantine, the store for displaced values that no user has reviewed.
    private static let conflictBegins: Work = { stage in
        try await stage.router.set("mine", for: destination)
        try await stage.router.set("theirs", for: pending)
    }

    private static let conflict = Operation(
        name: "quarantine", isAtomic: false, prepare: conflictBegins,
        act: { stage in
            let report = try await stage.router.registerCatalog(FaultCatalog(allKeys: [.key(moving)]), migrateImmediately: true)
            try report.requireComplete()
        },
        read: { stage in
            // No user has reviewed the legacy value. So it must still be in the legacy location, or in quarantine.
            let kept = try await stage.router.quarantine.values().count
            let waiting = try await stage.router.value(for: pending)
            return try await Keys.read([destination])(stage) + ["theirs is kept=\(kept > 0 || waiting != nil)"]
        }, keys: [.key(moving)], older: [pending])

    private static let purge = Operation(
        name: "purge quarantined values",
        prepare: { stage in
            try await conflictBegins(stage)
            _ = try await stage.router.registerCatalog(FaultCatalog(allKeys: [.key(moving)]), migrateImmediately: true)
        },
        act: { stage in
            let values = try await stage.router.quarantine.values()
            if values.isEmpty { throw NothingToDo() }
            for value in values { try await stage.router.quarantine.purge(value) }
        },
        read: { stage in
            try await Keys.read([moving])(stage) + ["quarantined=\(try await stage.router.quarantine.values().count)"]
        }, keys: [.key(moving)])

    private static let windowed = destination.moved(
        from: pending, keeping: .untilReleased, options: MigrationOptions(keepsWeakerCopy: true))

    private static let openWindow = Operation(
        name: "release window opens", prepare: { try await $0.router.set("old", for: pending) },
        act: { try await $0.router.set("new", for: windowed) },
        // The legacy location is not read here. In a release window, it is kept up to date for an older release: a set
        // writes the destination first and the legacy location second. Between these writes, the legacy location has
        // the earlier value.
        read: Keys.read([windowed]), keys: [.key(windowed)])

    private static let endOfWindow = Operation(
        name: "release window ends",
        prepare: { stage in
            try await stage.router.set("value", for: pending)
            try await stage.router.set("value", for: windowed)
        }, act: { try await $0.router.endReleaseWindow(for: windowed) }, read: Keys.read([destination]))
}
