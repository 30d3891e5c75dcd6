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
        try await lane.run(clock: runtime.clock, deadline: runtime.deadline(after: deadline), isMutation: isMutation) {
            (_) throws(BackendError) in
            try work()
        }
    }

    /// Derives a key on the lane, without a deadline. On a busy machine a derivation takes many seconds, and a caller who left would have to repeat it.
    func deriving<R: Sendable>(isMutation: Bool, _ work: @escaping @Sendable () throws(BackendError) -> R) async throws(BackendError) -> R {
        try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: .seconds(86_400)), isMutation: isMutation) {
            (_) throws(BackendError) in
            try work()
        }
    }

    /// The content of a file, or nil when there is none.
    func read(_ path: String) throws(BackendError) -> FileContents? {
        do throws(FileError) { return try runtime.files.read(path) } catch { throw error.backendError() }
    }

    /// The content of a file that this library made, or nil when there is none. It must be trusted, and no other user may read it.
    ///
    /// Drafts of it that a killed process left are removed: the file has its name, so they are of no use to anyone.
    /// - Parameters:
    ///   - path: The file.
    ///   - name: What the file is, and what to consider once others could read it, for an error.
    func readPrivate(_ path: String, _ name: String, ifExposed advice: String) throws(BackendError) -> FileContents? {
        guard var contents = try read(path) else { return nil }
        do throws(BackendError) {
            guard contents.status.permissions & 0o077 == 0 else {
                throw BackendError(
                    .accessDenied, "The \(name) \(path) can be used by others. Make it private (chmod 600), and consider \(advice).")
            }
            try runtime.files.requireTrust(in: [path])
        } catch {
            wipe(&contents.bytes)
            throw error
        }
        discardDrafts(of: path)
        return contents
    }

    /// A name for a draft of a file: hidden, beside it, and unique.
    func draftName(for path: String) -> String { "\(Self.draftPrefix(for: path))\(hexadecimalText(of: runtime.randomBytes(8))).tmp" }

    private static func draftPrefix(for path: String) -> String { ".\(lastComponent(of: path))." }

    /// Whether a name is one that ``draftName(for:)`` gives.
    private static func isDraft(_ name: String, of path: String) -> Bool {
        let prefix = draftPrefix(for: path)
        guard name.hasPrefix(prefix), name.hasSuffix(".tmp") else { return false }
        let digits = name.dropFirst(prefix.count).dropLast(4)
        return digits.utf8.count == 16 && bytes(ofHexadecimal: digits) != nil
    }

    /// Makes a file with permissions 0600, durably and whole, if there is none.
    ///
    /// It is written as a draft, flushed, and then linked to its name: that fails if another process has made one meanwhile, and no process
    /// sees half a file. The file at the path is durable when this returns, and no draft of it is left.
    /// - Returns: Whether the file was made: false when there was one, which is left as it is.
    func make(_ path: String, _ bytes: [UInt8], draftName: String) throws(BackendError) -> Bool {
        let directory = parentDirectory(of: path)
        do throws(FileError) { try runtime.files.createDirectory(directory) } catch { throw error.backendError() }
        try runtime.files.requireTrust(in: [directory])
        do throws(FileError) {
            let isMade = try link(directory + "/" + draftName, to: path, bytes)
            try runtime.files.synchronizeDirectory(directory)
            discardDrafts(of: path)
            return isMade
        } catch {
            throw error.backendError()
        }
    }

    private func link(_ draft: String, to path: String, _ bytes: [UInt8]) throws(FileError) -> Bool {
        // Remove a draft that was written in part, unless the name belongs to another process.
        do throws(FileError) { try runtime.files.create(draft, bytes) } catch {
            if !error.isNameTaken { discard(draft) }
            throw error
        }
        defer { discard(draft) }
        do throws(FileError) {
            try runtime.files.synchronizeFile(draft)
            try runtime.files.link(draft, to: path)
            return true
        } catch {
            // A draft is removed by others only when the file has its name.
            if error.isNameTaken { return false }
            guard error.isNotFound, try runtime.files.status(path) != nil else { throw error }
            return false
        }
    }

    /// Replaces a file with permissions 0600, durably and in one step. The file at the path is durable when this returns, and no draft of it is left.
    /// - Parameters:
    ///   - path: The file.
    ///   - old: What it holds; compared once more right before it is replaced.
    ///   - new: What it is to hold.
    /// - Throws: ``BackendError``: `conflict` when it holds something else by then; with the outcome `unknown` when it may have been replaced.
    func replace(_ path: String, _ old: [UInt8], with new: [UInt8]) throws(BackendError) {
        for attempt in 1... {
            let isReplaced: Bool
            do throws(DurableReplaceError) {
                let file = try runtime.files.replaceDurably(path, with: new, temporaryName: draftName(for: path)) {
                    () throws(FileError) in try runtime.files.read(path)?.bytes == old
                }
                isReplaced = file != nil
            } catch {
                if error.mayBeReplaced { throw error.error.backendError(outcome: .unknown) }
                // A process that reads the file removes drafts of it: begin again.
                guard error.error.isNotFound, attempt < Self.replacements else { throw error.error.backendError() }
                continue
            }
            discardDrafts(of: path)
            if isReplaced { return }
            throw BackendError(
                .conflict, "Another process replaced \(path) meanwhile. Look what it holds and try again; nothing was changed.")
        }
    }

    /// How often a file is written anew whose draft another process has removed.
    private static let replacements = 64

    /// Makes sure that a file which has its name keeps it.
    func synchronizeName(of path: String) throws(BackendError) {
        do throws(FileError) { try runtime.files.synchronizeDirectory(parentDirectory(of: path)) } catch { throw error.backendError() }
    }

    /// Removes every draft of a file that has its name. One that another process is about to link is as useless: that process finds the name
    /// taken.
    private func discardDrafts(of path: String) {
        let directory = parentDirectory(of: path)
        let names: [String]?
        do throws(FileError) { names = try runtime.files.list(directory) } catch { return }
        for name in names ?? [] where Self.isDraft(name, of: path) { discard(directory + "/" + name) }
    }

    private func discard(_ draft: String) {
        do throws(FileError) { try runtime.files.remove(draft) } catch {
            // The draft is not used, and removed with the next start that may write here.
        }
    }
}

extension KeyFiles: CustomReflectable {
    /// Nothing: the machine's environment may hold secrets, and a dump of a source would show it.
    var customMirror: Mirror { Mirror(self, children: []) }
}
