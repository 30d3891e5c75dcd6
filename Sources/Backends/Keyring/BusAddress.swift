#if Keyring && os(Linux)
    import BackendContract
    import BackendRuntime
    import Glibc

    /// Finds the session bus, without ever starting one, and refuses surroundings in which libsecret would hang.
    ///
    /// The real environment is read at the time of the call, since that is what libsecret and GIO read.
    enum BusAddress {
        static func current() throws(KeyringFault) -> String {
            if let backend = variable("SECRET_BACKEND"), backend != "service" {
                throw KeyringFault(
                    .noBus,
                    "The environment variable SECRET_BACKEND names another store than the Secret Service. Unset it, or set it to \"service\"."
                )
            }
            if let address = variable("DBUS_SESSION_BUS_ADDRESS") {
                if address.split(separator: ";").contains(where: { $0.hasPrefix("autolaunch:") }) {
                    throw KeyringFault(
                        .noBus,
                        "DBUS_SESSION_BUS_ADDRESS asks for a bus to be started. Start the program in a desktop session, or with dbus-run-session."
                    )
                }
                return address
            }
            if let directory = variable("XDG_RUNTIME_DIR") {
                let socket = directory + "/bus"
                var info = stat()
                if stat(socket, &info) == 0, info.st_mode & S_IFMT == S_IFSOCK { return "unix:path=" + escape(socket) }
            }
            throw KeyringFault(
                .noBus,
                "There is no session bus: DBUS_SESSION_BUS_ADDRESS is not set and XDG_RUNTIME_DIR has no socket named bus. "
                    + "Start the program in a desktop session, or with dbus-run-session.")
        }

        private static func variable(_ name: String) -> String? {
            guard let text = getenv(name).map({ String(cString: $0) }), !text.isEmpty else { return nil }
            return text
        }

        /// D-Bus specification, "Server Addresses": every byte but these is written as % and two hexadecimal digits.
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
