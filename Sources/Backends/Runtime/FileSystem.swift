package import BackendContract

/// A failed operation on a file.
package struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The system's error number.
    package let number: Int32
    /// What was attempted: "open", "write", "fsync".
    package let operation: String
    /// The path.
    package let path: String

    /// Creates an error.
    package init(number: Int32, operation: String, path: String) {
        self.number = number
        self.operation = operation
        self.path = path
    }

    /// The operation, the path and the system's name for the error.
    package var description: String { "\(operation) \(path): \(systemErrorText(number))" }

    /// Whether the operation failed because the file or a folder of its path does not exist.
    package var isNotFound: Bool { isNumberOfMissingName(number) }

    /// Whether the operation failed because the name is in use.
    package var isNameTaken: Bool { isNumberOfTakenName(number) }

    /// The corresponding backend error.
    package func backendError(outcome: MutationOutcome = .notApplied) -> BackendError {
        switch FileErrorKind(number) {
        case .accessDenied:
            BackendError(.accessDenied, "Access was refused (\(self)). Check the owner and the permissions of the path.", outcome: outcome)
        case .noSpace: BackendError(.noSpace, "There is no room left (\(self)). Free some space and try again.", outcome: outcome)
        case .timedOut:
            BackendError(.timedOut, "Another process holds the store's lock (\(self)). Try again once it is done.", outcome: outcome)
        case .exhausted:
            BackendError(
                .unavailable,
                "The program or the machine has too many files open, or too little memory (\(self)). Close some and try again, or raise the limit.",
                outcome: outcome)
        case .other: BackendError(.failed, "The file could not be used (\(self)).", outcome: outcome)
        }
    }
}

/// The status of a file: enough to notice that it was replaced or changed.
package struct FileStatus: Hashable, Sendable {
    /// The device and number of the file.
    package var device: UInt64
    /// The file's number on its device.
    package var inode: UInt64
    /// The size in bytes.
    package var size: Int64
    /// The last change of the content, in nanoseconds since 1970.
    package var modified: Int64
    /// The last change of the content or the attributes, in nanoseconds since 1970.
    package var changed: Int64
    /// The permission bits.
    package var permissions: UInt32
    /// The owner's number.
    package var owner: UInt32
    /// The group's number.
    package var group: UInt32
    /// Whether it is a regular file.
    package var isRegular: Bool
    /// Whether it is a directory.
    package var isDirectory: Bool

    /// Whether both are of one file, whatever it held.
    package func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }

    /// Creates a status.
    package init(
        device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64, permissions: UInt32, owner: UInt32, group: UInt32,
        isRegular: Bool, isDirectory: Bool
    ) {
        self.device = device
        self.inode = inode
        self.size = size
        self.modified = modified
        self.changed = changed
        self.permissions = permissions
        self.owner = owner
        self.group = group
        self.isRegular = isRegular
        self.isDirectory = isDirectory
    }
}

/// A file's content, its state when it was read, and a hold on it: while the hold lives, no other file gets the same number.
package struct FileContents: Sendable {
    /// The bytes.
    package var bytes: [UInt8]
    /// The state at the end of reading.
    package var status: FileStatus
    /// Keeps the file's number in use.
    package var hold: any FileHold

    /// Creates contents.
    package init(bytes: [UInt8], status: FileStatus, hold: any FileHold) {
        self.bytes = bytes
        self.status = status
        self.hold = hold
    }
}

/// Keeps a file open, so that its number is not given to another file.
package protocol FileHold: AnyObject, Sendable {}

/// A lock between processes, held until it is released or its process ends.
package protocol FileLock: Sendable {
    /// Releases the lock; a second call does nothing.
    func release()
}

