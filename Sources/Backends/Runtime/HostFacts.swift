/// What is known about this process and this start of the machine.
public struct HostFacts: Sendable {
    /// A text that is the same until the machine is started again; nil where the machine does not tell.
    public var bootID: String?
    /// The process's number.
    public var processID: Int32
    /// The environment variables.
    public var environment: [String: String]
    /// The name of the program's file, without its folder.
    public var executableName: String
    /// The home directory; nil where none is known.
    public var homeDirectory: String?

    /// Creates a description.
    public init(bootID: String?, processID: Int32, environment: [String: String], executableName: String, homeDirectory: String?) {
        self.bootID = bootID
        self.processID = processID
        self.environment = environment
        self.executableName = executableName
        self.homeDirectory = homeDirectory
    }
}
