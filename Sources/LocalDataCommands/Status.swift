import ArgumentParser
import BackendContract
import LocalData

/// `localdata status`: shows whether domains are usable.
struct Status<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "status", abstract: "Shows whether domains can be used, and who keeps a keyring, without opening a prompt.",
            discussion: """
                Without DOMAIN, the command shows all stores of the application, or the session's keyring if no application is named. Exit \
                status 75 if a domain is locked, 65 if one is lost, and the status of the error if one is unavailable.

                Example: \(Options.program) status sqlite:documents keychain
                """)
    }

    /// The JSON output for a domain.
    private struct Shown: Encodable {
        let domain: String
        /// `ready`, `locked`, `absent`, `unavailable` or `lost`.
        let status: String
        /// The reason why the domain is unavailable.
        var message: String?
        /// A warning about the store on this machine.
        var warning: String?
        /// The program that provides the keyring, its default collection, and the encryption of the connection to it.
        var provider, collection, algorithm: String?

        init(_ domain: StorageDomain, _ status: DomainStatus, _ keyring: KeyringDescription?, _ warning: String?) {
            self.warning = warning
            self.domain = domain.text
            (provider, collection, algorithm) = (keyring?.provider, keyring?.collection, keyring?.algorithm)
            if case .unavailable(let error) = status {
                (self.status, message) = ("unavailable", DomainWords.replacing(in: error.message))
                exit = ExitStatus(of: error)
            } else {
                self.status = "\(status)"
                exit = if case .locked = status { .tryAgain } else { .done }
            }
        }

        init(lost domain: StorageDomain) { (self.domain, status, exit) = (domain.text, "lost", .damaged) }

        /// The exit status that this status alone has.
        let exit: ExitStatus

        private enum CodingKeys: CodingKey { case domain, status, message, warning, provider, collection, algorithm }
    }

    @Argument(help: DomainArgument.help) var domains: [DomainArgument] = []
    @OptionGroup var place: Options

    func run() async throws {
        let shown = domains.isEmpty ? try await all() : try await named(domains.map { try place.stateDomain(of: $0.domain) })
        if place.json { try Output.json(shown) }
        if let worst = shown.map(\.exit.rawValue).max(), worst != 0 { throw ExitCode(worst) }
    }

    /// Shows the named domains. The state of the keyring does not depend on a service, so every service counts as existing.
    private func named(_ domains: [StorageDomain]) async throws -> [Shown] {
        try await place.withRouter(for: domains, creates: true) { router in
            let finder = StoreFinder(router.configuration)
            try await KnownStores(router).require(domains.filter { $0.kind != .keychain || finder.hasVaults })
            return try await show(domains, router)
        }
    }

    /// Shows all stores of the application, or the keyring if no application is named.
    private func all() async throws -> [Shown] {
        if try await place.reporting({ try place.choices() }) != nil {
            return try await named([try place.stateDomain(of: .keychain)])
        }
        return try await place.withRouter(selection: .placed) { router in
            let stores = try await ApplicationStores(router).find()
            var shown = try await show(stores.filter { $0.state != .lost }.map(\.domain), router)
            for store in stores where store.state == .lost {
                shown.append(Shown(lost: store.domain))
                if !place.json { Output.line("\(store.domain.text): LOST: the ledger records it, and its file does not exist") }
            }
            if stores.isEmpty, !place.json { Failure.write("There is no store.") }
            return shown
        }
    }

    private func show(_ domains: [StorageDomain], _ router: StorageRouter) async throws -> [Shown] {
        var shown: [Shown] = []
        for domain in domains {
            let status = await router.status(of: domain)
            // An unavailable keyring has no description. The status already contains the reason.
            let keyring = try? await router.keyring(of: domain)
            let warning = router.warning(about: domain)
            let entry = Shown(domain, status, keyring, warning)
            shown.append(entry)
            if place.json { continue }
            // The warning about SQLite concerns the machine, not the database. Doctor shows it.
            if let warning, domain.kind != .encryptedSQLite { Failure.write("\(domain.text): \(warning)") }
            Output.line("\(entry.domain): \(entry.status)\(entry.message.map { ": \($0)" } ?? "")")
            if let keyring { Output.line("  \(keyring)") }
        }
        return shown
    }
}

/// `localdata unlock`: unlocks a domain. No other command opens a keyring's password prompt.
struct Unlock<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "unlock", abstract: "Unlocks a domain; the keyring may ask for its password.",
            discussion: "Example: \(Options.program) unlock keychain")
    }

    @Argument(help: DomainArgument.help) var domain: DomainArgument
    @OptionGroup var place: Options

    func run() async throws {
        let domain = try place.stateDomain(of: domain.domain)
        try await place.withRouter(for: [domain], creates: true, isRemedy: true) { router in
            let finder = StoreFinder(router.configuration)
            if domain.kind != .keychain || finder.hasVaults { try await KnownStores(router).require([domain]) }
            try await router.unlock(domain)
        }
        if place.json { try Output.done() }
    }
}
