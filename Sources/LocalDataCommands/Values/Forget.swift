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

                Before the question, the command lists what it destroys, with application and user. A database of another application is \
                refused (exit status 78), and so are files of another user (77), also for root. With --everything, a database or the \
                ledger in the folder must name the application.

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
        try await place.withRouter(selection: everything ? .identified : selection(for: domains), effect: .changes) { router in
            try await KnownStores(router).require(domains, orLost: true)
            let stores = try await router.storesToForget(everything ? nil : domains)
            if everything, !stores.isEmpty { try await place.requireNamed(router.configuration) }
            let names =
                everything ? "everything that \(router.configuration.applicationID) stored" : domains.map(\.text).joined(separator: ", ")
            try await consent.require(Self.listed(stores) + "This destroys \(names).")
            if everything { try await router.forgetEverything() }
            for domain in domains { try await router.forget(domain) }
        }
        if place.json { try Output.done() }
    }

    /// The largest number of listed files that are no stores.
    private static var mostFiles: Int { 20 }

    /// Returns the stores with their owners, a line each.
    private static func listed(_ stores: [ForgottenStore]) -> String {
        var lines: [String] = []
        for line in stores.filter({ $0.name != nil }).map(\.line) where lines.last != line { lines.append(line) }
        let files = stores.filter { $0.name == nil }.map(\.line)
        lines += files.prefix(mostFiles)
        if files.count > mostFiles { lines.append("and \(files.count - mostFiles) more files in these folders") }
        return lines.map { "\($0)\n" }.joined()
    }

    /// Every database belongs to an application, and so does the default service of the keyring. The items of another keyring service and a
    /// property list need not.
    private func selection(for domains: [StorageDomain]) -> StorageUse.Selection {
        domains.contains { $0.kind == .encryptedSQLite || $0 == .keychain } ? .identified : .any
    }
}
