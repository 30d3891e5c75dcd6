/// Facts about this process and this boot of the machine.
package struct HostFacts: Sendable {
    /// The boot ID, which changes with every start of the machine; nil if the system has none.
    package var bootID: String?
    /// The process ID.
    package var processID: Int32
    /// The environment variables that LocalData uses, without empty ones. ``current()`` finds none in a program that has rights which its
    /// user does not have (set-user-ID, for example).
    ///
    /// The home directory is the value of HOME. The user database is not used instead. For a system service that runs as root without
    /// HOME, it would give the home directory of root.
    package var environment: [String: String]
    /// The name of the program's file, without its folder.
    package var executableName: String

    /// Creates a description.
    package init(bootID: String?, processID: Int32, environment: [String: String], executableName: String) {
        (self.bootID, self.processID, self.environment, self.executableName) = (bootID, processID, environment, executableName)
    }
}
