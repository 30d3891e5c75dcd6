#if PostgreSQL
    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// One host of a connection string, by the rules of libpq ("Specifying Multiple Hosts" in its documentation).
    struct ServerHost: Hashable, Sendable {
        /// The element of `host`: a name, an address or a socket; empty for the default socket.
        let name: String
        /// The element of `hostaddr`, to which libpq connects; empty if the name is resolved.
        let address: String
        /// The element of `port`; empty for the default port.
        let port: String
        /// Whether the connection string has addresses at all. Then libpq expects one for each name.
        let isListed: Bool
        /// Whether the connection string requires that the certificate and its host name are checked.
        let isVerified: Bool

        /// The options that lead to this host alone.
        ///
        /// libpq ignores an option that is empty, and would use the one with all hosts instead. So a host with an empty element is
        /// listed twice.
        var options: [String: String] {
            let isTwice = name.isEmpty || isListed && address.isEmpty || port.isEmpty
            let options = isListed ? ["host": name, "hostaddr": address, "port": port] : ["host": name, "port": port]
            return options.mapValues { isTwice ? "\($0),\($0)" : $0 }
        }

        /// The options that protect a connection to another machine, whatever the connection string says.
        var security: [String: String] { isLocal || isVerified ? [:] : ["sslmode": "verify-full"] }

        /// Whether the connection certainly stays on this machine: a socket, `localhost`, or a loopback address. A name that only
        /// looks like an address (`127.example.com`), or in another spelling (`LOCALHOST`), can lead to another machine.
        var isLocal: Bool {
            if !address.isEmpty { return Self.isLoopback(address) }
            return name.isEmpty || name.hasPrefix("/") || name.hasPrefix("@") || name == "localhost" || Self.isLoopback(name)
        }

        /// Whether a text is an address of 127.0.0.0/8, or `::1` in any form.
        private static func isLoopback(_ text: String) -> Bool {
            var short = in_addr()
            if inet_pton(AF_INET, text, &short) == 1 { return UInt32(bigEndian: short.s_addr) >> 24 == 127 }
            var long = in6_addr()
            guard inet_pton(AF_INET6, text, &long) == 1 else { return false }
            return withUnsafeBytes(of: long) { $0.dropLast().allSatisfy { $0 == 0 } && $0.last == 1 }
        }
    }
#endif
