/// Handling of values with a witness that disappeared without being removed. A witness is a record outside of the store
/// that the value exists: see ``StorageKey/witnessed()``.
extension StorageRouter {
    /// Accepts that a value has vanished. From now on the key counts as absent: its default is returned, and an older
    /// copy may be migrated. Durable when it returns. An existing value is not changed.
    /// - Parameter key: A key with a witness. For other keys the call does nothing.
    /// - Throws: ``StorageError`` when the list of witnesses cannot be written.
    @concurrent
    public nonisolated func acknowledgeLoss<Value>(for key: StorageKey<Value>) async throws {
        try await Self.cancellable(key.name) {
            let route = try entry(key).route
            guard let witnesses = route.witnesses else { return }
            try await env.withLane(route) { try await witnesses.acknowledge(at: route) }
        }
    }
}
