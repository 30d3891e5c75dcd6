/// A store that holds keys in memory while it is open.
package protocol KeyHoldingStore: Sendable {
    /// Closes the store, releases its keys, and makes every call fail with `locked`, until ``endLock()`` or an unlock
    /// of the store.
    ///
    /// The call waits for running work on the store's lane, up to the limit. Work that takes longer continues, and the
    /// keys are released after it.
    func lock(within limit: Duration) async

    /// Allows the store to be opened again. The next call fetches the key.
    func endLock()

    /// Closes the store and releases its keys if the source of its key is locked.
    /// - Returns: Whether the store was closed.
    func followSource() async -> Bool
}
