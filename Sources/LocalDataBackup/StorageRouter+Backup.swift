import BackendContract
import BackendRuntime
public import Foundation
public import LocalData
import Sealing

extension StorageRouter {
    /// Makes a backup of everything that the program keeps, while programs use it.
    ///
    /// The backup contains the property lists, databases and vaults in the program's folders, and the property lists and keyring services that its keys lead to or once led to.
    /// It also contains the ledger, the quarantine, the passphrase files, and the keys that these stores need. It is one sealed file with permissions 0600 (`Docs/Design.md`
    /// describes the format), durable when this returns.
    ///
    /// All stores are of one moment: the locks of all of them are held while their states are taken, for a deadline at most. Programs that do not take the locks are named in
    /// ``BackupReport/Store/isForeign``. The locks are free while the file is written.
    ///
    /// A store that was expected and not found is named in ``BackupReport/notFound``: nothing was ever written to it, or it is lost.
    ///
    /// Damage does not stop a backup. It contains a damaged property list or database unchanged (``BackupReport/Store/isDamaged``), and names a file that cannot be read
    /// (``BackupReport/Store/problem``). ``BackupReport/isSound`` says whether there was any. When the program locks the router or a domain, it ends as `locked`.
    /// - Parameters:
    ///   - file: The backup. A file that is there is not replaced.
    ///   - recipients: What opens it, one of them: 1 to 16 passphrases and recovery keys.
    ///   - domains: Domains that no key has led to yet.
    ///   - progress: Told how far it has come.
    /// - Returns: What the backup holds, and which domains it does not, because a backend of the program's own serves them.
    /// - Throws: ``StorageError``: `locked` where a keyring, a passphrase, the router or one of its domains is; `encryptionKeyMissing` for a database that no configured source opens; `timedOut` where
    ///   a lock is not free; `noSpace`. There is no file then.
    @concurrent
    @discardableResult
    public nonisolated func backup(
        to file: URL, openedBy recipients: [BackupKey], including domains: [StorageDomain] = [],
        progress: (@Sendable (BackupProgress) -> Void)? = nil
    ) async throws -> BackupReport {
        try await Self.cancellable("storage") {
            try await backing { router in
                try await BackupRun(router: router, domains: domains, progress: progress).run(to: file.path, for: recipients)
            }
        }
    }

    /// Verifies a backup without restoring it: every part of the file, every digest, that each database opens with the keys in it, and each row. Nothing is written.
    /// - Parameters:
    ///   - file: The backup.
    ///   - key: What opens it.
    ///   - progress: Told how far it has come.
    /// - Returns: What the backup holds. ``BackupReport/isSound`` tells whether something was damaged when it was made, or could not be read.
    /// - Throws: ``StorageError``: `encryptionKeyMismatch` for another passphrase or key, `corrupted` for anything that is not as it was written.
    @concurrent
    @discardableResult
    public static func verifyBackup(
        at file: URL, with key: BackupKey, progress: (@Sendable (BackupProgress) -> Void)? = nil
    ) async throws -> BackupReport {
        try await Self.cancellable("storage") {
            let opener = try await translatingErrors(key: "backup") { () throws(BackendError) in try key.opener() }
            return try await BackupVerifier(path: file.path, opener: opener, runtime: .live, progress: progress).run().report
        }
    }

    /// Restores a backup into the places of a configuration, on this machine or another. All of it is verified before anything is replaced.
    ///
    /// A store that is here with another content is refused, unless it is named; then it is kept beside. Keys go into the sources of the configuration; a key that a source has
    /// already stays, and the databases are given to it. End every program that uses the stores first. If it is interrupted once it has begun to replace, no store opens until
    /// the same restore has been run again, which goes on where it stopped.
    /// - Parameters:
    ///   - file: The backup.
    ///   - key: What opens it.
    ///   - configuration: Where it goes: the same application, or tenant, as the one that made the backup.
    ///   - replacing: The stores that are replaced, by ``BackupReport/Store/name``.
    ///   - progress: Told how far it has come, once for each of three readings of the file.
    /// - Returns: What was restored, and where that is which was replaced. Everything is durable, as far as its store is.
    /// - Throws: ``StorageError``: `conflict`, which names the stores that are here; `wrongContext` for the backup of another application; `encryptionKeyMismatch` where single
    ///   values are sealed with a key that the source here cannot take; what ``verifyBackup(at:with:progress:)`` throws. Nothing was replaced then, unless the outcome is `unknown`.
    @concurrent
    @discardableResult
    public static func restore(
        from file: URL, with key: BackupKey, into configuration: StorageConfiguration, replacing: Set<String> = [],
        progress: (@Sendable (BackupProgress) -> Void)? = nil
    ) async throws -> RestoreReport {
        try await Self.cancellable("storage", isStepwise: true) {
            guard try configuration.directories != nil else {
                throw StorageError(
                    StorageError.unsupported, key: "restore", "Nothing of this configuration is on a disk. Nothing was restored.")
            }
            let opener = try await translatingErrors(key: "restore") { () throws(BackendError) in try key.opener() }
            let host = configuration.restoreHost
            let run = RestoreRun(path: file.path, opener: opener, host: host, replacing: replacing, progress: progress)
            do {
                let report = try await run.run()
                await host.close()
                return report
            } catch {
                await host.close()
                throw error
            }
        }
    }
}
