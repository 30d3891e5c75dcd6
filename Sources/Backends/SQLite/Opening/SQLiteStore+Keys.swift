#if SQLite
    package import BackendContract
    package import BackendRuntime
    package import Sealing

    extension SQLiteStore {
        /// Returns the ids of the keys of a source that can open databases in a folder. A database encrypts its rows
        /// with data keys. It contains these data keys too, encrypted with the keys of one or several sources.
        ///
        /// If a key of the source can open a database, the source has already had a key. Then no first key is created
        /// for the source, even if it has no key now.
        /// - Returns: The ids, by the names of the databases. Databases that no key of the source can open are omitted.
        /// - Throws: ``BackendError`` if a database cannot be read, because the result would be incomplete.
        package static func sealingKeyIDs(
            inDatabasesIn directory: String, sealedFrom source: any KeySource, locks: String, deadline: Duration, runtime: Runtime
        ) async throws(BackendError) -> [String: Set<[UInt8]>] {
            let pin = source.pin
            return try await headers(inDatabasesIn: directory, locks: locks, deadline: deadline, runtime: runtime)
                .mapValues { Set($0.keys.ids(ofSource: pin)) }.filter { !$0.value.isEmpty }
        }

        /// Returns the applications that the databases in a folder belong to, according to their headers.
        /// - Throws: ``BackendError`` if one of the databases cannot be read.
        package static func applications(
            ofDatabasesIn directory: String, locks: String, deadline: Duration, runtime: Runtime
        ) async throws(BackendError) -> Set<String> {
            Set(
                try await headers(inDatabasesIn: directory, locks: locks, deadline: deadline, runtime: runtime).values
                    .map(\.context.application))
        }

        /// Returns the headers of the databases in a folder, by the names of the databases.
        private static func headers(
            inDatabasesIn directory: String, locks: String, deadline: Duration, runtime: Runtime
        ) async throws(BackendError) -> [String: DatabaseHeader] {
            let lane = runtime.makeLane("sqlite.keys")
            return try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: false) {
                (call) throws(BackendError) in
                let names: [String]
                do throws(FileError) { names = try runtime.files.list(directory) ?? [] } catch { throw error.backendError() }
                var headers: [String: DatabaseHeader] = [:]
                for name in names where name.hasSuffix(".sqlite") && !name.hasPrefix(".") {
                    let path = "\(directory)/\(name)"
                    let lock = lockPath(forDatabaseAt: path, in: locks, files: runtime.files)
                    let file = DatabaseFile(path: path, lockPath: lock, lane: lane, runtime: runtime)
                    defer { file.closeWithoutWriting() }
                    headers[String(name.dropLast(7))] = try file.find(deadline: call.deadline)?.header
                }
                return headers
            }
        }
    }
#endif
