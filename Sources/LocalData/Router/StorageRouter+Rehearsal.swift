extension StorageRouter: EnvironmentHost {
    /// Returns a router over the same stores that records writes instead of performing them. It has the same registered
    /// keys. Its calls do not change this router.
    nonisolated func rehearsal() -> any EnvironmentHost { rehearsing() }
}
