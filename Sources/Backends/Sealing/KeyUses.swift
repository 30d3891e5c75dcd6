package import BackendContract
package import BackendRuntime

/// Which keys are in use for sealing by running programs, so that none is destroyed while one may still seal with it.
package protocol KeyUses: Sendable {
    /// Says that this process seals with a key from now on, for as long as the result is held or the process runs.
    /// - Throws: ``BackendError`` when the use could not be recorded: the key must not be used for sealing then.
    func begin(_ id: [UInt8]) async throws(BackendError) -> any Sendable

    /// Whether a running process has begun to use a key, this one included.
    /// - Throws: ``BackendError`` when that cannot be found out.
    func isUsed(_ id: [UInt8]) async throws(BackendError) -> Bool
}

/// No other program shares the keys.
package struct NoOtherUses: KeyUses {
    package init() {}
    package func begin(_ id: [UInt8]) async throws(BackendError) -> any Sendable { () }
    package func isUsed(_ id: [UInt8]) async throws(BackendError) -> Bool { false }
}

/// Uses as locked files in a folder: the system releases the lock of a process however it ends.
///
/// Each process makes a file for each key that it seals with, named after the key's id and a random number, and keeps it locked. A file without a lock
/// was left by a process that has ended; the next process that lists the folder removes it. It may also remove a file that was made a moment ago
/// and is not locked yet. So a process checks, once it has the lock, that its file is still there, and else makes another one.
package struct KeyUseFiles: KeyUses {
    private let directory: String
    private let runtime: Runtime
    private let lane: any Lane
    private let deadline: Duration

    /// Names the folder; nothing is opened.
    package init(directory: String, deadline: Duration, runtime: Runtime) {
        (self.directory, self.deadline, self.runtime) = (directory, deadline, runtime)
        lane = runtime.makeLane("key-uses")
    }

    package func begin(_ id: [UInt8]) async throws(BackendError) -> any Sendable {
        let randomBytes = runtime.randomBytes
        return try await onLane { (files) throws(FileError) in
            try files.createDirectory(directory)
            // What processes that were killed left would pile up.
            _ = try isUsed(prefix(id), files)
            while true {
                let path = "\(directory)/\(prefix(id))\(hexadecimalText(of: randomBytes(8)))"
                let lock = try files.lock(path) { false }
                // Nobody else makes a file of this name: while it is there, it is the one that is locked.
                if try files.status(path) != nil { return KeyUse(lock, path, files) }
                lock.release()
            }
        }
    }

    package func isUsed(_ id: [UInt8]) async throws(BackendError) -> Bool {
        let prefix = prefix(id)
        return try await onLane { (files) throws(FileError) in try isUsed(prefix, files) }
    }

    /// Looks at every file, to the end: what ended processes left goes with it.
    private func isUsed(_ prefix: String, _ files: any FileSystem) throws(FileError) -> Bool {
        var isUsed = false
        for name in try files.list(directory) ?? [] where name.hasPrefix(prefix) {
            isUsed = try isLocked("\(directory)/\(name)", files) || isUsed
        }
        return isUsed
    }

    /// Whether a process has a file locked; one that none has is removed.
    private func isLocked(_ path: String, _ files: any FileSystem) throws(FileError) -> Bool {
        let lock: any FileLock
        do throws(FileError) { lock = try files.lock(path) { true } } catch {
            if error.isNotFound { return false }
            return true
        }
        defer { lock.release() }
        try files.remove(path)
        return false
    }

    private func prefix(_ id: [UInt8]) -> String { "\(hexadecimalText(of: id))-" }

    private func onLane<R: Sendable>(_ work: @escaping @Sendable (any FileSystem) throws(FileError) -> R) async throws(BackendError) -> R {
        let files = runtime.files
        return try await lane.run(clock: runtime.clock, deadline: runtime.clock.now.advanced(by: deadline), isMutation: false) {
            (_) throws(BackendError) in
            do throws(FileError) { return try work(files) } catch { throw error.backendError() }
        }
    }
}

/// A lock on a file of this process; the file is removed when the use ends.
private final class KeyUse: Sendable {
    private let lock: any FileLock
    private let path: String
    private let files: any FileSystem

    init(_ lock: any FileLock, _ path: String, _ files: any FileSystem) { (self.lock, self.path, self.files) = (lock, path, files) }

    deinit {
        try? files.remove(path)
        lock.release()
    }
}
