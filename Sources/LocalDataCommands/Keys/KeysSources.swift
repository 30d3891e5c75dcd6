import ArgumentParser
import LocalData
import LocalDataBackup

/// Changes of the key source of a database, and of its passphrase.
extension Keys {
    /// `localdata keys change-passphrase`: changes the passphrase of a key source.
    struct ChangePassphrase: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "change-passphrase", abstract: "Changes the passphrase that protects the key of a key source.",
                discussion: """
                    The command asks for the present passphrase and for the new one on the terminal. The key stays the same. Copies of the \
                    passphrase file that were made before still open with the old passphrase.

                    Example: \(Options.program) keys change-passphrase --passphrase
                    """)
        }

        @OptionGroup var place: Options

        func run() async throws {
            try await place.withRouter(selection: .identified, effect: .changes) { router in
                let source = router.configuration.keySource
                guard case .passphrase(let name) = source.form else {
                    throw ValidationError("The source is \(source), without a passphrase. Name another one: --passphrase or --key-source.")
                }
                guard let old = await Terminal.askPassphrase("\(name), the present one", twice: false),
                    let new = await Terminal.askPassphrase(name, twice: true)
                else { throw ValidationError("No passphrase was given. Nothing was changed.") }
                try await router.changePassphrase(of: source, from: old, to: new)
            }
            if place.json { try Output.done() }
        }
    }

    /// `localdata keys change-source`: gives a database to another key source.
    struct ChangeSource: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "change-source", abstract: "Gives a database to another key source.",
                discussion: """
                    The options name the new source, and --from names the present one. Afterwards, the key of the old source does not open \
                    the database. No row is rewritten. The configuration of the program must name the new source, too.

                    Example: \(Options.program) keys change-source sqlite:documents --from keyring --key-source credential:documents-key
                    """)
        }

        @Argument(help: DomainArgument.help) var domain: DomainArgument
        @Option(help: ArgumentHelp("The source that opens the database now.", valueName: "source")) var from: KeySourceArgument
        @OptionGroup var place: Options

        func run() async throws {
            try await place.withRouter(for: [domain.domain], effect: .changes) {
                try await $0.changeKeySource(of: domain.domain, from: from.reference)
            }
            if place.json { try Output.done() }
        }
    }
}
