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
        /// Whether the server has sent a warning. libpq's callback sets it.
        private let warning = UnsafeMutablePointer<Bool>.allocate(capacity: 1)

        /// Whether notices of other sessions are kept for ``notice(until:)``. Behind a pooler, every connection may get them.
        var keepsNotices = false

        private init(_ handle: OpaquePointer, _ clock: any RuntimeClock) {
            (self.handle, self.clock) = (handle, clock)
            warning.initialize(to: false)
        }

        deinit {
            PQfinish(handle)
            warning.deallocate()
        }

        /// Whether the server has sent a warning during the last ``run(_:until:)``. A commit warns if its wait for a standby was
        /// cancelled: its changes are visible, and a failover may lose them.
        var hasWarned: Bool { warning.pointee }

        // MARK: Connecting

        /// Connects to a server.
        ///
        /// A connection to another machine is always encrypted, and the certificate and host name of the server are
        /// checked (`verify-full`), whatever the connection string says. ``ServerHost`` has the exceptions.
        ///
        /// Several hosts are tried in turn, each for an equal share of the time that is left, and for no longer than
        /// `connect_timeout`. In its non-blocking calls, libpq itself would wait for a silent host until the deadline.
        /// - Parameters:
        ///   - conninfo: A URI or keywords and values, as libpq accepts them. May be empty: libpq reads its environment.
        ///   - attributes: The value of `target_session_attrs`: by default a server that accepts writes.
        ///   - silent: The positions of hosts that did not answer at an earlier attempt. They are tried last. The call updates it.
        ///   - deadline: When the attempt ends.
        ///   - clock: The clock of the deadline.
        static func connect(
            _ conninfo: String, attributes: String = "read-write", silent: inout Set<Int>, deadline: MonotonicInstant,
            clock: any RuntimeClock
        ) throws(ServerFault) -> ServerConnection {
            let role = ["target_session_attrs": attributes]
            let draft = try start(conninfo, role, clock)
            let hosts = draft.hosts
            let patience = draft.option("connect_timeout").flatMap(Int.init).flatMap { $0 > 0 ? Duration.seconds($0) : nil }
            if hosts.count == 1, let security = hosts.first?.security {
                let end = patience.map { min(clock.now.advanced(by: $0), deadline) } ?? deadline
                // The draft has sent nothing. A connection that leads to another machine overrides the mode in the connection string.
                return try security.isEmpty ? draft.completed(end) : start(conninfo, role.merging(security) { $1 }, clock).completed(end)
            }
            let order = hosts.indices.filter { !silent.contains($0) } + silent.sorted()
            let roles = attributes == "prefer-standby" ? ["standby", "any"] : [attributes]
            let attempts = roles.flatMap { role in order.map { (host: $0, role: ["target_session_attrs": role]) } }
            var faults: [ServerFault] = []
            for (index, attempt) in attempts.enumerated() {
                let share = clock.now.duration(to: deadline) / (attempts.count - index)
                do throws(ServerFault) {
                    let host = hosts[attempt.host]
                    let options = host.options.merging(attempt.role) { $1 }.merging(host.security) { $1 }
                    let end = clock.now.advanced(by: min(share, patience ?? share))
                    let made = try start(conninfo, options, clock).completed(end)
                    silent.remove(attempt.host)
                    return made
                } catch {
                    if error.isSilence { silent.insert(attempt.host) }
                    faults.append(error)
                }
            }
            // A host that refuses says more than one that does not answer.
            throw faults.first { !$0.isLinkLost && !$0.isSilence } ?? faults.first { !$0.isSilence } ?? .silent
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
            PQsetNoticeReceiver(
                handle,
                { warning, notice in
                    guard let severity = PQresultErrorField(notice, Int32(UInt8(ascii: "V"))) else { return }
                    if strcmp(severity, "WARNING") == 0 { warning?.assumingMemoryBound(to: Bool.self).pointee = true }
                }, connection.warning)
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

        /// The hosts of the connection string; one without a name for the default socket.
        private var hosts: [ServerHost] {
            let (names, addresses, ports) = (elements("host"), elements("hostaddr"), elements("port"))
            return (0..<max(names.count, addresses.count, 1)).map { index in
                ServerHost(
                    name: index < names.count ? names[index] : "", address: index < addresses.count ? addresses[index] : "",
                    port: ports.count == 1 ? ports[0] : ports.dropFirst(index).first ?? "", isListed: !addresses.isEmpty,
                    isVerified: option("sslmode") == "verify-full")
            }
        }

        /// Returns the elements of an option that may have one for each host.
        private func elements(_ keyword: String) -> [String] {
            option(keyword)?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? []
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
            warning.pointee = false
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

        /// Runs the statements of a transaction, and ends it if one of them failed.
        func endingFailed<R>(_ limit: MonotonicInstant, _ work: () throws(ServerFault) -> R) throws(ServerFault) -> R {
            do throws(ServerFault) { return try work() } catch {
                if !error.isConnectionLost { _ = try run([ServerTables.rollback], until: limit) }
                throw error
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
            return ServerFault.drop(message: message) ?? ServerFault(state, message)
        }
    }

    /// Returns the first line of a message of libpq, or of each host's message for several hosts.
    private func firstLine(_ text: UnsafePointer<CChar>?) -> String {
        let message = text.map { String(cString: $0) } ?? ""
        return message.split(separator: "\n").first.map(String.init) ?? "The connection was lost."
    }
#endif
