import ArgumentParser
import Foundation
import LocalData
import LocalDataBackup
import LocalDataImporters

/// The options that select the values to export or import.
struct ValuesOptions: ParsableArguments {
    @Argument(help: DomainArgument.help) var domain: DomainArgument
    @Flag(help: "LocalData itself seals the values: the keys have the policy .encrypted.") var sealed = false

    /// How precisely the command must select the application: sealed values belong to one.
    var selection: StorageUse.Selection { sealed ? .identified : .any }

    /// Creates a key for each name.
    func keys(_ names: [String]) -> [AnyStorageKey] {
        names.map { name in
            .key(
                StorageKey<DocumentValue>(
                    name: name, domain: domain.domain, security: sealed ? .encrypted : .automatic, owner: "localdata",
                    description: "Given on the command line"))
        }
    }
}

/// `localdata export`: writes values as lines of JSON.
struct Export<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "export", abstract: "Writes values as lines of JSON: sealed into a file, or plain to standard output.",
            discussion: """
                The tool asks for the passphrase, or reads a line of standard input. The file must not exist. Sealing keys are left out.

                Example: \(Options.program) export sqlite:documents --to documents.export
                """)
    }

    @OptionGroup var values: ValuesOptions
    @Argument(help: "The names of the values. Default: all names in the domain.") var names: [String] = []
    @Option(help: "The sealed file.", completion: .file()) var to: String?
    @Flag(help: "Print the values to standard output, for everyone who can read that.") var asPlaintextThatAnyoneCanRead = false
    @OptionGroup var secret: SecretOptions
    @OptionGroup var place: Options

    func validate() throws {
        if (to == nil) != asPlaintextThatAnyoneCanRead {
            throw ValidationError("Give one of the two: --to FILE or --as-plaintext-that-anyone-can-read.")
        }
    }

    func run() async throws {
        let report = try await place.withRouter(for: [values.domain.domain], selection: values.selection) { router in
            if let to { try NamedFile.requireNew(to) }
            var keys: [AnyStorageKey] = []
            let stored = try await router.names(of: values.domain.domain)
            if let unknown = names.first(where: { !stored.contains($0) }) {
                throw Refusal(
                    status: .noValue, code: "notFound", name: unknown,
                    message: "There is no value \(unknown) in \(values.domain.domain.text). Nothing was written.")
            }
            let chosen = names.isEmpty ? stored : names
            for key in values.keys(chosen) where try await !router.holdsSealingKey(key) { keys.append(key) }
            guard let to else {
                return try await router.exportAsPlaintextThatAnyoneCanRead(keys) { Output.bytes($0) }
            }
            return try await router.export(keys, to: URL(fileURLWithPath: to), openedBy: [try await secret.ask(isNew: true)])
        }
        if to == nil { return }
        if place.json { return try Output.json(["written": report.written]) }
        for name in report.written { Output.line(name) }
    }
}

/// The options of an import from another program. At most one of them can be given.
struct ForeignSourceOptions: ParsableArguments {
    @Option(help: "A property list of another program, such as a file of UserDefaults from a Mac.", completion: .file())
    var fromPlist: String?
    @Option(help: "A file that NSKeyedArchiver wrote on a Mac. Its only object is stored under the name.", completion: .file())
    var fromArchive: String?
    @Option(help: "An attribute of the keyring item of another program, as ATTRIBUTE=TEXT. Repeat the option for each attribute.")
    var fromKeyring: [String] = []

    var isGiven: Bool { fromPlist != nil || fromArchive != nil || !fromKeyring.isEmpty }

    /// Reads the named values.
    func values(_ names: [String], _ configuration: StorageConfiguration) async throws -> [String: DocumentValue] {
        if let fromPlist {
            try NamedFile.requireExisting(fromPlist)
            return try await ImportSource.propertyList(at: URL(fileURLWithPath: fromPlist)).values(names, configuration)
        }
        if let fromArchive {
            try NamedFile.requireExisting(fromArchive)
            let values = try await ImportSource.keyedArchive(at: URL(fileURLWithPath: fromArchive)).values(nil, configuration)
            guard names.count == 1, values.count == 1, let only = values.values.first else { return values }
            return [names[0]: only]
        }
        return try await ImportSource.keyringItems([names[0]: attributes()]).values(names, configuration)
    }

