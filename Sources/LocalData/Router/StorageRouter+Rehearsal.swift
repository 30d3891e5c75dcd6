extension StorageRouter: EnvironmentHost {
    /// Returns a router for a rehearsal. It uses the same stores, but it records writes instead of performing them. It
    /// has the same registered keys. Its calls do not change this router.
    nonisolated func rehearsal() -> any EnvironmentHost { rehearsing() }
}
