package import BackendContract
package import BackendRuntime

/// Records which keys running programs seal with, so that no key is destroyed while a program may still seal with it.
package protocol KeyUses: Sendable {
    /// Records that this process seals with a key. The record ends when the result is released or the process ends.
    /// - Throws: ``BackendError`` if the use could not be recorded. Then the key must not seal.
    func begin(_ id: [UInt8]) async throws(BackendError) -> any Sendable

    /// Returns whether a running process, including this one, has recorded the use of a key.
    /// - Throws: ``BackendError`` if the answer cannot be determined.
    func isUsed(_ id: [UInt8]) async throws(BackendError) -> Bool
}

/// Records nothing, because no other program shares the keys.
package struct NoOtherUses: KeyUses {
    package init() {}
    package func begin(_ id: [UInt8]) async throws(BackendError) -> any Sendable { () }
    package func isUsed(_ id: [UInt8]) async throws(BackendError) -> Bool { false }
}

/// Records uses as locked files in a folder. The system releases a lock when its process ends, even after a crash.
///
/// Each process creates one file for each key that it seals with, and keeps it locked. The name of the file contains
/// the key's id and a random number. A file without a lock was left by a process that has ended. The next process that
/// begins to use any key removes it.
///
/// A process may also remove a new file that is not locked yet. So a process checks after locking that its file still
/// exists. If it does not, the process creates another one.
package struct KeyUseFiles: KeyUses {
    private let directory: String
    private let lane: FileLane

    /// Creates the record of uses for a folder. No file is opened.
    package init(directory: String, deadline: Duration, runtime: Runtime) {
        self.directory = directory
        lane = FileLane("key-uses", within: deadline, runtime)
    }

    package func begin(_ id: [UInt8]) async throws(BackendError) -> any Sendable {
        let randomBytes = lane.runtime.randomBytes
        return try await lane.run(isMutation: false) { (files) throws(FileError) in
            try files.createDirectory(directory)
            // Remove the files that killed processes left for any key, so that they do not accumulate.
            _ = try isUsed("", files)
            while true {
                let path = "\(directory)/\(prefix(id))\(hexadecimalText(of: randomBytes(8)))"
                let lock = try files.lock(path) { false }
                // The name is random, so no other process creates a file with this name. If the file exists, it is the
                // locked one.
                if try files.status(path) != nil { return KeyUse(lock, path, files) }
                lock.release()
            }
        }
    }

    package func isUsed(_ id: [UInt8]) async throws(BackendError) -> Bool {
        let prefix = prefix(id)
        return try await lane.run(isMutation: false) { (files) throws(FileError) in try isUsed(prefix, files) }
    }

    /// Checks every file, also after a match, so that the files of ended processes are removed.
    private func isUsed(_ prefix: String, _ files: any FileSystem) throws(FileError) -> Bool {
        var isUsed = false
        for name in try files.list(directory) ?? [] where name.hasPrefix(prefix) {
            isUsed = try isLocked("\(directory)/\(name)", files) || isUsed
        }
        return isUsed
    }

    /// Returns whether a process has locked a file. A file that no process has locked is removed.
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
}

/// A locked file of this process. The file is removed when this object is released.
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
