import BackendContract
import Foundation
import LocalData
import LocalDataBackup

/// Samples of backups, exports, keys and integrity. They are compiled, and not run.
enum BackupSamples {
    static let database = StorageDomain.encryptedSQLite(database: "main")

    static func backup(_ storage: StorageRouter, _ file: URL, _ key: RecoveryKey) async throws {
        do {
            let report = try await storage.backup(to: file, openedBy: [.recoveryKey(key), .passphrase("correct horse battery staple")])
            for store in report.stores where store.isDamaged { print("\(store.name) is damaged. Its file was copied unchanged.") }
            if !report.omitted.isEmpty { print("not in the backup: \(report.omitted)") }
        } catch StorageError.locked { print("Unlock the keyring first. No file was written.") }
    }

    static func key(_ storage: StorageRouter, _ file: URL, _ typed: String) async throws {
        let written = BackupKey.recoveryKey(try RecoveryKey(text: typed))  // throws invalidRecoveryKey for a typing error
        try await storage.backup(to: file, openedBy: [written, .passphrase("correct horse battery staple")])
        print(written)  // the id of the key, never the secret
    }

    static func verify(_ file: URL, _ key: RecoveryKey) async throws {
        do {
            let report = try await StorageRouter.verifyBackup(at: file, with: .recoveryKey(key)) { print($0.store, $0.bytes) }
            print("\(report.stores.count) stores of \(report.date). All sound: \(report.isSound)")
        } catch StorageError.encryptionKeyMismatch { print("This key does not open the backup.") } catch StorageError.corrupted {
            print("The file was changed or cut off. Use another backup.")
        }
    }

    static func restore(_ file: URL, _ key: RecoveryKey) async throws {
        let configuration = StorageConfiguration.xdg(applicationID: "com.example.weather")
        do {
            let report = try await StorageRouter.restore(from: file, with: .recoveryKey(key), into: configuration)
            print("restored \(report.restored), unchanged \(report.unchanged)")
        } catch let error as StorageError where error.code == .conflict {
            print(error.message)  // names the stores that exist; pass them as `replacing:` to replace them
        }
    }

    static func reports(_ report: BackupReport, _ restored: RestoreReport) {
        for store in report.stores { print("\(store.name): \(store.bytes) bytes", store.problem ?? "readable") }
        if !report.isSound { print("A store was damaged or unreadable when the backup was made.") }
        for name in report.notFound { print("\(name) does not exist. It was never written, or it is lost.") }
        for place in restored.kept { print("The previous store is kept in \(place).") }
        for store in restored.missing { print("\(store) is not in the backup, and was not changed.") }
    }

    static func progress(_ storage: StorageRouter, _ file: URL, _ key: RecoveryKey) async throws {
        try await storage.backup(to: file, openedBy: [.recoveryKey(key)]) { progress in
            print("\(progress.done) of \(progress.count) stores, \(progress.bytes) bytes, now \(progress.store)")
        }
    }

    static func export(_ storage: StorageRouter, _ file: URL) async throws {
        let report = try await storage.export([.key(.city), .collection(notes)], to: file, openedBy: [.passphrase("four random words")])
        for record in report.damaged { print("not exported: \(record)") }
        print("\(report.written.count) values were exported: \(report.written)")
    }

    static func plaintext(_ storage: StorageRouter) async throws {
        var lines = Data()
        try await storage.exportAsPlaintextThatAnyoneCanRead([.key(.city)]) { lines += $0 }
        let report = try await storage.importPlaintext(lines, into: [.key(.city)])
        print(report)
    }

    static func importing(_ storage: StorageRouter, _ file: URL) async throws {
        do {
            let report = try await storage.importValues(from: file, with: .passphrase("four random words"), into: [.collection(notes)])
            for name in report.kept { print("\(name) already has another value, which was kept.") }
        } catch StorageError.encryptionKeyMismatch { print("This is not the passphrase of the file. No value was stored.") }
    }

    static func importReport(_ report: ImportReport) {
        print("\(report.added.count) added, \(report.replaced.count) replaced, \(report.kept.count) kept")
        for name in report.unknown { print("\(name) was not imported: no key or collection has this name") }
    }

    static func recipients(_ storage: StorageRouter) async throws {
        for recipient in try await storage.keyRecipients(of: database) {
            print(recipient.source, recipient.id, recipient.isRecoveryKey ? "(recovery key)" : "")
        }
        for recipient in try await storage.keyRecipients(of: database) where recipient.isRecoveryKey {
            try await storage.removeRecoveryKey(recipient, from: database)
        }
        try await storage.rotateDataKey(of: database)  // a copy of the file from before opens with the removed key
    }

