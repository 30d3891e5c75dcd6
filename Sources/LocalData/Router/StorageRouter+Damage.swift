/// Values that are gone without having been removed: ``StorageKey/witnessed()``.
extension StorageRouter {
    /// Accepts that a value has vanished: from now on the key is absent, its default is returned, and an older copy may take its place. Durable when
    /// it returns. A value that is there is not touched.
    /// - Parameter key: A key with a witness; nothing happens for another one.
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
