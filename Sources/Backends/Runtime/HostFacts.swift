/// Facts about this process and this boot of the machine.
package struct HostFacts: Sendable {
    /// The boot ID, which changes with every start of the machine; nil if the system has none.
    package var bootID: String?
    /// The process ID.
    package var processID: Int32
    /// The environment variables. ``current()`` leaves this empty in a program with rights that its user does not
    /// have.
    package var environment: [String: String]
    /// The name of the program's file, without its folder.
    package var executableName: String
    /// The home directory from the environment; nil without one. The user database is not asked, because it would
    /// lead a service without a home directory to that of root.
    package var homeDirectory: String?

    /// Creates a description.
    package init(bootID: String?, processID: Int32, environment: [String: String], executableName: String, homeDirectory: String?) {
        self.bootID = bootID
        self.processID = processID
        self.environment = environment
        self.executableName = executableName
        self.homeDirectory = homeDirectory
    }
}
