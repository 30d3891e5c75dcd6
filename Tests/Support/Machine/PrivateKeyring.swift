#if Keyring && os(Linux)
    import Foundation
    import Synchronization

    /// A private session bus and gnome-keyring daemon, with a separate home folder.
    /// They end with the object, and with the test process.
    package final class PrivateKeyring: Sendable {
        /// The password of the collection.
        package static let password = "correct horse"

        /// The initial state of the daemon.
        package enum Beginning: Sendable {
            /// An unlocked collection named `login`. This is the default.
            case unlocked
            /// A daemon without any collection.
            case empty
            /// A bus without a daemon.
            case noDaemon
        }

        private struct State {
            var bus: ServiceProcess?
            var daemon: ServiceProcess?
        }

        private let home: TemporaryDirectory
        private let state = Mutex(State())

        /// Starts a bus, and a daemon on it.
        /// - Throws: ``MissingProgram`` with the command that installs the program.
        /// - Parameter isActivated: Whether the bus starts a daemon on demand. That daemon is locked.
        package init(_ beginning: Beginning = .unlocked, isActivated: Bool = false) throws {
            home = try TemporaryDirectory()
            if isActivated {
                // The daemon gets no parent-death signal, because its parent is a short-lived process of the bus.
                // The daemon ends when its bus ends.
                let program = try Program.path("gnome-keyring-daemon")
                try "[D-BUS Service]\nName=org.freedesktop.secrets\nExec=\(program) --start --foreground --components=secrets\n"
                    .write(toFile: home.folder("services") + "/secrets.service", atomically: false, encoding: .utf8)
            }
            try Self.configuration(socket: home.file("bus"), services: home.file("services")).write(
                toFile: home.file("bus.conf"), atomically: false, encoding: .utf8)
            _ = try home.folder("data")
            try startBus()
            switch beginning {
            case .unlocked: try startDaemon(password: Self.password)
            case .empty: try startDaemon(password: nil)
            case .noDaemon: break
            }
        }

        deinit {
            state.withLock { state in
                state.daemon?.end()
                state.bus?.end()
            }
        }

        // MARK: The environment of a program

        /// The address of the bus.
        package var address: String { "unix:path=\(home.file("bus"))" }

        /// The folder with the files of the collections.
        package var keyringsDirectory: String { home.file("data/keyrings") }

        /// The environment of a program that uses this bus and this home.
        package var environment: [String: String] {
            var environment = ProcessInfo.processInfo.environment
            for name in ["DISPLAY", "WAYLAND_DISPLAY", "SECRET_BACKEND", "GNOME_KEYRING_CONTROL"] { environment[name] = nil }
            environment["HOME"] = home.path
            environment["XDG_RUNTIME_DIR"] = home.path
            environment["XDG_DATA_HOME"] = home.file("data")
            environment["DBUS_SESSION_BUS_ADDRESS"] = address
            return environment
        }

        /// Returns a path for a file next to the keyring.
        package func file(_ name: String) -> String { home.file(name) }

        // MARK: The keyring of this process

        /// The keyring that this test process uses.
        /// It starts on first use, and its address is set in the environment of the process.
        package static func shared() throws -> PrivateKeyring { try sharedResult.get() }

        private static let sharedResult: Result<PrivateKeyring, any Error> = Result {
            let keyring = try PrivateKeyring()
            setenv("DBUS_SESSION_BUS_ADDRESS", keyring.address, 1)
            unsetenv("SECRET_BACKEND")
            atexit { PrivateKeyring.endShared() }
            return keyring
        }

        private static func endShared() {
            guard case .success(let keyring) = sharedResult else { return }
            keyring.killDaemon()
            keyring.killBus()
            try? FileManager.default.removeItem(atPath: keyring.home.path)
        }

        // MARK: Locking

        /// Locks the default collection.
        package func lock() throws {
            try PrivateBus(address).call("org.freedesktop.Secret.Service.Lock", "([objectpath '\(Self.collection)'],)")
        }

        /// Unlocks the default collection without a prompt.
        package func unlock(_ password: String = PrivateKeyring.password) throws {
            let bus = try PrivateBus(address)
            try bus.call(
                "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface.UnlockWithMasterPassword",
                "(objectpath '\(Self.collection)', \(try bus.plainSecret(password)))")
        }

        /// Creates another collection, which is unlocked.
        /// - Returns: The object path of the collection.
        package func createCollection(_ label: String, password: String = PrivateKeyring.password) throws -> String {
            let bus = try PrivateBus(address)
            let reply = try bus.call(
                "org.gnome.keyring.InternalUnsupportedGuiltRiddenInterface.CreateWithMasterPassword",
                "({'org.freedesktop.Secret.Collection.Label': <'\(label)'>}, \(try bus.plainSecret(password)))")
            guard let path = PrivateBus.paths(reply).first else { throw ProgramFailure("no collection in \(reply)") }
            return path
        }

        /// Sets the default collection; `/` for none.
        package func setDefault(_ path: String) throws {
            try PrivateBus(address).call("org.freedesktop.Secret.Service.SetAlias", "('default', objectpath '\(path)')")
        }

        /// Returns the default collection; `/` for none.
        package func defaultCollection() throws -> String {
            let reply = try PrivateBus(address).call("org.freedesktop.Secret.Service.ReadAlias", "('default',)")
            return PrivateBus.paths(reply).first ?? "/"
        }

        /// Returns the process id of the program that provides the Secret Service on this bus.
        package func keeperProcessID() throws -> Int32 {
            let reply = try PrivateBus(address).call(
                "org.freedesktop.DBus.GetConnectionUnixProcessID", on: "/org/freedesktop/DBus", of: "org.freedesktop.DBus",
                "('org.freedesktop.secrets',)")
            guard let number = Int32(String(reply.reversed().drop { !$0.isNumber }.prefix { $0.isNumber }.reversed())) else {
                throw ProgramFailure("no process in \(reply)")
            }
            return number
        }

        /// Creates another collection without a prompt, with the request of the Secret Service specification.
        /// - Returns: The object path of the collection.
        package func createPlainCollection(_ label: String) throws -> String {
            let reply = try PrivateBus(address).call(
                "org.freedesktop.Secret.Service.CreateCollection", "({'org.freedesktop.Secret.Collection.Label': <'\(label)'>}, '')")
            guard let path = PrivateBus.paths(reply).first, path != "/" else { throw ProgramFailure("no collection in \(reply)") }
            return path
        }

        /// Locks a collection.
        package func lock(_ path: String) throws {
            try PrivateBus(address).call("org.freedesktop.Secret.Service.Lock", "([objectpath '\(path)'],)")
        }

        /// Creates an item. It never replaces another item.
        package func createItem(_ secret: String, _ attributes: [String: String], in collection: String = PrivateKeyring.collection) throws
        {
            let bus = try PrivateBus(address)
            let entries = attributes.map { "'\($0.key)': '\($0.value)'" }.joined(separator: ", ")
            try bus.call(
                "org.freedesktop.Secret.Collection.CreateItem", on: collection,
                "({'org.freedesktop.Secret.Item.Label': <'test'>, 'org.freedesktop.Secret.Item.Attributes': <@a{ss} {\(entries)}>}, "
                    + "\(try bus.plainSecret(secret)), false)")
        }

        /// The object path of the initial collection.
        package static let collection = "/org/freedesktop/secrets/collection/login"

        // MARK: Faults

        /// Stops the daemon (SIGSTOP).
        package func stopDaemon() { signalDaemon(SIGSTOP) }

        /// Lets the daemon continue (SIGCONT).
        package func continueDaemon() { signalDaemon(SIGCONT) }

        /// The process id of the daemon; 0 if there is none.
        package var daemonProcessID: Int32 { state.withLock { $0.daemon?.processID ?? 0 } }

        /// Kills the daemon and waits until it is gone.
        package func killDaemon() {
            state.withLock { state in
                state.daemon?.end()
                state.daemon = nil
            }
        }

        /// Stops the bus (SIGSTOP).
        package func stopBus() { signalBus(SIGSTOP) }

        /// Lets the bus continue (SIGCONT).
        package func continueBus() { signalBus(SIGCONT) }

        /// Kills the bus, and with it the daemon.
        package func killBus() {
            killDaemon()
            state.withLock { state in
                state.bus?.end()
                state.bus = nil
            }
        }

        /// Starts the bus, at the same address as before.
        package func startBus() throws {
            try? FileManager.default.removeItem(atPath: home.file("bus"))
            let bus = try ServiceProcess(
                "dbus-daemon", ["--config-file=\(home.file("bus.conf"))", "--nofork", "--nopidfile"], environment, input: "")
            state.withLock { $0.bus = bus }
            try waitUntil("the bus") { (try? PrivateBus(address)) != nil }
        }

        /// Starts a daemon and waits until it answers.
        /// - Parameters:
        ///   - password: The password to unlock with. A wrong one leaves the collection locked.
        ///     With nil the collection is neither unlocked nor created.
        ///   - namesBus: Whether the environment names the bus. Without it, the daemon finds the bus in `XDG_RUNTIME_DIR`.
        package func startDaemon(password: String?, namesBus: Bool = true) throws {
            let arguments = ["--foreground", "--components=secrets"] + (password == nil ? ["--start"] : ["--unlock"])
            var environment = environment
            if !namesBus { environment["DBUS_SESSION_BUS_ADDRESS"] = nil }
            let daemon = try ServiceProcess("gnome-keyring-daemon", arguments, environment, input: password ?? "")
            state.withLock { $0.daemon = daemon }
            let bus = try PrivateBus(address)
            try waitUntil("the keyring") {
                try bus.call(
                    "org.freedesktop.DBus.NameHasOwner", on: "/org/freedesktop/DBus", of: "org.freedesktop.DBus",
                    "('org.freedesktop.secrets',)"
                ).contains("true")
            }
        }

        /// Kills the daemon and starts another one on the same files.
        package func restartDaemon(password: String?, namesBus: Bool = true) throws {
            killDaemon()
            try startDaemon(password: password, namesBus: namesBus)
        }

        private func signalDaemon(_ number: Int32) { state.withLock { _ = $0.daemon.map { kill($0.processID, number) } } }
        private func signalBus(_ number: Int32) { state.withLock { _ = $0.bus.map { kill($0.processID, number) } } }

        private static func configuration(socket: String, services: String) -> String {
            """
            <!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
              "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
            <busconfig>
              <type>session</type>
              <listen>unix:path=\(socket)</listen>
              <auth>EXTERNAL</auth>
              <servicedir>\(services)</servicedir>
              <policy context="default">
                <allow send_destination="*" eavesdrop="true"/>
                <allow eavesdrop="true"/>
                <allow own="*"/>
              </policy>
              <limit name="max_incoming_bytes">1000000000</limit>
              <limit name="max_outgoing_bytes">1000000000</limit>
              <limit name="max_message_size">1000000000</limit>
              <limit name="max_completed_connections">1000</limit>
              <limit name="max_replies_per_connection">10000</limit>
            </busconfig>
            """
        }
    }

    /// Waits until a process is stopped.
    package func waitUntilStopped(_ process: Int32) throws {
        try waitUntil("the stop of process \(process)") {
            try String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8).contains(") T ")
        }
    }

    /// Polls a condition, because these programs do not report when they are ready.
    private func waitUntil(_ what: String, _ isReady: () throws -> Bool) throws {
        for _ in 0..<12_000 {
            if try isReady() { return }
            usleep(10_000)
        }
        throw ProgramFailure("\(what) did not come within two minutes")
    }

    /// A server process that runs until it is ended.
    private final class ServiceProcess: Sendable {
        private let process = Process()

        init(_ program: String, _ arguments: [String], _ environment: [String: String], input: String) throws {
            process.executableURL = URL(fileURLWithPath: try Program.path("setpriv"))
            process.arguments = ["--pdeathsig", "KILL", try Program.path(program)] + arguments
            process.environment = environment
            let stdin = Pipe()
            process.standardInput = stdin
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            try ProcessStarter.shared.start(process)
            try stdin.fileHandleForWriting.write(contentsOf: Data(input.utf8))
            try stdin.fileHandleForWriting.close()
        }

        var processID: Int32 { process.processIdentifier }

        func end() {
            kill(processID, SIGKILL)
            process.waitUntilExit()
        }
    }
#endif
