package import BackendContract

/// A file operation that failed.
package struct FileError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The system's error number.
    package let number: Int32
    /// The operation that failed: "open", "write", "fsync".
    package let operation: String
    /// The path.
    package let path: String

    /// Creates an error.
    package init(number: Int32, operation: String, path: String) {
        (self.number, self.operation, self.path) = (number, operation, path)
    }

    /// The operation, the path and the system's name for the error.
    package var description: String { "\(operation) \(path): \(systemErrorText(number))" }

    /// Whether the operation failed because the file or a folder of its path does not exist.
    package var isNotFound: Bool { isNumberOfMissingName(number) }

    /// Whether the operation failed because the name already exists.
    package var isNameTaken: Bool { isNumberOfTakenName(number) }

    /// Returns the corresponding backend error.
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

/// The status of a file. If two statuses of a path differ, its file was changed or replaced between them.
package struct FileStatus: Hashable, Sendable {
    /// The number of the device that contains the file.
    package var device: UInt64
    /// The file's number on its device (inode number).
    package var inode: UInt64
    /// The size in bytes.
    package var size: Int64
    /// The time of the last change of the content, in nanoseconds since 1970.
    package var modified: Int64
    /// The time of the last change of the content or the attributes, in nanoseconds since 1970.
    package var changed: Int64
    /// The permission bits.
    package var permissions: UInt32
    /// The user ID of the owner.
    package var owner: UInt32
    /// The group ID.
    package var group: UInt32
    /// Whether it is a regular file.
    package var isRegular: Bool
    /// Whether it is a directory.
    package var isDirectory: Bool

    /// Whether both statuses are of the same file, even if its content has changed.
    package func isSameFile(as other: FileStatus) -> Bool { device == other.device && inode == other.inode }

    /// Creates a status.
    package init(
        device: UInt64, inode: UInt64, size: Int64, modified: Int64, changed: Int64, permissions: UInt32, owner: UInt32, group: UInt32,
        isRegular: Bool, isDirectory: Bool
    ) {
        (self.device, self.inode, self.size, self.modified, self.changed) = (device, inode, size, modified, changed)
        (self.permissions, self.owner, self.group, self.isRegular, self.isDirectory) = (permissions, owner, group, isRegular, isDirectory)
    }
}

/// The content of a file, its status, and a hold that keeps the file open. While the hold exists, no other file gets
/// the same inode number.
package struct FileContents: Sendable {
    /// The bytes.
    package var bytes: [UInt8]
    /// The status at the end of the read.
    package var status: FileStatus
    /// Keeps the inode number in use.
    package var hold: any FileHold
}

/// Keeps a file open, so that no other file gets its inode number.
package protocol FileHold: AnyObject, Sendable {}

/// A lock between processes. It is held until it is released or its process ends.
package protocol FileLock: Sendable {
    /// Releases the lock; a second call does nothing.
    func release()
}

