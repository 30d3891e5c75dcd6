/// What is known about this process and this start of the machine.
package struct HostFacts: Sendable {
    /// A text that is the same until the machine is started again; nil where the machine does not tell.
    package var bootID: String?
    /// The process's number.
    package var processID: Int32
    /// The environment variables.
    package var environment: [String: String]
    /// The name of the program's file, without its folder.
    package var executableName: String
    /// The home directory; nil where none is known.
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
