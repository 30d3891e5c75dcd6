#if PostgreSQL
    import BackendContract
    import BackendRuntime
    import CPostgreSQL

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #else
        import Darwin
    #endif

    /// One connection to a server, through libpq in non-blocking mode. Use it on one lane (a serial queue) only.
    final class ServerConnection {
        private let handle: OpaquePointer
        private let clock: any RuntimeClock
        /// The number of round trips so far.
        private(set) var roundTrips = 0

        /// Whether notices of other sessions are kept for ``notice(until:)``. Behind a pooler, every connection may get them.
        var keepsNotices = false

        private init(_ handle: OpaquePointer, _ clock: any RuntimeClock) { (self.handle, self.clock) = (handle, clock) }

        deinit { PQfinish(handle) }

        // MARK: Connecting

        /// Connects to a server.
        ///
        /// A connection to another machine is always encrypted, and the certificate and host name of the server are
        /// checked (`verify-full`), whatever the connection string says. A socket or a loopback address is exempt.
        /// - Parameters:
        ///   - conninfo: A URI or keywords and values, as libpq accepts them. May be empty: libpq reads its environment.
        ///   - attributes: The value of `target_session_attrs`: by default a server that accepts writes.
        ///   - deadline: When the attempt ends.
        ///   - clock: The clock of the deadline.
        static func connect(
            _ conninfo: String, attributes: String = "read-write", deadline: MonotonicInstant, clock: any RuntimeClock
        ) throws(ServerFault) -> ServerConnection {
            let role = ["target_session_attrs": attributes]
            let first = try start(conninfo, role, clock)
            guard let remote = first.remoteHost, !remote.isVerified else { return try first.completed(deadline) }
            // The first connection has sent nothing. The second one overrides the mode in the connection string.
            return try start(conninfo, role.merging(["sslmode": "verify-full"]) { $1 }, clock).completed(deadline)
        }

        private static func start(
            _ conninfo: String, _ overrides: [String: String], _ clock: any RuntimeClock
        ) throws(ServerFault) -> ServerConnection {
            // The connection string overrides the options before it, and the options after it override the connection string.
            let options =
                [
                    ("keepalives_idle", "30"), ("keepalives_interval", "10"), ("keepalives_count", "3"), ("dbname", conninfo),
                    ("fallback_application_name", "localdata"),
                ] + overrides.map { ($0.key, $0.value) }
            let texts = options.flatMap { [strdup($0.0), strdup($0.1)] }
            defer { for text in texts { free(text) } }
            var keywords: [UnsafePointer<CChar>?] = stride(from: 0, to: texts.count, by: 2).map { UnsafePointer(texts[$0]) }
            var values: [UnsafePointer<CChar>?] = stride(from: 1, to: texts.count, by: 2).map { UnsafePointer(texts[$0]) }
            keywords.append(nil)
            values.append(nil)
            guard let handle = PQconnectStartParams(keywords, values, 1) else { throw .lost("There is no memory for a connection.") }
            let connection = ServerConnection(handle, clock)
            // Before a connection exists, the message of libpq can quote the connection string, with a password in it.
            let fault = ServerFault("08L03", "The connection string, or the service it names, is not valid.")
            guard PQstatus(handle) != CONNECTION_BAD else { throw connection.option("host") == nil ? fault : connection.failure }
            PQsetNoticeReceiver(handle, { _, _ in }, nil)
            // Only this verbosity puts the SQLSTATE into the message of a failed connection.
            PQsetErrorVerbosity(handle, PQERRORS_VERBOSE)
            return connection
        }

        private func completed(_ deadline: MonotonicInstant) throws(ServerFault) -> ServerConnection {
            var wait = PGRES_POLLING_WRITING
            while true {
                switch wait {
                case PGRES_POLLING_OK:
                    guard PQsetnonblocking(handle, 1) == 0, PQenterPipelineMode(handle) == 1 else { throw failure }
                    return self
                case PGRES_POLLING_FAILED: throw failure
                default: try waitForSocket(wait == PGRES_POLLING_READING ? POLLIN : POLLOUT, until: deadline)
                }
                wait = PQconnectPoll(handle)
            }
        }

        /// The host, if it is neither a socket nor a loopback address, and whether its certificate is checked in full.
        private var remoteHost: (name: String, isVerified: Bool)? {
            let hosts = (option("hostaddr") ?? option("host") ?? "").split(separator: ",", omittingEmptySubsequences: false)
            let isLocal = { (host: Substring) in
                host.isEmpty || host.hasPrefix("/") || host.hasPrefix("@") || host.hasPrefix("127.") || host == "::1" || host == "localhost"
            }
            return hosts.first { !isLocal($0) }.map { (String($0), option("sslmode") == "verify-full") }
        }

        /// Returns an option that is in use; nil if it is not set.
        private func option(_ keyword: String) -> String? {
            guard let options = PQconninfo(handle) else { return nil }
            defer { PQconninfoFree(options) }
            var next = options
            while let name = next.pointee.keyword {
                if strcmp(name, keyword) == 0 { return next.pointee.val.map { String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 } }
                next += 1
            }
            return nil
        }

        /// The error of the connection. Its message contains the SQLSTATE of the server. The messages of libpq have none.
        private var failure: ServerFault {
            let message = firstLine(PQerrorMessage(handle))
            if let found = message.firstMatch(of: #/: {2}([0-9A-Z]{5}): /#) {
                return ServerFault(String(found.1), message.replacing(found.0, with: ": "), isConnectionLost: true)
            }
            let states = [
                ("no password supplied", "28P01"), ("is read-only", "08L05"), ("in hot standby", "08L05"), ("certificate", "08L02"),
                ("SSL", "08L02"),
            ]
            return ServerFault(states.first { message.contains($0.0) }?.1 ?? "08006", message, isConnectionLost: true)
        }

        // MARK: Statements

        /// Runs statements in one round trip, in pipeline mode. After the first error, the server runs no further
        /// statement of the call.
        /// - Parameter deadline: When to give up. The connection cannot be used after that.
        func run(_ statements: [ServerStatement], until deadline: MonotonicInstant) throws(ServerFault) -> [ServerRows] {
            roundTrips += 1
            for statement in statements { try send(statement) }
            guard PQpipelineSync(handle) == 1 else { throw lost }
            try flush(until: deadline)
            var results: [ServerRows] = []
            var fault: ServerFault?
            while true {
                guard let result = try next(until: deadline) else { continue }
                defer { PQclear(result) }
                switch PQresultStatus(result) {
                case PGRES_TUPLES_OK, PGRES_COMMAND_OK: results.append(Self.rows(result))
                case PGRES_PIPELINE_ABORTED: break
                case PGRES_PIPELINE_SYNC:
                    while !keepsNotices, let notice = PQnotifies(handle) { PQfreemem(notice) }
                    if let fault { throw fault }
                    return results
                default: fault = fault ?? Self.fault(result)
                }
                if fault?.isConnectionLost == true, PQstatus(handle) == CONNECTION_BAD, let fault { throw fault }
            }
        }

        /// Waits for a notice of another session.
        /// - Returns: The payload; nil if none came before the instant.
        func notice(until instant: MonotonicInstant) throws(ServerFault) -> String? {
            while true {
                guard PQconsumeInput(handle) == 1 else { throw lost }
                if let notice = PQnotifies(handle) {
                    defer { PQfreemem(notice) }
                    return String(cString: notice.pointee.extra)
                }
                do throws(ServerFault) { try waitForSocket(POLLIN, until: instant) } catch {
                    guard clock.now < instant else { return nil }
                    throw error
                }
            }
        }

        private func send(_ statement: ServerStatement) throws(ServerFault) {
            let values = statement.parameters.map(\.bytes)
            let types = statement.parameters.map(\.type)
            let lengths = values.map { Int32($0?.count ?? 0) }
            let formats = [Int32](repeating: 1, count: values.count)
            let all = values.flatMap { $0 ?? [] }
            let isSent = all.withUnsafeBufferPointer { bytes in
                var offset = 0
                let empty = UnsafeRawPointer(bitPattern: 1)?.assumingMemoryBound(to: CChar.self)
                let pointers: [UnsafePointer<CChar>?] = values.map { value in
                    guard let value else { return nil }
                    defer { offset += value.count }
                    guard let base = bytes.baseAddress, !value.isEmpty else { return empty }
                    return UnsafeRawPointer(base + offset).assumingMemoryBound(to: CChar.self)
                }
                return PQsendQueryParams(handle, statement.sql, Int32(values.count), types, pointers, lengths, formats, 1)
            }
            guard isSent == 1 else { throw lost }
        }

        private func flush(until deadline: MonotonicInstant) throws(ServerFault) {
            while true {
                switch PQflush(handle) {
                case 0: return
                case 1:
                    try waitForSocket(POLLIN | POLLOUT, until: deadline)
                    guard PQconsumeInput(handle) == 1 else { throw lost }
                default: throw lost
                }
            }
        }

        /// Returns the next result; nil at the end of the results of one statement.
        private func next(until deadline: MonotonicInstant) throws(ServerFault) -> OpaquePointer? {
            while PQisBusy(handle) == 1 {
                try waitForSocket(POLLIN, until: deadline)
                guard PQconsumeInput(handle) == 1 else { throw lost }
            }
            guard let result = PQgetResult(handle) else {
                if PQstatus(handle) == CONNECTION_BAD { throw lost }
                return nil
            }
            return result
        }

        private var lost: ServerFault { .lost(firstLine(PQerrorMessage(handle))) }

        private func waitForSocket(_ events: Int32, until deadline: MonotonicInstant) throws(ServerFault) {
            var entry = pollfd(fd: PQsocket(handle), events: Int16(events), revents: 0)
            while true {
                let left = clock.now.duration(to: deadline).wholeNanoseconds / 1_000_000
                guard left > 0 else { throw .silent }
                let count = poll(&entry, 1, Int32(min(left + 1, 60_000)))
                if count > 0 { return }
                if count < 0 && errno != EINTR { throw .lost("The socket cannot be polled.") }
            }
        }

        private static func rows(_ result: OpaquePointer) -> ServerRows {
            let columns = PQnfields(result)
            let rows = (0..<PQntuples(result)).map { row in
                (0..<columns).map { column -> [UInt8]? in
                    guard PQgetisnull(result, row, column) == 0, let value = PQgetvalue(result, row, column) else { return nil }
                    return Array(UnsafeRawBufferPointer(start: value, count: Int(PQgetlength(result, row, column))))
                }
            }
            return ServerRows(rows: rows, changed: PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0)
        }

        private static func fault(_ result: OpaquePointer) -> ServerFault {
            // The primary message and the state contain no parameter. The detail, which quotes values, is left out.
            let state = PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
            let message = PQresultErrorField(result, Int32(UInt8(ascii: "M"))).map { firstLine($0) }
            guard let state, let message else { return .lost(firstLine(PQresultErrorMessage(result))) }
            return ServerFault(state, message)
        }
    }

    /// Returns the first line of a message of libpq, or of each host's message for several hosts.
    private func firstLine(_ text: UnsafePointer<CChar>?) -> String {
        let message = text.map { String(cString: $0) } ?? ""
        return message.split(separator: "\n").first.map(String.init) ?? "The connection was lost."
    }
#endif
