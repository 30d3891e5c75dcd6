/// A store that holds keys in memory while it is open.
package protocol KeyHoldingStore: Sendable {
    /// Closes the store, lets go of its keys, and refuses every call as `locked` until ``endLock()`` or an unlocking of the store. What is under way on the store's lane is
    /// finished first, as far as it ends within the limit; the rest ends as it can, and the keys go with it.
    func lock(within limit: Duration) async

    /// Lets the store be opened again: the next call fetches the key.
    func endLock()

    /// Closes the store and lets go of its keys if the place where its own key is kept is locked.
    /// - Returns: Whether it did.
    func followSource() async -> Bool
}
