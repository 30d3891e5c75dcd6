import ArgumentParser
import LocalData

/// `localdata forget`: destroys stores and everything that refers to them.
struct Forget<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "forget", abstract: "Destroys stores: their keys, files and items, and every note about them.",
            discussion: """
                Files are overwritten with zeros and removed. The items of a keyring are removed; sealing keys among them stay, except with \
                --everything. A backup or another copy of a file still opens with its key. After an interruption, run the same command \
                again, or start the program: both continue.

                The tool does not know the migrations of a program, so it leaves copies in legacy locations, which the program may migrate \
                again. A program that mounts these commands removes them too.

                Example: \(Options.program) forget sqlite:documents --yes
                """)
    }

    @Argument(help: DomainArgument.help) var domains: [DomainArgument] = []
    @Flag(help: "Forget all stores of the application, with its keys, quarantine and ledger.") var everything = false
    @OptionGroup var consent: ConsentOptions
    @OptionGroup var place: Options

    func validate() throws {
        if everything != domains.isEmpty { throw ValidationError("Name the domains to forget, or give --everything.") }
    }

    func run() async throws {
        let domains = domains.map(\.domain)
        try await place.withRouter(selection: everything ? .identified : selection(for: domains)) { router in
            try await KnownStores(router).require(domains, orLost: true)
            let names =
                everything ? "everything that \(router.configuration.applicationID) stored" : domains.map(\.text).joined(separator: ", ")
            try await consent.require("This destroys \(names).")
            if everything { try await router.forgetEverything() }
            for domain in domains { try await router.forget(domain) }
        }
        if place.json { try Output.done() }
    }

    /// Every database belongs to an application, and so does the default service of the keyring. The items of another keyring service and a
    /// property list need not.
    private func selection(for domains: [StorageDomain]) -> StorageUse.Selection {
        domains.contains { $0.kind == .encryptedSQLite || $0 == .keychain } ? .identified : .any
    }
}
