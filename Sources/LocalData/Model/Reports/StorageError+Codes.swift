/// The names of the codes of errors, for `catch StorageError.locked` and `error.code == .locked`.
///
/// Each code says what happened, what is unchanged, and what to do. Later versions may add codes, so a `switch` over a
/// code needs a `default`.
///
/// ```swift
/// do {
///     print(try await storage.get(.apiToken))
/// } catch StorageError.notFound {
///     print("There is no token yet.")
/// } catch let error as StorageError where error.code == .locked || error.code == .promptDismissed {
///     print("Continue without the token. Try again after the user has unlocked the keyring.")
/// } catch {
///     print(error.localizedDescription)  // a sentence for users, with the next step; it contains no value
/// }
/// ```
public protocol StorageErrorCodes {}

extension StorageError: StorageErrorCodes {}
extension StorageError.Code: StorageErrorCodes {}

extension StorageErrorCodes {
    /// There is no value: every location was read, and none has a value.
    ///
    /// The key has no default, or the record or quarantined entry does not exist. The call changed nothing. Store a
    /// value, give the key a default value, or use ``StorageRouter/value(for:)``, which returns nil instead.
    public static var notFound: StorageError.Code { StorageError.Code("notFound") }
    /// The value disappeared, although no program removed it. This is only reported for a key with
    /// ``StorageKey/witnessed()``.
    ///
    /// The keyring or the file was probably reset or replaced. The call changed nothing. Bring the keyring or file
    /// back, store the value again, or accept the loss:
    ///
    /// ```swift
    /// do { print(try await storage.get(token)) } catch StorageError.vanished {
    ///     print("The keyring was reset. Ask the user to log in again.")
    ///     try await storage.acknowledgeLoss(for: token)  // from now on, the value counts as absent
    /// }
    /// ```
    public static var vanished: StorageError.Code { StorageError.Code("vanished") }
    /// The stored bytes are not a value of the key's type, and no legacy location has a value.
    ///
    /// The bytes are left unchanged. Fix the type, or declare how to convert the older shape with
    /// ``StorageKey/moved(from:id:options:_:)`` or ``Evolution``. A key of the type ``StoredDocument`` reads any
    /// content:
    ///
    /// ```swift
    /// do { print(try await storage.get(interval)) } catch StorageError.undecodable {
    ///     let stored: StorageKey<StoredDocument> = settings.key("interval", "Minutes between updates")
    ///     print(try await storage.get(stored).root)  // the stored content, whatever its type is
    /// }
    /// ```
    public static var undecodable: StorageError.Code { StorageError.Code("undecodable") }
    /// The value could not be encoded: its serializer refused it, or the older type of a release window cannot
    /// represent it.
    ///
    /// The call changed nothing. Change the value, choose another serializer, or declare `merge:` for the release
    /// window.
    public static var encodingFailed: StorageError.Code { StorageError.Code("encodingFailed") }
    /// The store is locked: the keyring is locked, or the program has called ``StorageRouter/lock(_:waitingAtMost:)``.
    ///
    /// The call read and changed nothing. Unlock the store when a user can answer a prompt, or continue without the
    /// value:
    ///
    /// ```swift
    /// do { print(try await storage.get(.apiToken)) } catch StorageError.locked {
    ///     try await storage.unlock(.keychain)  // may open a prompt; throws promptDismissed if the user declines
    ///     print(try await storage.get(.apiToken))
    /// }
    /// ```
    public static var locked: StorageError.Code { StorageError.Code("locked") }
    /// The store cannot be reached, or is not part of this build.
    ///
    /// For example, there is no session bus, no keyring program, no server or no home folder. Unless the error's
    /// outcome says otherwise, nothing was changed. The message names the cause. Remove it, and repeat the call.
    public static var unavailable: StorageError.Code { StorageError.Code("unavailable") }
    /// The stored bytes are damaged: a record, a sealed value, a row of a database, or a whole file.
    ///
    /// The bytes are left unchanged, so they can be examined. Restore a backup, or store a new value. The functions of
    /// the product `LocalDataBackup` export and set aside damaged records.
    public static var corrupted: StorageError.Code { StorageError.Code("corrupted") }
    /// Other data prevents the change.
    ///
    /// For example, another process or task changed the value during each retry, or a restore found a store with
    /// different content. The call overwrote nothing. Repeat the call. For a restore, name the stores that it may
    /// replace.
    public static var conflict: StorageError.Code { StorageError.Code("conflict") }
    /// An older copy of a value could not be removed. The removal or migration of the value itself took effect.
    ///
    /// The older copy is unchanged, and is never used instead of the value. Repeat the call, or sweep when the location
    /// can be reached again. A call for many values stops at the first such copy, with the outcome `unknown`. Repeat it.
    ///
    /// ```swift
    /// do { try await storage.remove(.city) } catch StorageError.residueRemains {
    ///     await storage.sweep()  // the value is removed; the sweep deletes the older copy
    /// }
    /// ```
    public static var residueRemains: StorageError.Code { StorageError.Code("residueRemains") }
    /// The operating system refused access, the file system is read-only, or other users can read a file with a key.
    ///
    /// The call changed nothing. Fix the owner and the permissions of the path in the message. If others could read a
    /// key, treat the key as disclosed and rotate it.
    public static var accessDenied: StorageError.Code { StorageError.Code("accessDenied") }
    /// Other users can change a file or folder that must be trusted: the file of a key or a database, or a folder above
    /// it. The code is also used for a keyring that would receive secrets unencrypted.
    ///
    /// The call read and changed nothing, because the content could be forged. Check the content first. Then fix the
    /// owner or the permissions as the message says, for example with `chmod go-w`.
    public static var untrusted: StorageError.Code { StorageError.Code("untrusted") }
    /// The disk is full, a limit on its use is reached, or the quarantine is full.
    ///
    /// The stored content is unchanged, and can still be read. Free some space, or purge entries of the quarantine, and repeat the call:
    ///
    /// ```swift
    /// do { try await storage.set("Graz", for: .city) } catch StorageError.noSpace {
    ///     print("Free some space. The stored city is still \(try await storage.get(.city)).")
    /// }
    /// ```
    public static var noSpace: StorageError.Code { StorageError.Code("noSpace") }
    /// The deadline passed before the store responded, or while another call used the same key. The deadlines are in
    /// ``StorageConfiguration/deadlines``.
    ///
    /// The error's outcome says whether a change may have happened. If it is `unknown`, read the value before you
    /// repeat the change.
    public static var timedOut: StorageError.Code { StorageError.Code("timedOut") }
    /// The user closed the prompt, or declined to unlock.
    ///
    /// The store stays locked, and nothing was changed. Continue without the value. Ask again only when the user does
    /// something that needs it.
    public static var promptDismissed: StorageError.Code { StorageError.Code("promptDismissed") }
    /// Several items of a keyring match the name, so it is unknown which one is the value.
    ///
    /// The call read and changed nothing. Keep one item, and delete the others with a program for keyrings.
    public static var ambiguous: StorageError.Code { StorageError.Code("ambiguous") }
    /// The value is larger than the store supports. The message states the size and the limit.
    ///
    /// The call wrote nothing, and the previous value stays. Divide the value, or keep the content in a separate file
    /// and store the name of the file.
    public static var tooLarge: StorageError.Code { StorageError.Code("tooLarge") }
    /// The name of a key, record, store or application cannot be used: it is empty, too long, or contains characters
    /// that are not allowed.
    ///
    /// The call read and changed nothing. Choose another name. To keep existing data, declare the old name with
    /// ``StorageKey/moved(from:id:options:)``.
    public static var invalidName: StorageError.Code { StorageError.Code("invalidName") }
    /// Two keys of the registered catalogs have the same slot, so each would overwrite the value of the other.
    ///
    /// The call registered nothing. Give one of the keys another name or another domain.
    public static var duplicateKey: StorageError.Code { StorageError.Code("duplicateKey") }
    /// The key is in no registered catalog, and ``StorageConfiguration/requiresRegistration`` is true.
    ///
    /// The call read and changed nothing. Add the key to a catalog, and register the catalog before the first use of
    /// the key.
    public static var unregisteredKey: StorageError.Code { StorageError.Code("unregisteredKey") }
    /// The owner or description of a catalog's key is empty.
    ///
    /// The call registered nothing. Declare both, so that audits can say what the value is.
    public static var incompleteKey: StorageError.Code { StorageError.Code("incompleteKey") }
    /// The key that sealed the data is missing.
    ///
    /// The call changed nothing. The router makes no new key where sealed data exists, because the data would then be
    /// lost. Restore the key, or open the database with a recovery key: `recover(_:with:)` of the product
    /// `LocalDataBackup`.
    public static var encryptionKeyMissing: StorageError.Code { StorageError.Code("encryptionKeyMissing") }
    /// The sealing key, passphrase or recovery key is not the right one for the data, or is not a valid key.
    ///
    /// The call changed nothing. Check which key the message names, and provide that one.
    public static var encryptionKeyMismatch: StorageError.Code { StorageError.Code("encryptionKeyMismatch") }
    /// The stored data has a schema version or type that this program does not support.
    ///
    /// A later version of the program may have stored it. The call changed nothing. Update the program, declare the
    /// missing steps with ``Evolution``, or convert records of another type with `migrateAll(from:to:)`.
    public static var incompatibleSchema: StorageError.Code { StorageError.Code("incompatibleSchema") }
    /// A chain of versions or a migration plan contains an error and cannot be used: a gap, a cycle, or two steps from
    /// one version.
    ///
    /// The call read and wrote nothing. Fix the declaration. The message names the faulty part.
    public static var invalidEvolution: StorageError.Code { StorageError.Code("invalidEvolution") }
    /// A text is not a valid recovery key, for example because of a typing error.
    ///
    /// The call read and changed nothing. Compare the text with the recovery key that was written down. Its last group
    /// is a checksum.
    public static var invalidRecoveryKey: StorageError.Code { StorageError.Code("invalidRecoveryKey") }
    /// A store belongs to another application, is of another kind, or has another name, because it was copied or
    /// renamed.
    ///
    /// The call changed nothing. Put the right file back. If the file was moved on purpose, take it over with
    /// `adopt(_:from:application:)` of the product `LocalDataBackup`.
    public static var wrongContext: StorageError.Code { StorageError.Code("wrongContext") }
    /// The freshness anchor of a database, a record of its latest state outside of its file, does not match.
    ///
    /// The database is an older copy, or another database. Or a database server lacks changes that it has acknowledged.
    /// The call read and changed nothing. Put the latest file back. Or accept the loss of later changes with
    /// `acceptOlderFile(of:)`, and for a server with `acceptFailover()`.
    public static var rolledBack: StorageError.Code { StorageError.Code("rolledBack") }
    /// A migration failed: a closure of the program threw an error, a source cannot be decoded, or the written value
    /// could not be read back.
    ///
    /// The value is still in its previous location. Fix the code, or the value that the message names. The next read or
    /// sweep tries again.
    public static var migrationFailed: StorageError.Code { StorageError.Code("migrationFailed") }
    /// The value would have weaker protection or weaker durability than it has now, or than its catalog demands.
    ///
    /// The call changed nothing. Choose a stronger store. To accept the weaker one for a migration, set
    /// ``MigrationOptions/allowsWeakerProtection``.
    public static var weakerProtection: StorageError.Code { StorageError.Code("weakerProtection") }
    /// It is unknown whether a plan would succeed, or whether a slot contains the value that a killed program was
    /// writing.
    ///
    /// The call changed nothing. A plan does not run the custom migrations and hooks of a program, so it cannot foresee
    /// their effects. In the other case, repeat the call from a program that may write the database.
    public static var cannotTell: StorageError.Code { StorageError.Code("cannotTell") }
    /// The shared router already exists, because the program used ``StorageRouter/shared`` before.
    ///
    /// The existing router is unchanged. Call `bootstrap` once, at the start of the program:
    ///
    /// ```swift
    /// do { try StorageRouter.bootstrap(.xdg(applicationID: "com.example.weather")) } catch StorageError.alreadyBootstrapped {
    ///     print("Call bootstrap earlier: StorageRouter.shared was used before.")
    /// } catch { print(error.localizedDescription) }
    /// ```
    public static var alreadyBootstrapped: StorageError.Code { StorageError.Code("alreadyBootstrapped") }
    /// The caller was cancelled. The error's outcome says whether a change may have happened.
    ///
    /// A call of several steps, such as a sweep, keeps the steps that are complete. Repeat the call to do the remaining
    /// steps.
    ///
    /// ```swift
    /// let work = Task { try await storage.set("Graz", for: .city) }
    /// work.cancel()
    /// do { try await work.value } catch let error as StorageError where error.code == .cancelled {
    ///     print(error.outcome == .notApplied ? "Nothing was changed." : "Read the value before you retry.")
    /// } catch is CancellationError { print("Nothing was changed.") } catch { print(error.localizedDescription) }
    /// ```
    public static var cancelled: StorageError.Code { StorageError.Code("cancelled") }
    /// The store does not support the operation, or a file has a format of a later version.
    ///
    /// For example, a batch changes keys of several stores. The call changed nothing. The message says what to do
    /// instead.
    public static var unsupported: StorageError.Code { StorageError.Code("unsupported") }
    /// The router was shut down with ``StorageRouter/shutdown(waitingAtMost:)``.
    ///
    /// The call changed nothing. Create another router to continue.
    public static var shutDown: StorageError.Code { StorageError.Code("shutDown") }
}

extension StorageError {
    /// Whether the stored bytes are not a value that this key can read.
    var meansUndecodable: Bool {
        [StorageError.undecodable, StorageError.corrupted, StorageError.encryptionKeyMismatch].contains(code)
    }

    /// Whether the error says "not now" rather than "not so".
    package var isTransient: Bool {
        [
            StorageError.locked, StorageError.unavailable, StorageError.timedOut, StorageError.promptDismissed, StorageError.cancelled,
            StorageError.conflict,
        ]
        .contains(code)
    }

    /// Whether a store was not changed because it is full or read-only. It may be readable. After an unknown outcome, a read
    /// finds out what was written.
    var meansUnwritable: Bool { outcome != .applied && (code == StorageError.noSpace || code == StorageError.accessDenied) }
}
