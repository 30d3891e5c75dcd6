extension StorageRouter: EnvironmentHost {
    /// A router over the same stores that records instead of writing. It knows what is registered here, and nothing that is done with it changes anything here.
    nonisolated func rehearsal() -> any EnvironmentHost { rehearsing() }
}
