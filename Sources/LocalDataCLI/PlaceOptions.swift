import ArgumentParser
import Foundation
import LocalData

/// The storage to work on: the options of every command.
struct PlaceOptions: ParsableArguments {
    @Option(help: "The application id: selects the databases, the quarantine, and the default keyring service.")
    var appID: String?

    @Option(help: "The root folder of a program that stores everything in one folder. Default: the folders of the session.")
    var root: String?

    @Flag(help: "Print one JSON value: on standard output the answer, on standard error an error.")
    var json = false

    @OptionGroup(title: "Key source")
    var key: KeyOptions

    /// Runs a command with a router for this place, then closes the router.
    func withRouter<Answer>(
        for domains: [StorageDomain] = [], changing change: (inout StorageConfiguration) -> Void = { _ in },
        _ body: (StorageRouter) async throws -> Answer
    ) async throws -> Answer {
        // A default owner would only ever show an empty database.
        if appID == nil, root == nil, key.vault || domains.contains(where: { $0.kind == .encryptedSQLite }) {
            throw ValidationError("Name the owner of the database: --app-id or --root.")
        }
        var configuration = try configuration()
        change(&configuration)
        let router = StorageRouter(configuration: configuration)
        do {
            let answer = try await body(router)
            try await router.shutdown()
            return answer
        } catch {
            try? await router.shutdown()
            throw Failure.exit(for: error, asJSON: json)
        }
    }

    /// The configuration of the program.
    func configuration() throws -> StorageConfiguration {
        let applicationID = appID ?? "localdata"
        var configuration: StorageConfiguration =
            root.map { StorageConfiguration(root: URL(fileURLWithPath: $0), applicationID: applicationID) }
            ?? .xdg(applicationID: applicationID)
        do { try key.apply(to: &configuration) } catch { throw Failure.exit(for: error, asJSON: json) }
        return configuration
    }
}

/// A domain as it is written on a command line.
struct DomainArgument: ExpressibleByArgument {
    let domain: StorageDomain

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        switch (parts.first, parts.count == 2 ? parts[1] : nil) {
        case ("defaults", let suite?) where !suite.isEmpty: domain = .userDefaults(suite: suite)
        case ("keychain", nil): domain = .keychain
        case ("keychain", let service?) where !service.isEmpty: domain = .keychain(service: service)
        case ("sqlite", let database?) where !database.isEmpty: domain = .encryptedSQLite(database: database)
        default: return nil
        }
    }

    static var help: ArgumentHelp { "defaults:SUITE, keychain:SERVICE or sqlite:DATABASE; keychain alone means the service of --app-id." }
}
