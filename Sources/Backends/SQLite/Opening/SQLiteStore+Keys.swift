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

        /// Returns the applications that the databases in a folder name as their owners. A database that cannot be read, or that another
        /// user owns, names none.
        package static func applications(
            ofDatabasesIn directory: String, locks: String, deadline: Duration, runtime: Runtime
        ) async throws(BackendError) -> Set<String> {
            try await onFiles(inFolder: directory, locks: locks, deadline: deadline, runtime: runtime) { (_, file, deadline) in
                (try? file.owner(deadline: deadline))?.applications ?? []
            }.reduce(into: []) { $0.formUnion($1) }
        }

        /// Returns the headers of the databases in a folder, by the names of the databases.
        private static func headers(
            inDatabasesIn directory: String, locks: String, deadline: Duration, runtime: Runtime
        ) async throws(BackendError) -> [String: DatabaseHeader] {
            let found = try await onFiles(inFolder: directory, locks: locks, deadline: deadline, runtime: runtime) {
                (name, file, deadline) throws(BackendError) in try file.find(deadline: deadline).map { (name, $0.header) }
            }
            return Dictionary(found.compactMap(\.self)) { $1 }
        }

        /// Runs work on each database in a folder.
        private static func onFiles<R: Sendable>(
            inFolder directory: String, locks: String, deadline: Duration, runtime: Runtime,
            _ work: @escaping @Sendable (_ name: String, _ file: DatabaseFile, _ deadline: MonotonicInstant) throws(BackendError) -> R
        ) async throws(BackendError) -> [R] {
            let lane = runtime.makeLane("sqlite.keys")
            return try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: false) {
                (call) throws(BackendError) in
                let names: [String]
                do throws(FileError) { names = try runtime.files.list(directory) ?? [] } catch { throw error.backendError() }
                var results: [R] = []
                for name in names where name.hasSuffix(".sqlite") && !name.hasPrefix(".") {
                    let path = "\(directory)/\(name)"
                    let lock = lockPath(forDatabaseAt: path, in: locks, files: runtime.files)
                    let file = DatabaseFile(path: path, lockPath: lock, lane: lane, runtime: runtime)
                    defer { file.closeWithoutWriting() }
                    results.append(try work(String(name.dropLast(7)), file, call.deadline))
                }
                return results
            }
        }
    }
#endif
