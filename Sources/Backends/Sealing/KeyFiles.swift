internal import BackendContract
internal import BackendRuntime

/// Reads and writes the files of one source of sealing keys, or of one freshness anchor, which records the latest state
/// of a database. This work runs on a separate lane, so that a slow disk or key derivation does not delay other work.
struct KeyFiles: Sendable {
    let runtime: Runtime
    private let lane: any Lane
    private let deadline: Duration

    init(_ name: String, deadline: Duration, runtime: Runtime) {
        self.runtime = runtime
        self.deadline = deadline
        lane = runtime.makeLane(name)
    }

    /// Runs blocking work on the lane, with the deadline.
    /// - Parameter isMutation: Whether the work may change files. If so, a caller that times out gets an error with an
    ///   unknown outcome.
    /// - Parameter limit: The time limit; nil for the deadline.
    func onLane<R: Sendable>(
        isMutation: Bool, within limit: Duration? = nil, _ work: @escaping @Sendable () throws(BackendError) -> R
    ) async throws(BackendError) -> R {
        let end = limit.map { runtime.clock.now.advanced(by: $0) } ?? runtime.deadline(after: deadline)
        return try await lane.run(clock: runtime.clock, deadline: end, isMutation: isMutation) { (_) throws(BackendError) in try work() }
    }

    /// Runs work that derives a key on the lane. The limit is one day instead of the deadline: on a busy machine a
    /// derivation takes many seconds, and after a timeout the caller would have to repeat it.
    func deriving<R: Sendable>(isMutation: Bool, _ work: @escaping @Sendable () throws(BackendError) -> R) async throws(BackendError) -> R {
        try await onLane(isMutation: isMutation, within: .seconds(86_400), work)
    }

    /// Reads a file. Returns nil if it does not exist.
    func read(_ path: String) throws(BackendError) -> FileContents? {
        do throws(FileError) { return try runtime.files.read(path) } catch { throw error.backendError() }
    }

    /// Reads a file that this library created. Returns nil if it does not exist.
    ///
    /// The call also removes drafts, which are temporary files that a process links or renames to the path. Killed
    /// processes leave drafts. A running process whose draft is removed retries, or uses the file that exists.
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - name: The kind of file, for the error message.
    ///   - advice: The end of the error message after "and consider", for a file that other users can use.
    /// - Throws: ``BackendError``: `accessDenied` if other users can use the file; `untrusted` if they could change it
    ///   or a folder above it.
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

    /// Returns a name for a draft of a file: hidden, in the same folder, and unique.
    func draftName(for path: String) -> String { "\(Self.draftPrefix(for: path))\(hexadecimalText(of: runtime.randomBytes(8))).tmp" }

    private static func draftPrefix(for path: String) -> String { ".\(lastComponent(of: path))." }

    /// Returns whether a name has the form that ``draftName(for:)`` returns.
    /// - Parameter prefix: The beginning of the names of drafts, ``draftPrefix(for:)``.
    private static func isDraft(_ name: String, prefix: String) -> Bool {
        guard name.hasPrefix(prefix), name.hasSuffix(".tmp") else { return false }
        let digits = name.dropFirst(prefix.count).dropLast(4)
        return digits.utf8.count == 16 && bytes(ofHexadecimal: digits) != nil
    }

    /// Creates a file with permissions 0600, durably and atomically, unless it exists.
    ///
    /// The content is written to a draft and flushed, and then the draft is linked to the path. The link fails if
    /// another process has created the file first. No process sees an incomplete file. When the call returns, the file
    /// at the path is durable, and no draft of it is left.
    /// - Returns: Whether the file was created. False if it existed; an existing file is not changed.
    func make(_ path: String, _ bytes: [UInt8], draftName: String) throws(BackendError) -> Bool {
        let directory = parentDirectory(of: path)
        do throws(FileError) { try runtime.files.createDirectory(directory) } catch { throw error.backendError() }
        try runtime.files.requireTrust(in: [directory])
        return try onDisk { () throws(FileError) in
            let isMade = try link(directory + "/" + draftName, to: path, bytes)
            try runtime.files.synchronizeDirectory(directory)
            discardDrafts(of: path)
            return isMade
        }
    }

    private func link(_ draft: String, to path: String, _ bytes: [UInt8]) throws(FileError) -> Bool {
        // Remove an incomplete draft. If the name was taken, keep the file, because it belongs to another process.
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
            // The draft may be missing, because another process removed it. Other processes do that only if the file at
            // the path exists.
            if error.isNameTaken { return false }
            guard error.isNotFound, try runtime.files.status(path) != nil else { throw error }
            return false
        }
    }

    /// Replaces a file with permissions 0600, durably and atomically. When the call returns, the file at the path is
    /// durable, and no draft of it is left.
    /// - Parameters:
    ///   - path: The path of the file.
    ///   - old: The expected content. It is compared again immediately before the replacement.
    ///   - new: The new content.
    /// - Throws: ``BackendError``: `conflict` if the file has other content; an error with the outcome `unknown` if the
    ///   file may have been replaced.
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
                // Another process has read the file and removed the draft. Retry with a new draft.
                // Reason: "Readers of a key file remove leftover drafts" in Docs/Decisions/Keys.md.
                guard error.error.isNotFound, attempt < Self.replacements else { throw error.error.backendError() }
                continue
            }
            discardDrafts(of: path)
            if isReplaced { return }
            throw BackendError(
                .conflict, "Another process replaced \(path) since it was read. Check its content and try again; nothing was changed.")
        }
    }

    /// The maximum number of attempts to replace a file while other processes remove its drafts.
    private static let replacements = 64

    /// Makes the name of an existing file durable, by flushing its folder.
    func synchronizeName(of path: String) async throws(BackendError) {
        try await onLane(isMutation: false) { () throws(BackendError) in
            do throws(FileError) { try runtime.files.synchronizeDirectory(parentDirectory(of: path)) } catch { throw error.backendError() }
        }
    }

    /// Removes every draft of an existing file, even one that another process is about to link.
    /// Reason: "Readers of a key file remove leftover drafts" in Docs/Decisions/Keys.md.
    private func discardDrafts(of path: String) {
        let directory = parentDirectory(of: path)
        let prefix = Self.draftPrefix(for: path)
        for name in (try? runtime.files.list(directory)) ?? [] where Self.isDraft(name, prefix: prefix) { discard(directory + "/" + name) }
    }

    /// Removes a draft. Ignores errors, because a draft is harmless. The next process that may write here removes it.
    private func discard(_ draft: String) { try? runtime.files.remove(draft) }
}

extension KeyFiles: CustomReflectable {
    /// Shows no children: the runtime contains the environment, which may hold secrets, and a dump must not show them.
    var customMirror: Mirror { Mirror(self, children: []) }
}
