#if PostgreSQL && os(Linux)
    import Foundation
    import TestSupport

    /// A socket with the name that a PostgreSQL server gives to its socket. It accepts connections and never answers.
    final class SilentServer: Sendable {
        private let home: TemporaryDirectory
        private let listener: Int32

        init() throws {
            home = try TemporaryDirectory()
            listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_un()
            address.sun_family = sa_family_t(AF_UNIX)
            let path = "\(home.path)/.s.PGSQL.5432"
            withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8) }
            let isBound = withUnsafePointer(to: &address) { address in
                address.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) }
            }
            guard isBound == 0, listen(listener, 64) == 0 else { throw ProgramFailure("\(path): errno \(errno)") }
        }

        deinit { close(listener) }

        /// The folder of the socket, for the option `host`.
        var folder: String { home.path }
    }
#endif
