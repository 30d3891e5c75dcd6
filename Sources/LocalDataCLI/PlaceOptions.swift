import ArgumentParser
import Foundation
import LocalData

/// The storage to work on: the options of every command.
struct PlaceOptions: ParsableArguments {
    @Option(help: "The application id: what databases and sealed values belong to, and the default keyring service.")
    var appID: String?

    @Option(
        help:
            "The folder of a program that keeps everything in one: STATE_DIRECTORY/LocalData of a service. Default: the folders of the session."
    )
    var root: String?

    @Flag(help: "Print one JSON value: on standard output the answer, on standard error an error.")
    var json = false

    @OptionGroup(title: "Key source")
    var key: KeyOptions

    /// Runs a command with a router for this place, then closes the router.
    /// - Parameters:
    ///   - domains: The domains that it works on.
    ///   - isSealed: Whether it reads or writes something sealed, which belongs to an application.
    func withRouter<Answer>(
        for domains: [StorageDomain] = [], isSealed: Bool = false, changing change: (inout StorageConfiguration) -> Void = { _ in },
        _ body: (StorageRouter) async throws -> Answer
    ) async throws -> Answer {
        // With another id, a database that is made here would be refused in the program, and one of the program's would be refused here.
        if isSealed || key.vault || domains.contains(where: { $0.kind == .encryptedSQLite }) { try await requireOwner() }
        var configuration = try configuration()
        change(&configuration)
        let router = StorageRouter(configuration: configuration)
        do {
            let answer = try await body(router)
            try await router.shutdown()
            return answer
        } catch {
            try? await router.shutdown()
            let exit = Failure.exit(for: error, asJSON: json)
            if !json, (error as? StorageError)?.code == .wrongContext, let id = await owners().first, id != appID {
                Failure.write("The database belongs to the application \(id): --app-id \(id)")
            }
            throw exit
        }
    }

    /// Checks that the command line names the application that databases and sealed values belong to.
    /// - Throws: `ValidationError`, with the ids that the databases here say.
    func requireOwner() async throws {
        guard appID == nil else { return }
        let found = await owners().map { "--app-id \($0)" }.joined(separator: " or ")
        throw ValidationError("Name the application: \(found.isEmpty ? "--app-id ID, the id in its configuration." : found)")
    }

    /// The ids of the applications that the databases here belong to.
    private func owners() async -> [String] {
        guard let configuration = try? configuration() else { return [] }
        return await configuration.ownersOfDatabases().sorted()
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
