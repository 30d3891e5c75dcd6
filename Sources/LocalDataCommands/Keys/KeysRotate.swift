import ArgumentParser
import LocalData
import LocalDataBackup

/// Replaces keys by new ones, and destroys older ones.
extension Keys {
    /// `localdata keys rotate`: replaces the data key of a database, which seals its rows, or the key in a key source.
    struct Rotate: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "rotate", abstract: "Replaces the data key of a database, or the key in the key source.",
                discussion: """
                    With DOMAIN, the command seals all rows of the database with a new data key, and destroys the old one. Without it, the \
                    command makes a new key in the key source, and seals the data keys of databases and vaults, and the quarantine, with \
                    it. A program that mounts these commands also seals single values again. The older key stays in the source, until \
                    destroy-older. The program may run at the same time. A repeated call continues after an interruption.

                    Example: \(Options.program) keys rotate sqlite:documents
                    """)
        }

        @Argument(help: DomainArgument.help) var domain: DomainArgument?
        @OptionGroup var place: Options

        func run() async throws {
            if let domain { try await rotateDataKey(domain.domain) } else { try await rotateSource() }
        }

        private func rotateDataKey(_ domain: StorageDomain) async throws {
            let count = try await place.withRouter(for: [domain], effect: .changes) { router in
                try await ProgressPrinter.showing(unless: place.json) { printer in
                    try await router.rotateDataKey(of: domain) { progress in
                        printer?.show(domain.text, done: progress.done, total: progress.total, unit: .things("rows"))
                    }
                }
            }
            if place.json { return try Output.json(["rows": count]) }
            Output.line("sealed with a new data key: \(quantity(count, of: "row"))")
        }

        private func rotateSource() async throws {
            let report = try await place.withRouter(selection: .identified, effect: .changes) { router in
                try await ProgressPrinter.showing(unless: place.json) { printer in
                    try await router.rotateKey { printer?.show("key source", done: $0, total: nil, unit: .things("databases and values")) }
                }
            }
            if place.json {
                try Output.json(ShownRotation(report))
            } else {
                Output.line("\(report.databases) databases and \(report.values) single values have the new key.")
                Output.line("The source keeps \(report.olderKeys) older key\(report.olderKeys == 1 ? "" : "s").")
                if report.databases == 0, report.values == 0, report.remaining.isEmpty, report.olderKeys > 0 {
                    Failure.write(
                        "No new key was made, because the source keeps an older key. To make one, destroy the older key first: keys destroy-older."
                    )
                }
                for text in report.remaining { Output.line("Not done: \(DomainWords.replacing(in: text))") }
            }
            if !report.isComplete { throw ExitCode(ExitStatus.tryAgain.rawValue) }
        }
    }

    /// `localdata keys destroy-older`: destroys the keys of a source that a rotation has replaced.
    struct DestroyOlder: AsyncParsableCommand {
        static var configuration: CommandConfiguration {
            CommandConfiguration(
                commandName: "destroy-older", abstract: "Destroys the keys of the key source that a rotation has replaced.",
                discussion: """
                    The command is refused while data or a running program needs an older key. It needs the keys of the program, which say \
                    where sealed values are. So only a program that mounts these commands destroys keys. Values that no catalog contains \
                    are lost with the key.

                    Example: \(Options.catalogExample("keys destroy-older"))
                    """)
        }

        @OptionGroup var consent: ConsentOptions
        @OptionGroup var place: Options

        func run() async throws {
            _ = try place.requireCatalogs("keys destroy-older")
            try await place.withRouter(selection: .identified, effect: .changes) { router in
                try await consent.require(
                    "This destroys the older keys of the key source. Data that only they open is lost for good.", of: router.configuration)
                try await router.deleteOlderKeys()
            }
            if place.json { try Output.done() }
        }
    }
}

/// The JSON output for a rotation of the key in a key source.
private struct ShownRotation: Encodable {
    let databases: Int
    let olderKeys: Int
    let remaining: [String]
    let values: Int

    init(_ report: KeyRotationReport) {
        (databases, olderKeys, values) = (report.databases, report.olderKeys, report.values)
        remaining = report.remaining.map(DomainWords.replacing(in:))
    }
}