    static func recovery(_ storage: StorageRouter) async throws {
        let key = try await storage.addRecoveryKey(to: .encryptedSQLite(database: "main"))
        print(key.text)  // show it once, and have it written down: nothing on this machine stores it
    }

    static func recover(_ storage: StorageRouter, _ typed: String) async throws {
        do {
            let key = try RecoveryKey(text: typed)
            try await storage.recover(.encryptedSQLite(database: "main"), with: key)
        } catch let error as StorageError where error.code == .invalidRecoveryKey {
            print("Check the text: \(error.message)")  // the message never repeats the text
        } catch StorageError.encryptionKeyMismatch { print("The database was sealed for another recovery key.") }
    }

    static func changeSource() async throws {
        var configuration = StorageConfiguration.service(applicationID: "com.example.shop")
        configuration.databaseKeySources["main"] = .credential("storage-key-2")
        let storage = StorageRouter(configuration: configuration)
        try await storage.changeKeySource(of: .encryptedSQLite(database: "main"), from: .credential("storage-key"))
    }

    static func changePassphrase(_ storage: StorageRouter, _ old: String, _ new: String) async throws {
        do { try await storage.changePassphrase(of: .passphrase(), from: old, to: new) } catch StorageError.encryptionKeyMismatch {
            print("This is not the present passphrase. It was not changed.")
        }
    }

    static func rotateData(_ storage: StorageRouter) async throws {
        do {
            try await storage.rotateDataKey(of: .encryptedSQLite(database: "main")) { print("\($0.done) of \($0.total)") }
        } catch let error as StorageError where error.outcome == .applied {
            print(error.message)  // the new key is in use; damaged rows still need the old key
        }
    }

    static func rotateSource(_ storage: StorageRouter) async throws {
        try await storage.registerCatalog(AppKeys())
        let report = try await storage.rotateKey()
        for place in report.remaining { print("not resealed yet: \(place)") }  // repeat the call
        do { try await storage.deleteOlderKeys() } catch let error as StorageError where error.code == .conflict {
            print(error.message)  // the data or the program that still needs an older key
        }
    }

    static func rotationReport(_ report: KeyRotationReport) {
        print("\(report.databases) databases and \(report.values) values use the new key. \(report.olderKeys) older keys remain.")
        if !report.isComplete { print("Repeat the call for \(report.remaining).") }
    }

    static func integrity(_ storage: StorageRouter) async throws {
        do {
            guard let report = try await storage.verifyIntegrity(of: database) else { return print("There is no database yet.") }
            print(report.isSound ? "\(report.rows) rows are sound." : "Damage: \(report)")
        } catch StorageError.corrupted { print("The database cannot be opened. Restore a backup.") }
        try await storage.acceptContents(of: database)  // after a person has accepted the loss of rows
        do { _ = try await storage.count(in: notes) } catch StorageError.rolledBack {
            try await storage.acceptOlderFile(of: database)  // only if an older copy was restored on purpose
        }
    }

    static func adopt(_ storage: StorageRouter) async throws {
        let renamed = StorageDomain.encryptedSQLite(database: "archive")  // the file main.sqlite was renamed to archive.sqlite
        do { print(try await storage.names(of: renamed)) } catch StorageError.wrongContext {
            try await storage.adopt(renamed, from: .encryptedSQLite(database: "main"))
        }
    }

    static func salvage(_ storage: StorageRouter, _ folder: URL) async throws {
        for try await note in storage.records(
            in: notes,
            onDamage: .report { record, reason in
                print("\(record) cannot be read: \(reason.message)")
                try await storage.damagedData(record).write(to: folder.appending(path: record.handle))
            })
        { print(note.title) }
    }

    static func setAside(_ storage: StorageRouter, _ record: DamagedRecord) async throws {
        do { try await storage.setAside(record) } catch StorageError.notFound {
            print("The record was changed since it was listed. List the damaged records again.")
        }
        try await storage.removeDamaged(record)  // there is no copy afterwards
    }

    static func setAsideStore(_ storage: StorageRouter) async throws {
        do { print(try await storage.get(.city)) } catch StorageError.corrupted {
            let copy = try await storage.setAsideDamagedStore(of: .userDefaults)  // only if there is no backup
            print("The damaged file is \(copy). The list is empty now.")
        }
    }
}
