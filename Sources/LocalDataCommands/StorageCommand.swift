public import ArgumentParser
public import LocalData

/// The storage of a program, as the commands of ``StorageCommand`` see it: its configuration and its catalogs.
///
/// ```swift
/// enum AppStorage: StorageApplication {
///     static var configuration: StorageConfiguration { .xdg(applicationID: "com.example.app", version: "2.0") }
///     static var catalogs: [any StorageKeyCatalog] { [AppKeys()] }
/// }
/// ```
public protocol StorageApplication: Sendable {
    /// The configuration of the program's storage. Each command creates a router with it.
    static var configuration: StorageConfiguration { get }

    /// The catalogs of all keys of the program. Each command registers them. Without them, a plan is empty, and older keys of a key
    /// source cannot be destroyed.
    static var catalogs: [any StorageKeyCatalog] { get }
}

/// The command `storage`, which gives a program the commands of the tool `localdata` for its storage: `myapp storage
/// plan`.
///
/// Use it to give users and administrators backups, plans and a diagnosis without a separate tool. Add it to the
/// subcommands of the program's root command, which must be an `AsyncParsableCommand`:
///
/// ```swift
/// struct MyApp: AsyncParsableCommand {
///     static let configuration = CommandConfiguration(subcommands: [StorageCommand<AppStorage>.self])
/// }
/// ```
///
/// The commands use the configuration and the catalogs of the program. They therefore need no option for the application and its key
/// source, and can plan and run its migrations. The guide *The tool* describes the commands and their exit statuses.
public struct StorageCommand<Application: StorageApplication>: AsyncParsableCommand {
    /// The name `storage`, the help, and the commands.
    public static var configuration: CommandConfiguration {
        CommandConfiguration(
            commandName: "storage", abstract: "Shows what this program stores, and changes, copies, migrates and recovers it.",
            discussion: "Example: \(MountedOptions<Application>.program) plan\n\n\(ExitStatus.help)",
            groupedSubcommands: CommandTree<MountedOptions<Application>>.groups)
    }

    /// Creates a command that was not parsed.
    public init() {}
}
