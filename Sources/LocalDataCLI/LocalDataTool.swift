import ArgumentParser

/// The `localdata` tool: looks at what programs keep, and changes single values. It parses and prints; what it does is in LocalData.
@main
struct LocalDataTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "localdata", abstract: "Looks at what programs keep with LocalData, and changes single values.",
        discussion: """
            A domain is defaults:SUITE for a property list, keychain:SERVICE for the session's keyring, or sqlite:DATABASE for an encrypted database of the \
            application --app-id. A key source that differs from the program's is refused.

            Exit status: 0 done, 1 no such value, 64 wrong usage, 65 damaged or undecodable, 69 unavailable, 70 other failures, 73 no room, \
            75 locked or busy (try again), 77 access denied.
            """,
        subcommands: [Status.self, Unlock.self, List.self, Get.self, Set.self, Remove.self, Quarantine.self, Key.self])
}