/// The file system operations that stores need. Every operation may block: call it on a lane.
///
/// An operation is durable only where it says so. The real one is ``PosixFileSystem``; a simulation implements the same operations over
/// a volatile and a durable view.
package protocol FileSystem: Sendable {
    /// The state of the file at a path, following links, or nil when there is none. Short enough to be called off a lane.
    func status(_ path: String) throws(FileError) -> FileStatus?

    /// The owners whose files and folders this process trusts, now: a service may give up root's rights after its start.
    var trustedOwners: TrustedOwners { get }

    /// The content of a regular file, or nil when there is none at the path.
    func read(_ path: String) throws(FileError) -> FileContents?

    /// Creates a new file with permissions 0600 and writes bytes into it: not durable yet. Fails with EEXIST if there is one.
    func create(_ path: String, _ bytes: [UInt8]) throws(FileError)

    /// Writes bytes at the end of a file: not durable yet. Fails if there is no file.
    func append(_ path: String, _ bytes: [UInt8]) throws(FileError)

    /// A part of a regular file, shorter where the file ends; nil when there is no file.
    func read(_ path: String, from offset: Int64, count: Int) throws(FileError) -> [UInt8]?

    /// Makes a file's content durable (fsync).
    func synchronizeFile(_ path: String) throws(FileError)

    /// Gives a file another name, replacing what has that name. Atomic; durable once the directory is synchronized.
    func rename(_ path: String, to newPath: String) throws(FileError)

    /// Gives a file a second name that must be free: fails with EEXIST otherwise. Atomic; durable once the directory is synchronized.
    func link(_ path: String, to newPath: String) throws(FileError)

    /// Gives the file that is going to replace another one its owner and permissions.
    /// - Throws: ``FileError`` where the other one belongs to a user whom the replacement would lock out.
    func keepOwner(of path: String, for newPath: String) throws(FileError)

    /// Removes a file; a missing one is not an error. Durable once the directory is synchronized.
    func remove(_ path: String) throws(FileError)

    /// Makes the names in a directory durable (fsync of the directory).
    func synchronizeDirectory(_ path: String) throws(FileError)

    /// Creates a directory and those above it with permissions 0700, durably. One that exists is left as it is.
    func createDirectory(_ path: String) throws(FileError)

    /// The names in a directory, or nil when there is no such directory.
    func list(_ path: String) throws(FileError) -> [String]?

    /// The path with every symbolic link resolved, also where its last parts do not exist yet.
    func resolve(_ path: String) -> String

    /// Takes the exclusive lock of a lock file, creating the file (0600) if necessary. The file is never removed.
    ///
    /// Who waits first gets it next: a process that releases the lock and takes it again does so after those that wait for it.
    /// - Parameters:
    ///   - path: The file.
    ///   - giveUp: Asked again and again while the caller waits; true ends the waiting with ETIMEDOUT.
    func lock(_ path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> any FileLock

    /// Takes the exclusive lock of a file itself; where there is no such file yet, that of its folder.
    ///
    /// A lock file keeps apart the programs that were configured with it. This lock keeps apart all programs that replace the file, whatever
    /// their configuration. It ends in effect when the file is made or replaced: from then on others can lock the new one.
    /// - Parameters:
    ///   - path: The file. A symbolic link is followed.
    ///   - giveUp: Asked again and again while the caller waits; true ends the waiting with ETIMEDOUT.
    /// - Returns: The lock; nil where there is no folder either.
    func lockContent(of path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> (any FileLock)?

    /// Something for each time that one of some names in a directory may have been created, changed, renamed or removed, by anyone; several
    /// times may be told as one. A directory that does not exist is watched once it does, and one that was moved away or removed is watched again
    /// when there is another one at its path. Ends where directories cannot be watched.
    func changes(of names: Set<String>, in directory: String) -> AsyncStream<Void>
}

extension FileSystem {
    /// Does nothing: files have no owners here.
    package func keepOwner(of path: String, for newPath: String) throws(FileError) {}

    /// Replaces a file's content, durably and in one step: a new file beside it (0600, or with owner and permissions of the old one), flushed,
    /// renamed over it, and the directory flushed.
    ///
    /// When it returns the new content is durable. When it throws an error, ``DurableReplaceError/mayBeReplaced`` says whether readers may see
    /// the new content already (then it may or may not survive a power cut); otherwise the old content is unchanged.
    /// - Parameters:
    ///   - path: The file.
    ///   - bytes: Its new content.
    ///   - temporaryName: The name of the file beside it; it must not be in use.
    ///   - stillWanted: Asked when the new content is on the disk, right before it takes the old one's place.
    /// - Returns: The new file, as it was just before it took the old one's place; nil if it was no longer wanted, and nothing changed.
    @discardableResult
    package func replaceDurably(
        _ path: String, with bytes: [UInt8], temporaryName: String,
        if stillWanted: () throws(FileError) -> Bool = { () throws(FileError) in true }
    ) throws(DurableReplaceError) -> FileStatus? {
        let directory = parentDirectory(of: path)
        let temporary = directory + "/" + temporaryName
        do throws(FileError) {
            try create(temporary, bytes)
        } catch {
            // Keep an existing file of that name: it belongs to another program.
            if !error.isNameTaken {
                do throws(FileError) { try remove(temporary) } catch {
                    // The next writer removes the temporary file.
                }
            }
            throw DurableReplaceError(error: error, mayBeReplaced: false)
        }
        var new: FileStatus?
        do throws(FileError) {
            try keepOwner(of: path, for: temporary)
            try synchronizeFile(temporary)
            guard try stillWanted() else {
                try remove(temporary)
                return nil
            }
            new = try status(temporary)
            try rename(temporary, to: path)
        } catch {
            // A rename that reports an error may have happened.
            let mayBeReplaced = new.map { mayBe($0, at: path) } ?? false
            do throws(FileError) { try remove(temporary) } catch {
                // The next writer removes the temporary file.
            }
            throw DurableReplaceError(error: error, mayBeReplaced: mayBeReplaced)
        }
        do throws(FileError) {
            try synchronizeDirectory(directory)
        } catch {
            throw DurableReplaceError(error: error, mayBeReplaced: true)
        }
        return new
    }

    /// Whether a file may have a name: false only where another file is proven to have it, or none.
    private func mayBe(_ file: FileStatus, at path: String) -> Bool {
        do throws(FileError) {
            guard let there = try status(path) else { return false }
            return there.isSameFile(as: file)
        } catch {
            return true
        }
    }
}

/// A durable replacement that failed.
package struct DurableReplaceError: Error, Sendable {
    /// What failed.
    package let error: FileError
    /// Whether the new content may have replaced the old.
    package let mayBeReplaced: Bool
}

/// The folder of a path.
package func parentDirectory(of path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}

/// The part of a path after its last slash.
package func lastComponent(of path: String) -> String {
    path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
}
