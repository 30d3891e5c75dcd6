// A backup of everything that a program stores, its check, and its restore.
// snippet.hide
import Foundation
import LocalData
import LocalDataBackup

func backUp(_ storage: StorageRouter, file: URL, passphrase: String) async throws {
    // snippet.show
    let report = try await storage.backup(to: file, openedBy: [.passphrase(passphrase)])  // the file must not exist
    if !report.isSound { print("A store was damaged or unreadable: it is named in \(report.stores).") }
    for name in report.notFound { print("Expected, and not there: \(name)") }
    try await StorageRouter.verifyBackup(at: file, with: .passphrase(passphrase))  // reads every row, and writes nothing
    // snippet.hide
}

func restore(_ configuration: StorageConfiguration, file: URL, passphrase: String) async throws {
    // snippet.show
    do {
        let report = try await StorageRouter.restore(from: file, with: .passphrase(passphrase), into: configuration)
        print("Restored: \(report.restored)")
    } catch StorageError.conflict {
        print("A store with other content exists. Nothing was changed. To replace it, name it in `replacing:`.")
    } catch let error as StorageError where error.outcome == .unknown {
        print("The restore was interrupted. No store opens until the same restore has run again.")
    }
    // snippet.hide
}

func repair(_ storage: StorageRouter) async throws {
    // snippet.show
    let documents = StorageDomain.encryptedSQLite(database: "documents")
    do {
        guard let report = try await storage.verifyIntegrity(of: documents) else { return }  // there is no database yet
        print(report.isSound ? "Every row is the one that was written." : "\(report)")
    } catch StorageError.rolledBack {
        print("The file is older than its freshness anchor. Put the latest file back, or accept this one.")
    }
    // snippet.hide
}
