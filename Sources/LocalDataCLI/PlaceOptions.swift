import ArgumentParser
import Foundation
import LocalData

/// The options of every command that select the storage to work on.
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

    /// Runs a command with a `StorageRouter` for the selected storage, then shuts the router down.
    /// - Parameters:
    ///   - domains: The domains that the command uses.
    ///   - isSealed: Whether the command reads or writes sealed data, which belongs to one application.
    ///   - isUnlock: Whether the command unlocks a domain, so that its error does not suggest to unlock the domain.
    func withRouter<Answer>(
        for domains: [StorageDomain] = [], isSealed: Bool = false, isUnlock: Bool = false,
        changing change: (inout StorageConfiguration) -> Void = { _ in }, _ body: (StorageRouter) async throws -> Answer
    ) async throws -> Answer {
        // Databases and sealed values are bound to an application id.
        // With another id, the tool and the program would reject each other's data.
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
            let exit = Failure.exit(for: error, asJSON: json, unlocking: isUnlock ? nil : domains.first)
            if !json, (error as? StorageError)?.code == .wrongContext, let id = await owners().first, id != appID {
                Failure.write("The database belongs to the application \(id): --app-id \(id)")
            }
            throw exit
        }
    }

    /// Checks that the command line contains the application id.
    /// - Throws: `ValidationError` if it does not. The error suggests the ids that the databases in this storage contain.
    func requireOwner() async throws {
        guard appID == nil else { return }
        let found = await owners().map { "--app-id \($0)" }.joined(separator: " or ")
        throw ValidationError("Name the application: \(found.isEmpty ? "--app-id ID, the id in its configuration." : found)")
    }

    /// The ids of the applications that own the databases in this storage.
    private func owners() async -> [String] {
        guard let configuration = try? configuration() else { return [] }
        return await configuration.ownersOfDatabases().sorted()
    }

    /// The configuration for the selected storage.
    func configuration() throws -> StorageConfiguration {
        let applicationID = appID ?? "localdata"
        var configuration: StorageConfiguration =
            root.map { StorageConfiguration(root: URL(fileURLWithPath: $0), applicationID: applicationID) }
            ?? .xdg(applicationID: applicationID)
        do { try key.apply(to: &configuration) } catch { throw Failure.exit(for: error, asJSON: json) }
        return configuration
    }
}

extension StorageDomain {
    /// The domain as an argument of a command.
    var argument: String {
        let name =
            switch kind {
            case .keychain: "keychain"
            case .encryptedSQLite: "sqlite"
            default: "defaults"
            }
        return [name, scope].compactMap(\.self).joined(separator: ":")
    }
}

/// A domain argument of a command.
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
