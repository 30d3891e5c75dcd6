/// Handles values that have disappeared without being removed. The router only detects this for keys with a witness,
/// which records outside of the store that a value exists: see ``StorageKey/witnessed()``.
extension StorageRouter {
    /// Accepts that a value has vanished. From now on the key counts as absent: its default is returned, and an older
    /// copy may be migrated. This decision is durable when the call returns. An existing value is not changed.
    ///
    /// ```swift
    /// do {
    ///     signIn(with: try await storage.get(vaultKey))
    /// } catch StorageError.vanished {
    ///     // The keyring was reset. The user has no backup of it and wants to begin again.
    ///     try await storage.acknowledgeLoss(for: vaultKey)
    ///     askForToken()
    /// }
    /// ```
    /// - Parameter key: A key with a witness. For other keys the call does nothing.
    /// - Throws: ``StorageError`` when the list of witnesses cannot be written.
    @concurrent
    public nonisolated func acknowledgeLoss<Value>(for key: StorageKey<Value>) async throws {
        try await call("acknowledgeLoss", key) {
            let route = try entry(key).route
            guard let witnesses = route.witnesses else { return }
            try await slots.withLane(route) { try await witnesses.acknowledge(at: route) }
        }
    }
}
