package import ArgumentParser

/// The `localdata` tool shows the stored data of programs, and changes, copies and recovers it. The commands parse and print; LocalData
/// does the work.
package struct LocalDataTool: AsyncParsableCommand {
    package static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: PlaceOptions.program, abstract: "Shows what programs store with LocalData, and changes, copies and recovers it.",
            discussion: """
                A domain is defaults:SUITE for a property list, keychain:SERVICE for the session's keyring, or sqlite:DATABASE for an \
                encrypted database of the application. The application is named by --app-id, or by LOCALDATA_APP_ID in the environment.

                Example: localdata list --app-id com.example.app

                \(ExitStatus.help)
                """,
            version: Version.text,
            groupedSubcommands: [CommandGroup(name: "Diagnosis", subcommands: [Doctor.self])] + CommandTree<PlaceOptions>.groups)
    }

    /// Creates a command that was not parsed.
    package init() {}
}
