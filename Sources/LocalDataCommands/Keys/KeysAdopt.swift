import ArgumentParser
import LocalData
import LocalDataBackup

extension Keys {
    /// `localdata keys adopt`: binds a database to its present name and application, after its file was moved, renamed or copied.
    struct Adopt: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "adopt", abstract: "Binds a moved, renamed or copied database to its new name or application.",
                discussion: """
                    DOMAIN is the new name of the database, and the application is the new one. --from is the former name, and \
                    --from-app-id the former application, where they differ. End all programs that use the database first. It gets a new \
                    data key, and every value is sealed again.

                    Example: \(Options.program) keys adopt sqlite:archive --from sqlite:documents
                    """)
        }

        @Argument(help: DomainArgument.help) var domain: DomainArgument
        @Option(help: "The domain that the database was created for.") var from: DomainArgument?
        @Option(help: "The id of the application that created the database.") var fromAppID: String?
        @OptionGroup var place: Options

        func run() async throws {
            try await place.withRouter(for: [domain.domain], effect: .adopts) {
                try await $0.adopt(domain.domain, from: from?.domain, application: fromAppID)
            }
            if place.json { try Output.done() }
        }
    }
}
