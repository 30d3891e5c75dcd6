import BackendContract

/// Records what the program did to its data, and keeps the bytes that it displaced: the ledger, the registered keys, and the quarantine.
final class History: Sendable {
    let ledger: MigrationLedger
    let expiries: ExpiryWatch
    let quarantine: Quarantine
    let registry: KeyRegistry
    /// Receives the events that operators see.
    let events: EventReport
    /// The version of the program; nil for one that does not say.
    let applicationVersion: String?

    init(
        _ ledger: MigrationLedger, _ expiries: ExpiryWatch, _ quarantine: Quarantine, _ registry: KeyRegistry, _ events: EventReport,
        applicationVersion: String?
    ) {
        (self.ledger, self.expiries, self.quarantine) = (ledger, expiries, quarantine)
        (self.registry, self.events, self.applicationVersion) = (registry, events, applicationVersion)
    }

    /// Notes a commit to a domain.
    /// - Parameter expires: Whether the commit stored a value that expires.
    func noteCommit(to domain: StorageDomain, expires: Bool) async {
        ledger.uses(domain)
        if expires { await expiries.forgetUnsteady() }
    }
}
