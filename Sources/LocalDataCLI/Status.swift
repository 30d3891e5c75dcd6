import ArgumentParser
import BackendContract
import LocalData

/// `localdata status`: shows whether domains are usable.
struct Status: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Shows whether domains can be used, and who keeps a keyring, without opening a prompt.")

    /// The JSON output for a domain.
    private struct Shown: Encodable {
        let domain: String
        /// `ready`, `locked`, `absent` or `unavailable`.
        let status: String
        /// The reason why the domain is unavailable.
        let message: String?
        /// A warning about the store on this machine.
        let warning: String?
        /// The program that provides the keyring, its default collection, and the encryption of the connection to it.
        let provider, collection, algorithm: String?

        init(_ domain: StorageDomain, _ status: DomainStatus, _ keyring: KeyringDescription?, _ warning: String?) {
            self.warning = warning
            self.domain = "\(domain)"
            (provider, collection, algorithm) = (keyring?.provider, keyring?.collection, keyring?.algorithm)
            if case .unavailable(let error) = status {
                (self.status, message) = ("unavailable", error.message)
            } else {
                (self.status, message) = ("\(status)", nil)
            }
        }
    }

    @Argument(help: DomainArgument.help) var domains: [DomainArgument] = []
    @OptionGroup var place: PlaceOptions

    func run() async throws {
        let domains = domains.isEmpty ? [StorageDomain.keychain] : domains.map(\.domain)
        let worst = try await place.withRouter(for: domains) { router in
            var worst: Int32 = 0
            var shown: [Shown] = []
            for domain in domains {
                let status = await router.status(of: domain)
                // An unavailable keyring has no description. The status already contains the reason.
                let keyring = try? await router.keyring(of: domain)
                let warning = router.warning(about: domain)
                if !place.json, let warning { Failure.write("\(domain): \(warning)") }
                if place.json { shown.append(Shown(domain, status, keyring, warning)) } else { Output.line("\(domain): \(status)") }
                if !place.json, let keyring { Output.line("  \(keyring)") }
                switch status {
                case .ready, .absent: break
                case .locked: worst = max(worst, 75)
                case .unavailable: worst = max(worst, 69)
                }
            }
            if place.json { try Output.json(shown) }
            return worst
        }
        if worst != 0 { throw ExitCode(worst) }
    }
}

/// `localdata unlock`: unlocks a domain. No other command opens a keyring's password prompt.
struct Unlock: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Unlocks a domain; the keyring may ask for its password.")

    @Argument(help: DomainArgument.help) var domain: DomainArgument
    @OptionGroup var place: PlaceOptions

    func run() async throws {
        try await place.withRouter(for: [domain.domain], isUnlock: true) { try await $0.unlock(domain.domain) }
        if place.json { try Output.done() }
    }
}
