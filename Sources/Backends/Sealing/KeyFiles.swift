internal import BackendContract
internal import BackendRuntime

/// The files of one key source: read and made on a lane of their own, so that a slow disk or a slow derivation of a key does not delay
/// other work.
struct KeyFiles: Sendable {
    let runtime: Runtime
    private let lane: any Lane
    private let deadline: Duration

    init(_ name: String, deadline: Duration, runtime: Runtime) {
        self.runtime = runtime
        self.deadline = deadline
        lane = runtime.makeLane(name)
    }

    /// Runs blocking work on the lane.
    /// - Parameter isMutation: Whether something may have happened when the caller leaves early.
    func onLane<R: Sendable>(isMutation: Bool, _ work: @escaping @Sendable () throws(BackendError) -> R) async throws(BackendError) -> R {
        try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: isMutation) {
            (_) throws(BackendError) in
            try work()
        }
    }

    /// The content of a file, or nil when there is none.
    func read(_ path: String) throws(BackendError) -> FileContents? {
        do throws(FileError) { return try runtime.files.read(path) } catch { throw error.backendError() }
    }

    /// A name for a draft of a file: hidden, beside it, and unique.
    func draftName(for path: String) -> String { ".\(lastComponent(of: path)).\(hexadecimalText(of: runtime.randomBytes(8))).tmp" }

    /// Makes a file with permissions 0600, durably and whole, if there is none.
    ///
    /// It is written as a draft, flushed, and then linked to its name: that fails if another process has made one meanwhile, and no process
    /// sees half a file. The file at the path is durable when this returns.
    /// - Returns: Whether the file was made: false when there was one, which is left as it is.
    func make(_ path: String, _ bytes: [UInt8], draftName: String) throws(BackendError) -> Bool {
        let directory = parentDirectory(of: path)
        let draft = directory + "/" + draftName
        do throws(FileError) {
            try runtime.files.createDirectory(directory)
            // Remove a draft that was written in part, unless the name belongs to another process.
            do throws(FileError) { try runtime.files.create(draft, bytes) } catch {
                if !error.isNameTaken { discard(draft) }
                throw error
            }
            defer { discard(draft) }
            try runtime.files.synchronizeFile(draft)
            var isMade = true
            do throws(FileError) { try runtime.files.link(draft, to: path) } catch {
                guard error.isNameTaken else { throw error }
                isMade = false
            }
            try runtime.files.synchronizeDirectory(directory)
            return isMade
        } catch {
            throw error.backendError()
        }
    }

    /// Makes sure that a file which has its name keeps it.
    func synchronizeName(of path: String) throws(BackendError) {
        do throws(FileError) { try runtime.files.synchronizeDirectory(parentDirectory(of: path)) } catch { throw error.backendError() }
    }

    private func discard(_ draft: String) {
        do throws(FileError) { try runtime.files.remove(draft) } catch {
            // The draft is not used; the file at the path is complete.
        }
    }
}

extension KeyFiles: CustomReflectable {
    /// Nothing: the machine's environment may hold secrets, and a dump of a source would show it.
    var customMirror: Mirror { Mirror(self, children: []) }
}
