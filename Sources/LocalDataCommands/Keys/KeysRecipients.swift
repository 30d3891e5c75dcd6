import ArgumentParser
import LocalData
import LocalDataBackup

/// The JSON output for a key source or a recovery key that opens a database.
struct ShownRecipient: Encodable {
    let id, source: String
    let isRecoveryKey: Bool

    init(_ recipient: KeyRecipient) { (id, source, isRecoveryKey) = (recipient.id, recipient.source, recipient.isRecoveryKey) }
}

/// The keys that open a database: its recipients.
extension Keys {
    /// `localdata keys recipients`: lists the keys that open a database.
    struct Recipients: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "recipients", abstract: "Lists the key sources and recovery keys that open a database.",
                discussion: "Example: \(Options.program) keys recipients sqlite:documents")
        }

        @Argument(help: DomainArgument.help) var domain: DomainArgument
        @OptionGroup var place: Options

        func run() async throws {
            let recipients = try await place.withRouter(for: [domain.domain]) { try await $0.keyRecipients(of: domain.domain) }
            if place.json { return try Output.json(recipients.map(ShownRecipient.init)) }
            for recipient in recipients { Output.line("\(recipient)") }
        }
    }

    /// `localdata keys add`: adds a recovery key to a database.
    struct Add: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "add", abstract: "Adds a recovery key to a database, and prints it once.",
                discussion: """
                    Write the recovery key down, and keep it outside of this machine: the tool does not store it. With the key and a copy \
                    of the database, anyone can read the values. With --existing, the command adds a recovery key that another database \
                    already has.

                    Example: \(Options.program) keys add sqlite:documents
                    """)
        }

        @Argument(help: DomainArgument.help) var domain: DomainArgument
        @Flag(help: "Add an existing recovery key, which is typed, or is a line of standard input.") var existing = false
        @OptionGroup var place: Options

        func run() async throws {
            try await place.withRouter(for: [domain.domain], effect: .changes) { router in
                let key = existing ? try await SecretOptions.recoveryKey() : RecoveryKey(for: router.configuration)
                // Printed before it is added: if it cannot be printed, the process ends here, and the key opens nothing.
                if !existing { try place.json ? Output.json(["recoveryKey": key.text]) : Output.line(key.text) }
                _ = try await router.addRecoveryKey(key, to: domain.domain)
            }
            if existing, place.json { try Output.done() }
            if !existing, !place.json {
                Failure.write("Write this recovery key down. It is not stored on this machine, and is not shown again.")
            }
        }
    }

    /// `localdata keys remove`: removes a recovery key from a database.
    struct RemoveRecoveryKey: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "remove", abstract: "Removes a recovery key from a database.",
                discussion: """
                    Copies of the file that were made before still open with the recovery key.

                    Example: \(Options.program) keys remove sqlite:documents 5b0d6a4b51f0a3c9 --yes
                    """)
        }

        @Argument(help: DomainArgument.help) var domain: DomainArgument
        @Argument(help: "The id of the recovery key, as keys recipients lists it.") var id: String
        @OptionGroup var consent: ConsentOptions
        @OptionGroup var place: Options

        func run() async throws {
            let domain = domain.domain
            try await place.withRouter(for: [domain], effect: .changes) { router in
                let recipients = try await router.keyRecipients(of: domain)
                guard let recipient = recipients.first(where: { $0.id == id }) else {
                    throw Refusal.unknown(
                        "unknownKey", id, "The database has no key with the id \(id).", known: recipients.filter(\.isRecoveryKey).map(\.id))
                }
                try await consent.require("The recovery key \(id) then no longer opens \(domain.text).", of: router.configuration)
                try await router.removeRecoveryKey(recipient, from: domain)
            }
            if place.json { try Output.done() }
        }
    }
}
