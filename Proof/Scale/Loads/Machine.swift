#if PostgreSQL && os(Linux)
    import Foundation
    import LocalData
    import LocalDataPostgreSQL

    /// One of several machines that use a server: a folder for its local stores.
    struct Machine: Sendable {
        let folder: String
        /// The connection string of the server.
        let server: String

        /// Returns the configuration of the machine. Each machine has a copy of the same key file.
        var configuration: StorageConfiguration {
            var configuration = StorageConfiguration(root: URL(filePath: folder), applicationID: "org.example.scale")
            configuration.userDefaultsName = "scale"
            configuration.keySource = .keyFile("\(folder)/key")
            // Many processes share few processors, so an answer may be late.
            configuration.deadlines.files = .seconds(60)
            return configuration
        }

        /// Returns a router of the machine.
        /// - Parameter change: Changes the configuration before it is used.
        func router(_ change: (inout StorageConfiguration) -> Void = { _ in }) -> StorageRouter {
            var configuration = self.configuration
            change(&configuration)
            configuration.usePostgreSQL(PostgreSQLServer(server, deadline: .seconds(60)))
            return StorageRouter(configuration: configuration)
        }
    }

    /// Prints a line without a buffer.
    func say(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }
#endif
