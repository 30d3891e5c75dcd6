#if Keyring && os(Linux)
    import BackendRuntime
    import Foundation

    /// The session bus: the D-Bus daemon over which programs reach the keyring. `BusAddress` in the library has the same rules.
    struct SessionBus: Sendable {
        static let check = "session bus"

        /// The origin of the address of the bus.
        private enum Address {
            case given(String)
            /// The socket in `XDG_RUNTIME_DIR`.
            case runtimeFolder(String)
            case none
        }

        private let files = PosixFileSystem()

        private var address: Address {
            if let given = systemEnvironmentVariable("DBUS_SESSION_BUS_ADDRESS") { return .given(given) }
            guard let folder = systemEnvironmentVariable("XDG_RUNTIME_DIR"), isSocket("\(folder)/bus") else { return .none }
            return .runtimeFolder("\(folder)/bus")
        }

        /// The address of the bus, without the id that follows it in some variables; nil if there is none.
        var plainAddress: String? {
            switch address {
            case .given(let text): Self.plain(text)
            case .runtimeFolder(let socket): "unix:path=\(socket)"
            case .none: nil
            }
        }

        private static func plain(_ address: String) -> String { String(address.prefix { $0 != "," && $0 != ";" }) }

        // MARK: The check

        /// Checks the address and the socket, and asks the bus for an answer.
        func findings() -> [Finding] {
            let other = systemEnvironmentVariable("SECRET_BACKEND").flatMap { $0 == "service" ? nil : $0 }
            if let other {
                return [
                    .problem(Self.check, "The variable SECRET_BACKEND is \(other), so the keyring is not used.", "unset SECRET_BACKEND")
                ]
            }
            switch address {
            case .none:
                return [
                    .problem(
                        Self.check,
                        "There is no session bus: DBUS_SESSION_BUS_ADDRESS is not set, and XDG_RUNTIME_DIR has no socket named bus. "
                            + remedy.sentence, remedy.command)
                ]
            case .runtimeFolder(let socket): return [finding(socket: socket)]
            case .given(let text):
                if let entry = text.split(separator: ";").first(where: { !$0.hasPrefix("unix:") }) {
                    return [
                        .problem(
                            Self.check,
                            "DBUS_SESSION_BUS_ADDRESS has an entry \(entry.prefix { $0 != ":" }):, but only unix: is used. "
                                + remedy.sentence, remedy.command)
                    ]
                }
                guard let socket = Self.socketPath(in: text) else { return [.ok(Self.check, "Its address is \(Self.plain(text)).")] }
                return [finding(socket: socket)]
            }
        }

        /// The command that gives this shell a bus.
        private var remedy: (sentence: String, command: String?) {
            let socket = "/run/user/\(geteuid())/bus"
            if isSocket(socket), Self.answer(of: socket) == .answers {
                return (
                    "The session of this user has one.",
                    "export DBUS_SESSION_BUS_ADDRESS=\(ShellCommand.quoted("unix:path=\(socket)"))"
                )
            }
            guard ShellCommand.path(of: "dbus-run-session") != nil else {
                return ("This package has one.", ShellCommand.installing(debian: "dbus", fedora: "dbus-daemon"))
            }
            return ("The command starts a shell with a bus; start the program in it.", "dbus-run-session -- sh")
        }

        private func finding(socket: String) -> Finding {
            let status: FileStatus?
            do throws(FileError) { status = try files.status(socket) } catch {
                return .problem(Self.check, "The socket cannot be reached: \(error).", remedy.command)
            }
            guard let status else {
                return .problem(Self.check, "The bus has ended: there is no socket \(socket). \(remedy.sentence)", remedy.command)
            }
            guard files.trustedOwners.own(status) else {
                return .problem(
                    Self.check,
                    "The socket \(socket) belongs to user \(ShellCommand.describedUser(status.owner)), who would see every secret: "
                        + "run the command as this user.",
                    ShellCommand.asUser(status.owner, group: status.group, ShellCommand.thisCall))
            }
            switch Self.answer(of: socket) {
            case .answers: return .ok(Self.check, "It answers at \(socket).")
            case .refuses:
                return .problem(Self.check, "The bus has ended: no program listens at \(socket). \(remedy.sentence)", remedy.command)
            case .isSilent:
                let stopped = stoppedBuses()
                guard let first = stopped.first else {
                    return .problem(Self.check, "The bus at \(socket) does not answer. \(remedy.sentence)", remedy.command)
                }
                return .problem(
                    Self.check, "The bus does not answer: its program \(first.name), process \(first.id), is stopped.",
                    ShellCommand.line(["kill", "-CONT"] + stopped.map { "\($0.id)" }))
            }
        }

        /// Returns the processes of this user with one of the given names whose environment names this bus. A process without an
        /// address uses the socket in its `XDG_RUNTIME_DIR`. A process that hides its environment may belong to another session.
        func processes(_ names: Swift.Set<String>) -> [RunningProcess] {
            guard let address = plainAddress else { return [] }
            return RunningProcess.ofThisUser(names).filter { process in
                let named = process.environmentVariable("DBUS_SESSION_BUS_ADDRESS").map(Self.plain)
                let found = named ?? process.environmentVariable("XDG_RUNTIME_DIR").map { "unix:path=\($0)/bus" }
                return found == address
            }
        }

        /// Returns the stopped processes of this user that may be this bus. The environment of a bus does not name the bus itself.
        private func stoppedBuses() -> [RunningProcess] {
            RunningProcess.ofThisUser(["dbus-daemon", "dbus-broker", "dbus-broker-lau"]).filter { process in
                guard process.isStopped else { return false }
                guard let named = process.environmentVariable("DBUS_SESSION_BUS_ADDRESS").map(Self.plain) else { return true }
                return named == plainAddress
            }
        }

        // MARK: The socket

        /// The behaviour of a socket.
        private enum Answer { case answers, refuses, isSilent }

        private func isSocket(_ path: String) -> Bool {
            var info = stat()
            return stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFSOCK
        }

        /// Returns the path of the first socket in an address; nil for an address without a file.
        private static func socketPath(in address: String) -> String? {
            for entry in address.split(separator: ";") {
                for part in entry.dropFirst("unix:".count).split(separator: ",") where part.hasPrefix("path=") {
                    return String(part.dropFirst("path=".count)).removingPercentEncoding
                }
            }
            return nil
        }

        /// Connects to a socket and begins the authentication of D-Bus. A bus answers with one line. Source: D-Bus specification,
        /// "Authentication Protocol".
        private static func answer(of path: String) -> Answer {
            var address = sockaddr_un()
            let bytes = Array(path.utf8)
            guard bytes.count < MemoryLayout.size(ofValue: address.sun_path) else { return .refuses }
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: bytes) }
            let descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            guard descriptor >= 0 else { return .refuses }
            defer { close(descriptor) }
            // A write to a socket that the other side has closed must not end this process.
            let former = signal(SIGPIPE, SIG_IGN)
            defer { _ = signal(SIGPIPE, former) }
            // A connection to a bus that is stopped must not wait.
            guard fcntl(descriptor, F_SETFL, O_NONBLOCK) == 0 else { return .refuses }
            let length = socklen_t(MemoryLayout<sockaddr_un>.size)
            let isConnected = withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) { connect(descriptor, $0, length) == 0 }
            }
            guard isConnected else { return errno == EAGAIN ? .isSilent : .refuses }
            let user = "\(geteuid())".utf8.map { String($0, radix: 16) }.joined()
            let request = [0] + Array("AUTH EXTERNAL \(user)\r\n".utf8)
            guard write(descriptor, request, request.count) == request.count else { return .refuses }
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&entry, 1, 3_000) == 1 else { return .isSilent }
            var reply = [UInt8](repeating: 0, count: 128)
            let count = read(descriptor, &reply, reply.count)
            return count > 0 && (reply.starts(with: "OK".utf8) || reply.starts(with: "REJECTED".utf8)) ? .answers : .refuses
        }
    }
#endif
