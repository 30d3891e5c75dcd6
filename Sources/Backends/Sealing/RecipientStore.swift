package import BackendContract

/// A store whose data keys are wrapped for several recipients. A recipient is a key that can unwrap them.
package protocol RecipientStore: Sendable {
    /// Returns the recipients: the keys that can unwrap the data keys. The list is empty if the store does not exist
    /// yet.
    /// - Throws: ``BackendError``.
    func recipients() async throws(BackendError) -> [KeyTables.Recipient]

    /// Changes the recipients, for example adds a recovery key. The change is durable when the call returns. A store
    /// that does not exist yet is created.
    /// - Throws: ``BackendError``.
    func change(_ change: KeyTables.Change) async throws(BackendError)

    /// Makes the key of this store's key source a recipient, and removes the keys of all other sources from the
    /// recipients. The change is durable when the call returns.
    /// - Parameter old: The holder of a key that opens the store now.
    /// - Throws: ``BackendError``. Then nothing was changed.
    func takeOver(from old: OldHolder) async throws(BackendError)
}

/// The holder of a key that opens a store, for a store that its own key source cannot open.
package enum OldHolder: Sendable {
    /// Another key source.
    case source(any KeySource)
    /// A recovery key. The key in the store's source is lost, so the source may get a new key.
    case recovery(RecoveryKeyPair)
}
