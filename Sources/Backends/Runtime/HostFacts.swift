/// Facts about this process and this boot of the machine.
package struct HostFacts: Sendable {
    /// The boot ID, which changes with every start of the machine; nil if the system has none.
    package var bootID: String?
    /// The process ID.
    package var processID: Int32
    /// The environment variables. The home directory is the value of HOME. The user database is not used instead. For a system service
    /// that runs as root without HOME, it would give the home directory of root.
    package var environment: HostEnvironment
    /// The name of the program's file, without its folder.
    package var executableName: String
    /// Creates a description.
    package init(bootID: String?, processID: Int32, environment: HostEnvironment, executableName: String) {
        (self.bootID, self.processID, self.environment, self.executableName) = (bootID, processID, environment, executableName)
    }
}

/// Environment variables: given values, and those of the process if ``isSystem`` is true.
package struct HostEnvironment: Sendable {
    private var given: [String: String?]
    private let isSystem: Bool

    /// The variables of the process. Each is read when it is asked for.
    static var system: HostEnvironment { HostEnvironment([:], isSystem: true) }

    /// Creates variables with the given values.
    /// - Parameter isSystem: Whether the process's variables are found too, for names that are not given. Not in a program that has
    ///   rights which its user does not have (set-user-ID, for example).
    package init(_ given: [String: String], isSystem: Bool = false) { (self.given, self.isSystem) = (given, isSystem) }

    /// The value of a variable; nil if it is not set.
    package subscript(_ name: String) -> String? {
        get { given[name] ?? (isSystem ? systemEnvironmentVariable(name) : nil) }
        set { given[name] = .some(newValue) }
    }
}
