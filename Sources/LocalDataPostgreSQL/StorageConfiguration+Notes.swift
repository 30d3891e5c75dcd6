#if PostgreSQL
    import BackendContract
    import BackendRuntime
    import LocalData
    import PostgreSQLBackend
    import Sealing

    extension StorageConfiguration {
        /// Returns the file in which this machine notes the latest header of a database on a server:
        /// `<state>/servers/<id of the database>`. Nil for a configuration without folders.
        ///
        /// There is one file of less than 150 bytes for each sealed database that this machine has opened.
        var headerNotes: HeaderNotes.Place {
            let (configuration, runtime) = (self, runtime)
            return { (database) throws(BackendError) in
                guard let directories = try? configuration.directories else { return nil }
                let path = "\(runtime.files.resolve(directories.state))/servers/\(hexadecimalText(of: database))"
                return FileAnchor(
                    path: path, lockPath: FileAnchor.lockPath(forAnchorAt: path, in: directories.locks),
                    deadline: configuration.deadlines.files, runtime: runtime)
            }
        }
    }
#endif
