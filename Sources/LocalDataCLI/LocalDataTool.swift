import ArgumentParser

/// The `localdata` tool: shows what programs store, and changes single values. It only parses and prints; LocalData does the work.
@main
struct LocalDataTool: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "localdata", abstract: "Shows what programs store with LocalData, and changes single values.",
        discussion: """
            A domain is defaults:SUITE for a property list, keychain:SERVICE for the session's keyring, or sqlite:DATABASE for an encrypted database of the \
            application --app-id. The tool refuses a key source that differs from the program's.

            Exit status: 0 done, 1 no such value, 64 wrong usage, 65 damaged or undecodable, 69 unavailable, 70 other failures, 73 no room, \
            75 locked or busy (try again), 77 access denied.
            """,
        subcommands: [
            Status.self, Unlock.self, List.self, Get.self, Set.self, Remove.self, Damaged.self, SetAside.self, Quarantine.self, Key.self,
            EndWindow.self,
        ])
}
