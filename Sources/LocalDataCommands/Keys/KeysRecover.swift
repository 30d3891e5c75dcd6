import ArgumentParser
import LocalData
import LocalDataBackup

extension Keys {
    /// `localdata keys recover`: opens a database with a recovery key, after the key of its source was lost.
    struct Recover: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "recover", abstract: "Opens a database with a recovery key, after the key of its source was lost.",
                discussion: """
                    The command asks for the recovery key, or reads a line of standard input. Afterwards, the present key of the key \
                    source opens the database. A source without a key gets a new one. Run the command for each database that the lost key \
                    opened.

                    Example: \(Options.program) keys recover sqlite:documents
                    """)
        }

        @Argument(help: DomainArgument.help) var domain: DomainArgument
        @OptionGroup var place: Options

        func run() async throws {
            let domain = domain.domain
            let recipients = try await place.withRouter(for: [domain], effect: .changes, isRemedy: true) { router in
                try await router.recover(domain, with: try await SecretOptions.recoveryKey())
                return try await router.keyRecipients(of: domain)
            }
            if place.json { return try Output.json(recipients.map(ShownRecipient.init)) }
            Output.line("These keys open \(domain.text) now:")
            for recipient in recipients { Output.line("  \(recipient)") }
            Failure.write("To seal its older values with the new data key, too: \(Options.program) keys rotate \(domain.text)")
        }
    }
}
