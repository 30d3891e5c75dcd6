import ArgumentParser
import LocalData

/// A domain argument of a command: `defaults:SUITE`, `keychain:SERVICE` or `sqlite:DATABASE`. A program that mounts the commands may have
/// further kinds, such as `memory:NAME`.
struct DomainArgument: ExpressibleByArgument {
    let domain: StorageDomain

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        switch (parts.first, parts.count == 2 ? parts[1] : nil) {
        case ("keychain", nil): domain = .keychain
        case (_, nil), (_, ""?): return nil
        case ("defaults", let suite?): domain = .userDefaults(suite: suite)
        case ("keychain", let service?): domain = .keychain(service: service)
        case ("sqlite", let database?): domain = .encryptedSQLite(database: database)
        case (let kind?, let scope?):
            let isName = !kind.isEmpty && kind.utf8.allSatisfy { UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0 | 0x20 }
            guard isName, !DomainWords.hidden.contains(kind) else { return nil }
            domain = .custom(kind, scope: scope)
        default: return nil
        }
    }

    /// The kinds of stores that the tool has without a program.
    static let kinds: Swift.Set<StorageDomain.Kind> = [.userDefaults, .keychain, .encryptedSQLite]

    static var help: ArgumentHelp {
        "defaults:SUITE, keychain:SERVICE or sqlite:DATABASE. The word keychain alone is the service of the application."
    }

    static var defaultCompletionKind: CompletionKind { .list(["defaults:", "keychain", "keychain:", "sqlite:"]) }

    var defaultValueDescription: String { domain.text }
}
