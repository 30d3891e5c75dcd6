import ArgumentParser
import ServerFaults

#if PostgreSQL && os(Linux)
    /// The load of `Proof/Failover/rounds.py`.
    struct FailoverLoadProcess: AsyncParsableCommand {
        /// The two parts of the load.
        enum Verb: String, ExpressibleByArgument {
            case read
            case write
        }

        static let configuration = CommandConfiguration(commandName: "failover-load", shouldDisplay: false)

        @Argument(help: "`write` or `read`.") var verb: Verb
        @Argument(help: "The connection string of the servers.") var server: String
        @Argument(help: "The path of the ledger.") var ledger: String
        @Argument(help: "For `write` the first part of all names, for `read` the path of the file to write.") var last: String

        func run() async throws {
            let load = FailoverLoad(server: server, ledger: ledger)
            switch verb {
            case .read: try await load.read(into: last)
            case .write: try await load.write(last)
            }
        }
    }
#endif
