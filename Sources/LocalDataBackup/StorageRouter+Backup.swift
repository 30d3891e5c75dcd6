import BackendContract
import BackendRuntime
public import Foundation
public import LocalData
import Sealing

extension StorageRouter {
    /// Writes a backup of all stores of the program to one sealed file, while this and other programs use them.
    ///
    /// ```swift
    /// do {
    ///     let report = try await storage.backup(to: file, openedBy: [.recoveryKey(key), .passphrase("correct horse battery staple")])
    ///     for store in report.stores where store.isDamaged { print("\(store.name) is damaged. Its file was copied unchanged.") }
    ///     if !report.omitted.isEmpty { print("not in the backup: \(report.omitted)") }
    /// } catch StorageError.locked { print("Unlock the keyring first. No file was written.") }
    /// ```
    ///
    /// The backup contains the property lists, databases and vaults in the program's folders. It also contains the
    /// property lists and keyring services that the program's keys name, now or in an earlier release. Further parts
    /// are the ledger (notes about sweeps and stores), the history of migrations, the quarantine (values that
    /// migrations displaced), and the passphrase files. It also contains the encryption keys of these stores. The file
    /// has permissions 0600 and is durable when this returns. `Docs/Formats.md` describes the format.
    ///
    /// All stores are copied at one moment: the backup holds the locks of all stores while it copies their states. It
    /// then releases the locks and writes the file. A deadline limits the time with the locks.
    /// ``BackupReport/Store/isForeign`` is true for a store that a program changed without taking the lock.
    ///
    /// ``BackupReport/notFound`` lists expected stores that do not exist: they were never written, or they are lost.
    ///
    /// Damage does not stop a backup. A damaged property list or database is copied unchanged (``BackupReport/Store/isDamaged``). A file
    /// that cannot be read is listed with its error (``BackupReport/Store/problem``). ``BackupReport/isSound`` is false in both cases. If
    /// the program locks the router or a domain during the backup, the call throws `locked`.
    /// - Parameters:
    ///   - file: The file to create. An existing file is never replaced.
    ///   - recipients: 1 to 16 passphrases and recovery keys. Each one alone opens the backup.
    ///   - domains: Additional domains to include that no key uses yet.
    ///   - progress: Called as the backup proceeds.
    /// - Returns: The content of the backup. ``BackupReport/omitted`` lists the domains that a custom backend serves: they are not in the
    ///   backup.
    /// - Throws: `StorageError`: `locked` if a keyring, a passphrase, the router or a domain is locked; `encryptionKeyMissing` for a
    ///   database that no configured source can open; `timedOut` if a lock is not free in time; `noSpace`. No file is left after an
    ///   error.
    @concurrent
    @discardableResult
    public nonisolated func backup(
        to file: URL, openedBy recipients: [BackupKey], including domains: [StorageDomain] = [],
        progress: (@Sendable (BackupProgress) -> Void)? = nil
    ) async throws -> BackupReport {
        try await call("backup") {
            try await backing { router in
                try await BackupRun(router: router, domains: domains, progress: progress).run(to: file.path, for: recipients)
            }
        }
    }

    /// Verifies a backup without restoring it, and writes nothing.
    ///
    /// ```swift
    /// do {
    ///     let report = try await StorageRouter.verifyBackup(at: file, with: .recoveryKey(key)) { print($0.store, $0.bytes) }
    ///     print("\(report.stores.count) stores of \(report.date). All sound: \(report.isSound)")
    /// } catch StorageError.encryptionKeyMismatch { print("This key does not open the backup.") } catch StorageError.corrupted {
    ///     print("The file was changed or cut off. Use another backup.")
    /// }
    /// ```
    ///
    /// It verifies every chunk of the file, every digest and every row, and that the keys in the backup open each
    /// database.
    /// - Parameters:
    ///   - file: The backup.
    ///   - key: A passphrase or recovery key that opens the backup.
    ///   - progress: Called as the verification proceeds.
    /// - Returns: The content of the backup. ``BackupReport/isSound`` is false if a store was damaged or unreadable when the backup was
    ///   made.
    /// - Throws: `StorageError`: `encryptionKeyMismatch` for the wrong passphrase or key, `corrupted` if any part of the file was
    ///   changed.
    @concurrent
    @discardableResult
    public static func verifyBackup(
        at file: URL, with key: BackupKey, progress: (@Sendable (BackupProgress) -> Void)? = nil
    ) async throws -> BackupReport {
        try await cancellable("storage") {
            let opener = try await translatingErrors(key: "backup") { () throws(BackendError) in try key.opener() }
            return try await BackupVerifier(path: file.path, opener: opener, runtime: .live, progress: progress).run().report
        }
    }

    /// Restores a backup into the stores of a configuration, on this machine or another. The whole backup is verified before any store is
    /// replaced.
    ///
    /// ```swift
    /// let configuration = StorageConfiguration.xdg(applicationID: "com.example.weather")
    /// do {
    ///     let report = try await StorageRouter.restore(from: file, with: .recoveryKey(key), into: configuration)
    ///     print("restored \(report.restored), unchanged \(report.unchanged)")
    /// } catch let error as StorageError where error.code == .conflict {
    ///     print(error.message)  // names the stores that exist; pass them as `replacing:` to replace them
    /// }
    /// ```
    ///
    /// A store that exists with different content is a conflict, unless `replacing` names it: then the existing store
    /// is kept under another name. The backup's keys are added to the sources of the configuration. If a source already
    /// has a key, that key stays, and the data keys of the restored databases are encrypted with it.
    ///
    /// End every program that uses the stores before you call this. If the restore is interrupted after it began to replace stores, no
    /// store opens until you run the same restore again. The second run continues where the first one stopped.
    /// - Parameters:
    ///   - file: The backup.
    ///   - key: A passphrase or recovery key that opens the backup.
    ///   - configuration: The destination. It must have the application, or tenant, of the backup.
    ///   - replacing: The existing stores that may be replaced, by ``BackupReport/Store/name``.
    ///   - progress: Called as the restore proceeds. The restore reads the file three times, and reports each reading from the start.
    /// - Returns: The restored stores, and the new names of the stores that they replaced. Each restored store is as
    ///   durable as its kind of store permits.
    /// - Throws: `StorageError`: `conflict`, which names the stores that exist with different content; `invalidName` if `replacing` has a
    ///   name that is not in the backup; `timedOut` while another restore runs here; `wrongContext` for the backup of another application;
    ///   `encryptionKeyMismatch` if single values are sealed with a key that the source on this machine cannot accept; the errors of
    ///   ``verifyBackup(at:with:progress:)``. No store was replaced, unless the outcome is `unknown`. If a store already has eight replaced
    ///   copies, the error is `noSpace`, and its message names them.
    @concurrent
    @discardableResult
    public static func restore(
        from file: URL, with key: BackupKey, into configuration: StorageConfiguration, replacing: Set<String> = [],
        progress: (@Sendable (BackupProgress) -> Void)? = nil
    ) async throws -> RestoreReport {
        try await cancellable("storage", isStepwise: true) {
            guard try configuration.directories != nil else {
                throw StorageError(.unsupported, key: "restore", "This configuration stores nothing on a disk. Nothing was restored.")
            }
            let opener = try await translatingErrors(key: "restore") { () throws(BackendError) in try key.opener() }
            let wiring = configuration.restoreWiring
            let run = RestoreRun(path: file.path, opener: opener, wiring: wiring, replacing: replacing, progress: progress)
            do {
                let report = try await run.run()
                await wiring.close()
                return report
            } catch {
                await wiring.close()
                throw error
            }
        }
    }
}
