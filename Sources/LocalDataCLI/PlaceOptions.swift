import ArgumentParser
import Foundation
import LocalData

/// Whose storage is meant: the options that every command has.
struct PlaceOptions: ParsableArguments {
    @Option(help: "The application's id: the default keyring service, and whose quarantine is meant.")
    var appID: String?

    @Option(help: "The folder of a program that keeps everything under one; else the folders of the session.")
    var root: String?

    /// Runs a command on a router of this place, and closes it.
    func withRouter<Answer>(_ body: (StorageRouter) async throws -> Answer) async throws -> Answer {
        let applicationID = appID ?? "localdata"
        let configuration: StorageConfiguration =
            root.map { StorageConfiguration(root: URL(fileURLWithPath: $0), applicationID: applicationID) }
            ?? .xdg(applicationID: applicationID)
        let router = StorageRouter(configuration: configuration)
        do {
            let answer = try await body(router)
            try await router.shutdown()
            return answer
        } catch {
            try? await router.shutdown()
            throw Failure.exit(for: error)
        }
    }
}

/// A domain as it is spelt on a command line.
struct DomainArgument: ExpressibleByArgument {
    let domain: StorageDomain

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        switch (parts.first, parts.count == 2 ? parts[1] : nil) {
        case ("defaults", let suite?) where !suite.isEmpty: domain = .userDefaults(suite: suite)
        case ("keychain", nil): domain = .keychain
        case ("keychain", let service?) where !service.isEmpty: domain = .keychain(service: service)
        default: return nil
        }
    }

    static var help: ArgumentHelp { "defaults:SUITE or keychain:SERVICE; keychain alone means the service of --app-id." }
}
