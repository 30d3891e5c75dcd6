#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime
    import Glibc

    /// Finds the address of the session bus, and starts no bus. Refuses an environment with which libsecret would use
    /// another store, or GIO would start a program or connect to another machine.
    ///
    /// The environment is read at the time of the call, because libsecret and GIO read it then.
    enum BusAddress {
        /// Returns the address of the bus for requests through libsecret.
        static func current() throws(KeyringFault) -> String {
            if let backend = systemEnvironmentVariable("SECRET_BACKEND"), backend != "service" {
                throw KeyringFault(
                    .noBus,
                    "The environment variable SECRET_BACKEND names another store than the Secret Service. Unset it, or set it to \"service\"."
                )
            }
            return try session()
        }

        /// Returns the address of the bus for requests that do not use libsecret. Throws if the environment gives no
        /// address, or if GIO would start a program or leave this machine to reach it.
        static func session() throws(KeyringFault) -> String {
            if let address = systemEnvironmentVariable("DBUS_SESSION_BUS_ADDRESS") {
                // Reason: "The bus must be a socket of this user" in Docs/Decisions/Keyring.md.
                for entry in address.split(separator: ";") where !entry.hasPrefix("unix:") {
                    let transport = entry.prefix { $0 != ":" }
                    throw KeyringFault(
                        .noBus,
                        "DBUS_SESSION_BUS_ADDRESS has an entry \(transport):, which starts a program or leaves this machine. Only unix: is used: start the program in a desktop session, or with dbus-run-session."
                    )
                }
                return address
            }
            if let directory = systemEnvironmentVariable("XDG_RUNTIME_DIR") {
                let socket = directory + "/bus"
                var info = stat()
                if stat(socket, &info) == 0, info.st_mode & S_IFMT == S_IFSOCK { return "unix:path=" + escape(socket) }
            }
            throw KeyringFault(
                .noBus,
                "There is no session bus: DBUS_SESSION_BUS_ADDRESS is not set and XDG_RUNTIME_DIR has no socket named bus. "
                    + "Start the program in a desktop session, or with dbus-run-session.")
        }

        /// Checks, before connecting, that no other user could act as the bus or load code into this process.
        ///
        /// The socket files in the address must belong to the user or to root. No other user may be able to write to
        /// the folders above them. An entry without a path, such as an abstract socket, is not checked. The folders
        /// of GIO modules in `GIO_MODULE_DIR` and `GIO_EXTRA_MODULES` are checked in the same way.
        /// - Throws: ``KeyringFault`` with `untrusted`.
        static func requireTrust(in address: String, _ files: any FileSystem) throws(KeyringFault) {
            do throws(BackendError) {
                for entry in address.split(separator: ";") {
                    guard let socket = path(in: entry) else { continue }
                    try files.requireTrust(in: [parentDirectory(of: socket)])
                    guard let status = try status(socket, files), !files.trustedOwners.own(status) else { continue }
                    throw BackendError(
                        .untrusted,
                        "The session bus \(socket) belongs to user \(status.owner), who would see every secret. Start the program in a session of its user, or correct DBUS_SESSION_BUS_ADDRESS. Nothing was read or changed."
                    )
                }
                let folders = ["GIO_MODULE_DIR", "GIO_EXTRA_MODULES"].compactMap(systemEnvironmentVariable)
                try files.requireTrust(in: folders.flatMap { $0.split(separator: ":").map(String.init) })
            } catch {
                throw KeyringFault(.untrusted, error.reason)
            }
        }

        private static func status(_ path: String, _ files: any FileSystem) throws(BackendError) -> FileStatus? {
            do throws(FileError) { return try files.status(path) } catch { throw error.backendError() }
        }

        /// Returns the path of an entry's socket; nil for an entry without a file.
        private static func path(in entry: Substring) -> String? {
            let values = entry.dropFirst("unix:".count).split(separator: ",")
            guard let value = values.first(where: { $0.hasPrefix("path=") }) else { return nil }
            return unescape(value.dropFirst("path=".count))
        }

        /// Reverses ``escape(_:)``.
        private static func unescape(_ text: Substring) -> String {
            var bytes: [UInt8] = []
            var rest = text.utf8[...]
            while let byte = rest.popFirst() {
                if byte == UInt8(ascii: "%"), let number = UInt8(String(rest.prefix(2)) ?? "", radix: 16) {
                    bytes.append(number)
                    rest = rest.dropFirst(2)
                } else {
                    bytes.append(byte)
                }
            }
            return String(decoding: bytes, as: UTF8.self)
        }

        /// Escapes a path for an address. Source: D-Bus specification, "Server Addresses". Every byte that is not
        /// listed here becomes % and two hexadecimal digits.
        private static func escape(_ path: String) -> String {
            var text: [UInt8] = []
            for byte in path.utf8 {
                switch UInt8(byte) {
                case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                    UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "/"), UInt8(ascii: "."), UInt8(ascii: "*"):
                    text.append(byte)
                default: text += Array("%\(hexadecimalText(of: [byte]))".utf8)
                }
            }
            return String(decoding: text, as: UTF8.self)
        }
    }
#endif
