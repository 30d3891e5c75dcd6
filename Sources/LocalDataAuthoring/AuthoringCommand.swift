import Foundation
import LocalData

/// The command line of the program that the plugin runs.
struct AuthoringCommand: Sendable {
    static let usage = """
        usage: swift package --allow-writing-to-package-directory localdata COMMAND [OPTION…]

        commands:
          make-migrations   compares each catalog with its recorded snapshot, writes the steps and tests that the changes need, and records
                            the snapshot and the values of the release when its steps are written
          check             fails if a catalog differs from its recorded snapshot, or if its newest version has no recorded values

        options of make-migrations:
          --name NAME       a word for the names of the generated files
          --target TARGET   the target for the steps; by default the one that declares the catalog
          --tests TARGET    the test target for the tests; by default the only one that depends on that target and on LocalDataTesting
          --dry-run         writes nothing
        options of every command:
          --executable NAME the executable target that calls MigrationAuthoring.main, if there are several
        """

    enum Action: String, Sendable {
        case makeMigrations = "make-migrations"
        case check
    }

    let action: Action
    let layout: PackageLayout
    var name: String?
    var target: String?
    var tests: String?
    var isDryRun = false

    /// Parses the arguments.
    /// - Throws: ``AuthoringRefusal`` for unknown arguments.
    init(_ arguments: [String]) throws {
        var rest = arguments[...]
        var layout: PackageLayout?
        var action: Action?
        func value(_ option: String) throws -> String {
            guard let value = rest.popFirst(), !value.isEmpty else { throw Self.refusal("\(option) needs a value.") }
            return value
        }
        while let argument = rest.popFirst() {
            switch argument {
            case "--name": name = try value(argument)
            case "--target": target = try value(argument)
            case "--tests": tests = try value(argument)
            case "--dry-run": isDryRun = true
            case "--layout":
                do { layout = try JSONDecoder().decode(PackageLayout.self, from: Data(try value(argument).utf8)) } catch is DecodingError {
                    throw Self.refusal("--layout has no description of a package.")
                }
            default:
                guard action == nil, let command = Action(rawValue: argument) else { throw Self.refusal("Unknown argument: \(argument)") }
                action = command
            }
        }
        guard let action else { throw Self.refusal("A command is missing.") }
        guard let layout else { throw Self.refusal("This program is run by the plugin: swift package localdata.") }
        self.action = action
        self.layout = layout
    }

    private static func refusal(_ message: String) -> AuthoringRefusal { AuthoringRefusal("\(message)\n\n\(usage)", .usage) }

    /// Runs a command for several catalogs, and returns its output.
    static func run(
        _ arguments: [String], _ catalogs: [any StorageKeyCatalog], configure: (inout StorageConfiguration) -> Void,
        fill: (StorageRouter) async throws -> Void
    ) async -> AuthoringReport {
        var report = AuthoringReport()
        do {
            let command = try AuthoringCommand(arguments)
            let names = try catalogs.map { try CatalogNames($0) }
            if catalogs.isEmpty { throw AuthoringRefusal("Pass the catalogs of the program to MigrationAuthoring.main.") }
            if Set(names.map { $0.identifier.lowercased() }).count < names.count {
                throw AuthoringRefusal("Two catalogs have similar ids, so their files would have the same name. Change the id of one.")
            }
            for (catalog, names) in zip(catalogs, names) {
                let authoring = CatalogAuthoring(
                    command: command, names: names, recorded: RecordedCatalog(names, in: command.layout.package))
                do {
                    switch command.action {
                    case .check: try authoring.check(catalog, &report)
                    case .makeMigrations: try await authoring.make(catalog, &report, configure: configure, fill: fill)
                    }
                } catch { report.fail(error) }
            }
        } catch { report.fail(error) }
        return report
    }
}

extension AuthoringReport {
    fileprivate mutating func fail(_ error: any Error) {
        guard let refusal = error as? AuthoringRefusal else { return fail("\(error)") }
        fail(refusal.message, refusal.kind)
    }
}
