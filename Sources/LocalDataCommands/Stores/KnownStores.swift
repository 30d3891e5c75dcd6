import LocalData

/// Checks that the stores of a command exist, because an empty list or an absent value would hide a wrong name.
struct KnownStores {
    private let router: StorageRouter
    private var finder: StoreFinder { StoreFinder(router.configuration) }

    init(_ router: StorageRouter) { self.router = router }

    /// Checks that domains have a store.
    /// - Parameter orLost: Whether a store that existed in an earlier run is accepted, too.
    /// - Throws: `Refusal` for a store that does not exist; ``StorageError``.
    func require(_ domains: [StorageDomain], orLost: Bool = false) async throws {
        for domain in domains.map(finder.scoped) {
            if finder.areFiles(domain.kind) {
                try await requireFile(domain, orLost: orLost)
            } else if domain.kind == .keychain, finder.hasKeyring {
                try await requireItems(domain)
            }
        }
    }

    /// Checks that no domain has lost its store, because a new store would hide the loss.
    /// - Throws: `Refusal` for a lost store; ``StorageError``.
    func refuseLost(_ domains: [StorageDomain]) async throws {
        let domains = domains.map(finder.scoped).filter { finder.areFiles($0.kind) && StoreFinder.canBeLost($0.kind) }
        if domains.isEmpty { return }
        let (files, recorded) = (try await finder.files(), (try? await finder.recorded()) ?? [])
        if let lost = domains.first(where: { !files.contains($0) && recorded.contains($0) }) { throw Refusal.lostStore(lost) }
    }

    private func requireFile(_ domain: StorageDomain, orLost: Bool) async throws {
        let files = try await finder.files()
        if files.contains(domain) { return }
        // A damaged ledger must not prevent the use of the stores.
        if let recorded = try? await finder.recorded(), recorded.contains(domain) {
            if orLost || !StoreFinder.canBeLost(domain.kind) { return }
            throw Refusal.lostStore(domain)
        }
        // The first value of a registered key creates the store.
        if router.registeredDomains.contains(domain) { return }
        throw Refusal.unknownStore(domain, known: files.filter { $0.kind == domain.kind }.map(\.text).sorted())
    }

    private func requireItems(_ domain: StorageDomain) async throws {
        let services = finder.keyServices().union((try? await finder.recorded()) ?? []).union(router.registeredDomains)
        if services.contains(domain) { return }
        // A keyring that is locked or unreachable does not prove that a service is unknown. The command reports its state.
        guard let names = try? await router.names(of: domain, onDamage: .report { _, _ in }), names.isEmpty else { return }
        if domain.scope == finder.configuration.applicationID, try await finder.hasFolder() { return }
        throw Refusal.unknownStore(domain, known: services.filter { $0.kind == .keychain }.map(\.text).sorted())
    }
}
