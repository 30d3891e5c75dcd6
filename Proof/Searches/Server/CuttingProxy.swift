#if PostgreSQL && os(Linux)
    import Foundation
    import Synchronization
    import TestSupport

    /// A proxy in front of a server, which counts the messages of the protocol, and cuts a connection in place of one of
    /// them.
    ///
    /// Messages are framed as in the PostgreSQL documentation, "Message Formats": a type (1 byte, absent in the first
    /// message of a client) and a length (4 bytes, big-endian, which counts itself).
    final class CuttingProxy: Sendable {
        private struct State {
            /// The numbers of messages that pass before the next cut, before the one after it, and so on.
            var left: [Int] = []
            var cuts = 0
            /// Whether the next cut ends every connection, and refuses others until ``lead(to:)``.
            var failsOver = false
            var isDown = false
            /// The sockets of the connections that are open.
            var sockets: Set<Int32> = []
            var traffic = Traffic()
        }

        /// The messages and bytes since the last call of ``takeTraffic()``.
        struct Traffic {
            /// The number of round trips: each ends with a `Sync` of the client.
            var roundTrips = 0
            /// The number of statements: each begins with a `Parse` of the client.
            var statements = 0
            var bytesSent = 0
            var bytesReceived = 0
        }

        private let home: TemporaryDirectory
        private let upstream: Mutex<String>
        private let listener: Int32
        private let state = Mutex(State())

        init(_ server: PrivatePostgreSQL) throws {
            home = try TemporaryDirectory()
            upstream = Mutex(Self.path(server))
            let listener = Self.socket()
            self.listener = listener
            guard Self.withAddress("\(home.path)/.s.PGSQL.5432", { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
                throw ProgramFailure("The proxy cannot listen.")
            }
            Thread.detachNewThread { [weak self] in
                while true {
                    let client = accept(listener, nil, nil)
                    guard client >= 0, let self else { return }
                    let server = Self.socket()
                    let upstream = self.upstream.withLock(\.self)
                    guard self.admits([client, server]), Self.withAddress(upstream, { connect(server, $0, $1) }) == 0 else {
                        self.state.withLock { $0.sockets.subtract([client, server]) }
                        close(client)
                        close(server)
                        continue
                    }
                    Thread.detachNewThread { self.relay(from: client, to: server, isFirstUntyped: true) }
                    Thread.detachNewThread { self.relay(from: server, to: client, isFirstUntyped: false) }
                }
            }
        }

        deinit { shutdown(listener, Int32(SHUT_RDWR)) }

        var conninfo: String { "host=\(home.path) user=owner dbname=postgres" }

        /// Cuts a connection after a number of further messages, in both directions together; then another one after the
        /// next number.
        func cut(after counts: Int...) { cut(counts) }

        /// Cuts every connection in place of a message, and refuses others until ``lead(to:)``, as a failed server does.
        func goDown(after count: Int) { cut([count], failsOver: true) }

        private func cut(_ counts: [Int], failsOver: Bool = false) {
            state.withLock { state in
                state = State(left: counts, failsOver: failsOver, isDown: state.isDown, sockets: state.sockets)
            }
        }

        /// Whether every connection was cut, and others are refused.
        var isDown: Bool { state.withLock(\.isDown) }

        /// Leads new connections to another server.
        func lead(to server: PrivatePostgreSQL) {
            upstream.withLock { $0 = Self.path(server) }
            state.withLock { $0.isDown = false }
        }

        private static func path(_ server: PrivatePostgreSQL) -> String { "\(server.folder)/.s.PGSQL.5432" }

        private func admits(_ sockets: [Int32]) -> Bool {
            state.withLock { state in
                if !state.isDown { state.sockets.formUnion(sockets) }
                return !state.isDown
            }
        }

        /// Returns how many connections were cut, and cuts no further one.
        func stop() -> Int {
            state.withLock { state in
                state.left = []
                return state.cuts
            }
        }

        /// Returns the traffic since the last call, and begins to count again.
        func takeTraffic() -> Traffic {
            state.withLock { state in
                defer { state.traffic = Traffic() }
                return state.traffic
            }
        }

        private func count(_ head: [UInt8], _ length: Int, fromClient: Bool) {
            state.withLock { state in
                guard fromClient else { return state.traffic.bytesReceived += length + head.count - 4 }
                state.traffic.bytesSent += length + head.count - 4
                if head.count == 5, head[0] == UInt8(ascii: "S") { state.traffic.roundTrips += 1 }
                if head.count == 5, head[0] == UInt8(ascii: "P") { state.traffic.statements += 1 }
            }
        }

        private func passes() -> Bool {
            state.withLock { state in
                guard let left = state.left.first else { return true }
                guard left == 0 else {
                    state.left[0] = left - 1
                    return true
                }
                state.left.removeFirst()
                state.cuts += 1
                guard state.failsOver else { return false }
                (state.failsOver, state.isDown) = (false, true)
                for socket in state.sockets { shutdown(socket, Int32(SHUT_RDWR)) }
                return false
            }
        }

        private func relay(from source: Int32, to target: Int32, isFirstUntyped: Bool) {
            var isUntyped = isFirstUntyped
            defer {
                // A socket that the system uses again must not be shut down with the former connections.
                state.withLock { $0.sockets.subtract([source, target]) }
                shutdown(source, Int32(SHUT_RDWR))
                shutdown(target, Int32(SHUT_RDWR))
            }
            while let head = Self.read(isUntyped ? 4 : 5, source) {
                let length = head.suffix(4).reduce(0) { $0 << 8 | Int($1) }
                isUntyped = false
                count(head, length, fromClient: isFirstUntyped)
                guard let body = Self.read(length - 4, source), passes(), Self.write(head + body, target) else { return }
            }
        }

        private static func read(_ count: Int, _ socket: Int32) -> [UInt8]? {
            var bytes = [UInt8](repeating: 0, count: count)
            var filled = 0
            while filled < count {
                let part = bytes.withUnsafeMutableBytes { recv(socket, $0.baseAddress.map { $0 + filled }, count - filled, 0) }
                guard part > 0 else { return nil }
                filled += part
            }
            return bytes
        }

        private static func write(_ bytes: [UInt8], _ socket: Int32) -> Bool {
            var sent = 0
            while sent < bytes.count {
                let part = bytes.withUnsafeBytes { send(socket, $0.baseAddress.map { $0 + sent }, bytes.count - sent, Int32(MSG_NOSIGNAL)) }
                guard part > 0 else { return false }
                sent += part
            }
            return true
        }

        private static func socket() -> Int32 { Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0) }

        private static func withAddress(_ path: String, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32) -> Int32 {
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            return withUnsafePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
            }
        }
    }
#endif
