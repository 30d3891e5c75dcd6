import LocalData

/// Lists the stores of an application: those in its folders, those that its ledger records, those of its sealing keys, and those of its
/// registered keys.
struct ApplicationStores {
    private let router: StorageRouter
    private var finder: StoreFinder { StoreFinder(router.configuration) }

    init(_ router: StorageRouter) { self.router = router }

    /// Returns the stores, sorted.
    /// - Throws: ``StorageError`` when a folder cannot be listed. A ledger that cannot be read is reported on standard error.
    func find() async throws -> [(domain: StorageDomain, state: StoreSummary.State)] {
        var recorded: Swift.Set<StorageDomain> = []
        do { recorded = try await finder.recorded() } catch let error as StorageError {
            Failure.write("The ledger cannot be read, so lost stores are not found: \(DomainWords.replacing(in: error.message))")
        }
        let files = try await finder.files()
        let registered = router.registeredDomains
        // In a session, programs share the folder of property lists.
        let ownsLists = try finder.configuration.directories?.ownsPreferences ?? false
        let ownsDefaults = finder.configuration.ownsStandardList
        let defaults = StorageDomain.userDefaults(suite: finder.configuration.userDefaultsName)
        let own = files.filter { domain in
            domain.kind != .userDefaults || ownsLists || ownsDefaults && domain == defaults || recorded.contains(domain)
                || registered.contains(domain)
        }
        let all = own.union(recorded).union(registered).union(finder.keyServices())
        return all.sorted { $0.text < $1.text }.map { ($0, state(of: $0, files, recorded)) }
    }

    private func state(
        of domain: StorageDomain, _ files: Swift.Set<StorageDomain>, _ recorded: Swift.Set<StorageDomain>
    ) -> StoreSummary.State {
        if !finder.areFiles(domain.kind) || files.contains(domain) { return .present }
        return recorded.contains(domain) && StoreFinder.canBeLost(domain.kind) ? .lost : .declared
    }
}
