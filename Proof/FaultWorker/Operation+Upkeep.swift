import Foundation
import LocalData
import LocalDataBackup

/// Operations on encryption keys and backups.
extension Operation {
    static let upkeep = [rotateDataKey, rotateKey, deleteOlderKeys, adopt, backup, restore, restoreIntoNothing]

    private static let keys = [
        Keys.text("first", Keys.database), Keys.text("second", Keys.other), Keys.text("sealed", Keys.list, .encrypted),
        Keys.text("plain", Keys.list),
    ]

    private static let fill: Work = { stage in for key in keys { try await stage.router.set("old", for: key) } }

    private static let register: Work = { try await $0.router.registerCatalog(FaultCatalog(allKeys: keys.map { .key($0) })) }

    private static let rotateDataKey = Operation(
        name: "rotation of a data key", prepare: fill, act: { _ = try await $0.router.rotateDataKey(of: Keys.database) },
        read: Keys.read(keys))

    private static let rotateKey = Operation(
        name: "rotation of a key", prepare: fill,
        act: { stage in
            try await register(stage)
            _ = try await stage.router.rotateKey()
        }, read: Keys.read(keys))

    private static let deleteOlderKeys = Operation(
        name: "older keys are destroyed",
        prepare: { stage in
            try await fill(stage)
            try await register(stage)
            _ = try await stage.router.rotateKey()
        },
        act: { stage in
            try await register(stage)
            try await stage.router.deleteOlderKeys()
        }, read: Keys.read(keys))

    private static let moved = StorageDomain.encryptedSQLite(database: "moved")

    /// The file of a database was renamed. The operation, `adopt`, makes the database usable under its new name.
    private static let adopt = Operation(
        name: "adoption", mayRefuse: true,
        prepare: { stage in
            for number in 0..<12 { try await stage.router.set("value \(number)", for: Keys.text("\(number)", Keys.database)) }
            _ = try await stage.router.addRecoveryKey(to: Keys.database)
            try await stage.close()
            let folder = stage.root.appending(path: "data/databases")
            try FileManager.default.moveItem(
                at: folder.appending(path: "database.sqlite"), to: folder.appending(path: "moved.sqlite"))
        },
        act: { try await $0.router.adopt(moved, from: Keys.database) },
        read: Keys.read((0..<12).map { Keys.text("\($0)", moved) }))

    /// A fixed recovery key, which protects no secrets.
    private static func secret() throws -> BackupKey {
        .recoveryKey(try RecoveryKey(text: "0410-6105-0R3G-G28A-1C60-T3GF-208H-44RM-2MB1-E60S-38DH-R78Y-3WG0-Z1WJ"))
    }

    private static func file(_ stage: Stage) -> URL { stage.root.appending(path: "kit/backup") }

    /// Makes a backup beside the data folder. Removes it again if it does not contain every store.
    private static let backup = Operation(
        name: "backup",
        prepare: { stage in
            try await fill(stage)
            try FileManager.default.createDirectory(
                at: stage.root.appending(path: "kit"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        },
        act: { stage in
            // If the backup exists, an earlier call made it and was killed before it returned. The backup may not be
            // durable, so this call must not acknowledge it.
            if (try? await StorageRouter.verifyBackup(at: file(stage), with: secret())) != nil { throw NothingToDo() }
            let report = try await stage.router.backup(to: file(stage), openedBy: [secret()])
            // The report of a backup is sound if every store could be read. Otherwise, a program would make another
            // backup.
            guard !report.isSound else { return }
            try FileManager.default.removeItem(at: file(stage))
            throw StorageError(StorageError.unavailable, key: "backup", "The backup does not contain every store.")
        },
        read: { stage in
            // A backup file that exists must be complete.
            let isThere = FileManager.default.fileExists(atPath: file(stage).path)
            let report = isThere ? try await StorageRouter.verifyBackup(at: file(stage), with: secret()) : nil
            return try await Keys.read(keys)(stage) + ["backup=\(report.map { "\($0.isSound)" } ?? "none")"]
        })

    /// Restores a backup, which replaces later values.
    private static let restore = Operation(
        name: "restore", isAtomic: false, mayRefuse: true,
        prepare: { stage in
            try await fill(stage)
            try FileManager.default.createDirectory(
                at: stage.root.appending(path: "kit"), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try await stage.router.backup(to: file(stage), openedBy: [secret()])
            for key in keys { try await stage.router.set("later", for: key) }
        },
        act: { stage in
            try await stage.close()
            _ = try await StorageRouter.restore(
                from: file(stage), with: secret(), into: configuration(stage.root),
                replacing: ["userDefaults(list)", "encryptedSQLite(database)", "encryptedSQLite(other)", "ledger"])
        }, read: Keys.read(keys))

    /// Restores a backup into empty folders, as on another machine.
    private static let restoreIntoNothing = Operation(
        name: "restore into nothing", isAtomic: false, mayRefuse: true,
        prepare: { stage in
            try await restore.prepare(stage)
            try await stage.close()
            for name in ["data", "preferences", "state", "locks"] {
                try FileManager.default.removeItem(at: stage.root.appending(path: name))
            }
        }, act: restore.act, read: Keys.read(keys))
}