    /// Checks the options.
    /// - Parameter isExport: Whether an export is given, too.
    func validate(_ names: [String], isExport: Bool) throws {
        let given = [isExport, fromPlist != nil, fromArchive != nil, !fromKeyring.isEmpty].filter { $0 }
        if given.count > 1 { throw ValidationError("Give one source: --from, --from-plist, --from-archive or --from-keyring.") }
        if !fromKeyring.isEmpty, names.count != 1 { throw ValidationError("--from-keyring stores one item: give one name.") }
        _ = try attributes()
    }

    private func attributes() throws -> [String: String] {
        var attributes: [String: String] = [:]
        for text in fromKeyring {
            let parts = text.split(separator: "=", maxSplits: 1).map(String.init)
            guard parts.count == 2, attributes.updateValue(parts[1], forKey: parts[0]) == nil else {
                throw ValidationError("--from-keyring takes ATTRIBUTE=TEXT, and each attribute once.")
            }
        }
        return attributes
    }
}

/// `localdata import`: stores the values of an export, or of another program.
struct Import<Options: StorageOptions>: AsyncParsableCommand {
    static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "import", abstract: "Stores the values of an export or of another program, and reports the result for each.",
            discussion: """
                An existing value stays, unless --replace. Without --from, plain lines are read from standard input. Names that the export \
                has and the command does not name are not stored. The files and items of other programs are only read.

                Example: \(Options.program) import sqlite:documents draft --from documents.export
                """)
    }

    @OptionGroup var values: ValuesOptions
    @Argument(help: "The names of the values to store.") var names: [String]
    @Option(help: "The sealed file.", completion: .file()) var from: String?
    @OptionGroup(title: "Other programs") var foreign: ForeignSourceOptions
    @Flag(help: "Store over other values, which are lost.") var replace = false
    @OptionGroup var consent: ConsentOptions
    @OptionGroup var secret: SecretOptions
    @OptionGroup var place: Options

    func validate() throws { try foreign.validate(names, isExport: from != nil) }

    func run() async throws {
        let report = try await place.withRouter(for: [values.domain.domain], selection: values.selection, effect: .changes, creates: true) {
            router in
            let keys = values.keys(names)
            for key in keys where try await router.holdsSealingKey(key) {
                throw ValidationError("\(key.name) in \(key.domain.text) is a sealing key. Nothing was changed.")
            }
            if replace {
                try await consent.require(
                    "This replaces those of the \(keys.count) values that differ from the export.", of: router.configuration)
            }
            if foreign.isGiven {
                return try await router.importDocuments(
                    try await foreign.values(names, router.configuration), into: keys, replacing: replace)
            }
            if let from {
                try NamedFile.requireExisting(from)
                return try await router.importValues(
                    from: URL(fileURLWithPath: from), with: try await secret.ask(), into: keys, replacing: replace)
            }
            let lines = try FileHandle.standardInput.readToEnd() ?? Data()
            return try await router.importPlaintext(lines, into: keys, replacing: replace)
        }
        let handled = report.added + report.replaced + report.unchanged + report.kept + report.expired
        let absent = names.filter { !handled.contains($0) }
        if place.json { try Output.json(report) } else { show(report) }
        if absent.isEmpty { return }
        for name in absent {
            Failure.write(foreign.isGiven ? "not in the source: \(name)" : "not in the export of \(values.domain.domain.text): \(name)")
        }
        throw ExitCode(ExitStatus.noValue.rawValue)
    }

    private func show(_ report: ImportReport) {
        for (outcome, names) in [
            ("added", report.added), ("replaced", report.replaced), ("unchanged", report.unchanged), ("kept", report.kept),
            ("expired", report.expired), ("not named", report.unknown),
        ] { for name in names { Output.line("\(outcome) \(name)") } }
    }
}
