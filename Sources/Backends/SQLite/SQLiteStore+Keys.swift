#if SQLite
    package import BackendContract
    package import BackendRuntime
    package import Sealing

    extension SQLiteStore {
        /// The ids of the keys that wrap the data keys of a directory's databases, as far as these name a source as theirs. If there is
        /// one, the source had a key already, and no first key is made for it.
        /// - Returns: The ids, by the names of the databases.
        /// - Throws: ``BackendError`` when a database cannot be read: the answer would not be complete.
        package static func sealingKeyIDs(
            inDatabasesIn directory: String, sealedFrom source: any KeySource, locks: String, deadline: Duration, runtime: Runtime
        ) async throws(BackendError) -> [String: Set<[UInt8]>] {
            let lane = runtime.makeLane("sqlite.keys")
            let pin = source.pin
            return try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: false) {
                (call) throws(BackendError) in
                let deadline = call.deadline
                let names: [String]
                do throws(FileError) { names = try runtime.files.list(directory) ?? [] } catch { throw error.backendError() }
                var ids: [String: Set<[UInt8]>] = [:]
                for name in names where name.hasSuffix(".sqlite") && !name.hasPrefix(".") {
                    let path = "\(directory)/\(name)"
                    let lock = lockPath(forDatabaseAt: path, in: locks, files: runtime.files)
                    let file = DatabaseFile(path: path, lockPath: lock, lane: lane, runtime: runtime)
                    let header = try file.find(deadline: deadline)?.header
                    file.closeWithoutWriting()
                    if let found = header?.keys.ids(ofSource: pin), !found.isEmpty { ids[String(name.dropLast(7))] = Set(found) }
                }
                return ids
            }
        }
    }
#endif
