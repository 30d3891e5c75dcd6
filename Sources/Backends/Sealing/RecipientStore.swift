package import BackendContract

/// A store whose data keys are wrapped for several recipients.
package protocol RecipientStore: Sendable {
    /// Everybody who can unwrap the data keys; none where there is no store yet.
    /// - Throws: ``BackendError``.
    func recipients() async throws(BackendError) -> [KeyTables.Recipient]

    /// Lets a recovery key open the store, or no longer; durable when it returns. A store that does not exist yet is created for it.
    /// - Throws: ``BackendError``.
    func change(_ change: KeyTables.Change) async throws(BackendError)

    /// Gives the store to its own source's key, and takes it from the keys of all other sources; durable when it returns.
    /// - Parameter old: Who can open the store now.
    /// - Throws: ``BackendError``; nothing was changed then.
    func takeOver(from old: OldHolder) async throws(BackendError)
}

/// Who can open a store whose own source cannot.
package enum OldHolder: Sendable {
    /// Another source.
    case source(any KeySource)
    /// A recovery key: what the own source held is lost, and it may be given a new key.
    case recovery(RecoveryKeyPair)
}