/// The file system operations that stores need. Every operation may block, so call it on a lane (a serial queue for
/// blocking work).
///
/// An operation is durable only if its documentation says so. ``PosixFileSystem`` is the real implementation. A
/// simulation implements the operations and keeps two versions of each file: its volatile and its durable content.
package protocol FileSystem: Sendable {
    /// Returns the status of the file at a path; nil if there is none. Follows symbolic links. It is fast enough to
    /// be called outside a lane.
    func status(_ path: String) throws(FileError) -> FileStatus?

    /// The owners whose files and folders this process currently trusts. The owners can change: a service may give up
    /// the rights of root after its start.
    var trustedOwners: TrustedOwners { get }

    /// Returns the access control list of the file at a path; nil if there is no file, or the file has no list, or its file system has
    /// no lists of this form. Follows symbolic links.
    func accessControlList(_ path: String) throws(FileError) -> AccessControlList?

    /// Returns whether no user besides the given one and root is a member of a group. May block while a network directory is asked.
    func isPrivate(_ group: UInt32, of user: UInt32) throws(FileError) -> Bool

    /// Reads a regular file; nil if there is none at the path.
    func read(_ path: String) throws(FileError) -> FileContents?

    /// Creates a new file with permissions 0600 and writes bytes into it. The file is not durable yet. Fails with
    /// EEXIST if the path exists.
    func create(_ path: String, _ bytes: [UInt8]) throws(FileError)

    /// Appends bytes to a file. The bytes are not durable yet. Fails if there is no file.
    func append(_ path: String, _ bytes: [UInt8]) throws(FileError)

    /// Overwrites every byte of a file with zeros, durably. The file keeps its size.
    func overwriteWithZeros(_ path: String) throws(FileError)

    /// Writes every byte of a file again, unchanged and durably. The caller excludes other writers.
    ///
    /// After a failed fsync, the kernel may have dropped pages that programs still read. A later fsync then succeeds
    /// without them. This call changes every page, so that they are all written.
    func rewrite(_ path: String) throws(FileError)

    /// Reads a part of a regular file; nil if there is no file. The result is shorter if the file ends earlier.
    func read(_ path: String, from offset: Int64, count: Int) throws(FileError) -> [UInt8]?

    /// Makes a file's content durable (fsync).
    func synchronizeFile(_ path: String) throws(FileError)

    /// Renames a file. If the new name exists, its file is replaced. The change is atomic. It is durable once the
    /// directory is synchronized.
    func rename(_ path: String, to newPath: String) throws(FileError)

    /// Gives a file a second name (a hard link). Fails with EEXIST if that name exists. The change is atomic. It is
    /// durable once the directory is synchronized.
    func link(_ path: String, to newPath: String) throws(FileError)

    /// Gives a replacement file the owner and permissions of the file that it will replace.
    /// - Throws: ``FileError`` if the owner of the old file could not access the replacement.
    func keepOwner(of path: String, for newPath: String) throws(FileError)

    /// Removes a file; a missing file is not an error. The removal is durable once the directory is synchronized.
    func remove(_ path: String) throws(FileError)

    /// Makes the names in a directory durable (fsync of the directory).
    func synchronizeDirectory(_ path: String) throws(FileError)

    /// Creates a directory and the missing ones above it with permissions 0700, durably. An existing directory is
    /// left unchanged.
    func createDirectory(_ path: String) throws(FileError)

    /// Lists the names in a directory; nil if there is no such directory.
    func list(_ path: String) throws(FileError) -> [String]?

    /// Returns the path with every symbolic link resolved. The last parts of the path need not exist.
    func resolve(_ path: String) -> String

    /// Returns whether the last component of a path is a symbolic link.
    func isLink(_ path: String) -> Bool

    /// Takes the exclusive lock of a lock file. Creates the file (0600) if necessary, and never removes it.
    ///
    /// Waiting processes get the lock in the order of their arrival. A process that releases the lock and takes it
    /// again waits behind them.
    /// - Parameters:
    ///   - path: The lock file.
    ///   - giveUp: Called repeatedly during the wait. If it returns true, the wait ends with ETIMEDOUT.
    func lock(_ path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> any FileLock

    /// Takes an exclusive lock on a file itself, or on its folder if the file does not exist yet.
    ///
    /// A lock file excludes only programs that are configured to use it. This lock also excludes programs that use
    /// LocalData with another lock file, because they take it too before they replace the file. The lock loses its
    /// effect when the file is created or replaced, because other processes can then lock the new file.
    /// - Parameters:
    ///   - path: The file. A symbolic link is followed.
    ///   - giveUp: Called repeatedly during the wait. If it returns true, the wait ends with ETIMEDOUT.
    /// - Returns: The lock; nil if the folder does not exist either.
    func lockContent(of path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> (any FileLock)?

    /// Returns a stream with an element whenever any process may have created, changed, renamed or removed one of
    /// some names in a directory. One element may stand for several changes.
    ///
    /// A directory that does not exist is watched once it is created. If the directory is moved or removed, the next
    /// directory that appears at the path is watched. The stream ends if directories cannot be watched.
    func changes(of names: Set<String>, in directory: String) -> AsyncStream<Void>
}

/// Runs file operations. A failure becomes a backend error with the outcome `notApplied`.
package func onDisk<R>(_ work: () throws(FileError) -> R) throws(BackendError) -> R {
    do throws(FileError) { return try work() } catch { throw error.backendError() }
}

extension FileSystem {
    /// Does nothing: the default for a file system without owners.
    package func keepOwner(of path: String, for newPath: String) throws(FileError) {}

    /// Compares the resolved path with the resolved folder.
    package func isLink(_ path: String) -> Bool {
        let folder = resolve(parentDirectory(of: path))
        return !resolve(path).hasSameBytes(as: (folder == "/" ? "" : folder) + "/" + lastComponent(of: path))
    }

    /// Returns nil: the default for a file system without access control lists.
    package func accessControlList(_ path: String) throws(FileError) -> AccessControlList? { nil }

    /// Returns whether the group has the number of the user: the default for a file system without a user database.
    package func isPrivate(_ group: UInt32, of user: UInt32) throws(FileError) -> Bool { group == user }

    /// Checks that no symbolic link to a missing target, for example on a disk that is not mounted, leads to a path.
    /// If there is no such link, a missing file certainly does not exist.
    /// - Throws: ``BackendError`` with `unavailable`, which names the link.
    package func requireNoBrokenLink(to path: String) throws(BackendError) {
        guard let link = try onDisk({ () throws(FileError) in try brokenLink(to: path) }) else { return }
        throw BackendError(
            .unavailable,
            "The target of the symbolic link \(link) is missing, so it is unknown whether there is a file at \(path). Mount or restore the target, or remove the link. Nothing was changed."
        )
    }

    /// Returns the part of a path that is a symbolic link to a missing target; nil if there is none.
    private func brokenLink(to path: String) throws(FileError) -> String? {
        let folder = parentDirectory(of: path)
        guard folder != path, try status(path) == nil else { return nil }
        let found: [String]?
        // A sandbox may refuse to list a folder. Then the file counts as missing.
        do { found = try list(folder) } catch { return nil }
        guard let names = found else { return try brokenLink(to: folder) }
        let name = lastComponent(of: path)
        // The second status excludes a file that was created after the first one.
        guard names.contains(where: { $0.utf8.elementsEqual(name.utf8) }), try status(path) == nil else { return nil }
        return path
    }

    /// Replaces the content of a file durably and atomically.
    ///
    /// First, the content is written to a new file beside the old one (0600, or with the old owner and permissions).
    /// The new file is flushed and renamed over the old one. Finally the directory is flushed.
    ///
    /// When the call returns, the new content is durable. If it throws, ``DurableReplaceError/mayBeReplaced`` states
    /// whether readers may already see the new content. If so, a power loss may still undo the replacement. If not,
    /// the old content is unchanged.
    /// - Parameters:
    ///   - path: The file.
    ///   - bytes: The new content.
    ///   - temporaryName: The name of the new file until it is renamed. It must not be in use.
    ///   - stillWanted: Called when the new content is on disk, right before the rename. If it returns false, the new
    ///     file is removed.
    /// - Returns: The status of the new file right before the rename; nil if `stillWanted` returned false and nothing
    ///   was changed.
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
            // Do not remove a file that already has the temporary name: it belongs to another program.
            // If the temporary file cannot be removed, the next writer removes it.
            if !error.isNameTaken { try? remove(temporary) }
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
            // The rename may have happened even if it reports an error.
            let mayBeReplaced = new.map { mayBe($0, at: path) } ?? false
            // If the temporary file cannot be removed, the next writer removes it.
            try? remove(temporary)
            throw DurableReplaceError(error: error, mayBeReplaced: mayBeReplaced)
        }
        do throws(FileError) {
            try synchronizeDirectory(directory)
        } catch {
            throw DurableReplaceError(error: error, mayBeReplaced: true)
        }
        return new
    }

    /// Whether the given file may be at a path. False only if the path certainly leads to another file or to no file.
    private func mayBe(_ file: FileStatus, at path: String) -> Bool {
        do throws(FileError) { return try status(path)?.isSameFile(as: file) ?? false } catch { return true }
    }
}

/// A durable replacement that failed.
package struct DurableReplaceError: Error, Sendable {
    /// The error of the operation that failed.
    package let error: FileError
    /// Whether the new content may have replaced the old content.
    package let mayBeReplaced: Bool
}

/// Returns the folder of a path.
package func parentDirectory(of path: String) -> String {
    var path = path
    return path.withUTF8 { bytes in
        guard let slash = bytes.lastIndex(of: UInt8(ascii: "/")) else { return "." }
        return slash == 0 ? "/" : String(decoding: bytes[..<slash], as: UTF8.self)
    }
}

/// Returns the part of a path after its last slash.
package func lastComponent(of path: String) -> String {
    var path = path
    return path.withUTF8 { String(decoding: $0[(($0.lastIndex(of: UInt8(ascii: "/")) ?? -1) + 1)...], as: UTF8.self) }
}
