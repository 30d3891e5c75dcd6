import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The files of this machine, through POSIX calls.
package struct PosixFileSystem: FileSystem {
    private let accounts: Accounts

    /// Creates the file system.
    /// - Parameter accounts: The users and groups of the machine.
    package init(accounts: Accounts = Accounts()) { self.accounts = accounts }

    /// Returns the result of `stat`, which follows symbolic links; nil if there is no file.
    package func status(_ path: String) throws(FileError) -> FileStatus? {
        var info = stat()
        // The path is passed without a copy.
        guard path.withCString({ stat($0, &info) }) == 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw FileError(number: errno, operation: "stat", path: path)
        }
        return FileStatus(info)
    }

    /// The effective user of the process, and root.
    package var trustedOwners: TrustedOwners { TrustedOwners(user: geteuid(), unknownOwner: Self.unknownOwner) }

    /// The owner that stands for users outside the process's user namespace, determined once: a process with several threads cannot
    /// enter another namespace (setns(2)).
    private static let unknownOwner = {
        func text(_ path: String) -> String? {
            ((try? PosixFileSystem().read(path)) ?? nil).map { String(decoding: $0.bytes, as: UTF8.self) }
        }
        // The first file contains the user IDs of the namespace. The second file contains the ID that stands for all
        // other users.
        let owner = text("/proc/sys/kernel/overflowuid").flatMap { UInt32($0.filter { !$0.isWhitespace }) } ?? 65_534
        return TrustedOwners(user: geteuid(), map: text("/proc/self/uid_map"), unknownOwner: owner).unknownOwner
    }()

    /// Returns the answer of ``Accounts``.
    package func isPrivate(_ group: UInt32, of user: UInt32) throws(FileError) -> Bool {
        try accounts.isPrivate(group, of: user, files: self)
    }

    /// Reads a whole regular file. The status belongs to the same open file and was taken after the read.
    package func read(_ path: String) throws(FileError) -> FileContents? {
        // O_NONBLOCK: opening a FIFO must not block the lane, a serial queue for blocking work. The flag has no effect
        // on regular files.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw FileError(number: errno, operation: "open", path: path)
        }
        let hold = DescriptorHold(descriptor)
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { throw FileError(number: errno, operation: "stat", path: path) }
        guard FileStatus(info).isRegular else { throw FileError(number: EINVAL, operation: "read (not a regular file)", path: path) }
        // The size of a sparse file can exceed the memory.
        guard info.st_size <= 1 << 30 else { throw FileError(number: EFBIG, operation: "read (more than 1 GiB)", path: path) }
        // Read directly into the array: another buffer would keep a copy of bytes that may be a key.
        var (last, failure) = (1, 0 as Int32)
        func next(_ size: Int) -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: size) { buffer, filled in
                while filled < size, last > 0 {
                    let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                    (last, failure) = (posixRead(descriptor, rest), errno)
                    if last < 0, failure == EINTR { last = 1 } else { filled += max(0, last) }
                }
            }
        }
        // Some file systems give every file the size 0. The key of a key file must still be read at once.
        var bytes = next(max(Int(info.st_size) + 1, 4_096))
        // The file has become longer.
        while last > 0 { bytes += next(max(4_096, bytes.count)) }
        if last < 0 { throw FileError(number: failure, operation: "read", path: path) }
        guard fstat(descriptor, &info) == 0 else { throw FileError(number: errno, operation: "stat", path: path) }
        return FileContents(bytes: bytes, status: FileStatus(info), hold: hold)
    }

    /// Opens a file, which programs that this one starts do not inherit (`O_CLOEXEC`). A new file gets permissions 0600.
    private func opened(_ path: String, _ flags: Int32, _ operation: String = "open") throws(FileError) -> Int32 {
        let descriptor = open(path, flags | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw FileError(number: errno, operation: operation, path: path) }
        return descriptor
    }

    /// Creates a file with permissions 0600 (`O_EXCL`, `O_NOFOLLOW`) and writes the bytes. Nothing is durable yet.
    package func create(_ path: String, _ bytes: [UInt8]) throws(FileError) {
        let descriptor = try opened(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, "create")
        defer { close(descriptor) }
        try write(bytes, to: descriptor, path)
    }

    /// If root created a file in another user's folder, gives the file to that user.
    /// Reason: "A replaced file keeps its owner and permissions" in Docs/Decisions/Files.md.
    private func giveToOwner(of folder: String, _ descriptor: Int32, _ path: String) throws(FileError) {
        guard geteuid() == 0, let folder = try status(folder), folder.owner != 0 else { return }
        guard fchown(descriptor, folder.owner, folder.group) == 0 else { throw FileError(number: errno, operation: "chown", path: path) }
    }

    /// Gives the replacement of a file the owner, group, access control list and permissions of that file (`fchown`,
    /// `fsetxattr`, `fchmod`). If there is no file yet, a replacement that root created is given to the owner of the folder.
    ///
    /// Only root can give a file away. If a user who is not root replaces a file of root, the replacement belongs to
    /// that user. If the old file belongs to a third user, the call fails.
    package func keepOwner(of path: String, for newPath: String) throws(FileError) {
        let old = try status(path)
        guard let new = try status(newPath) else { return }
        let isOwned = old.map { $0.owner == new.owner && $0.group == new.group } ?? (geteuid() != 0)
        guard !isOwned || old.map({ $0.permissions != new.permissions }) ?? false else { return }
        let descriptor = try opened(newPath, O_WRONLY | O_NOFOLLOW)
        defer { close(descriptor) }
        guard let old else { return try giveToOwner(of: parentDirectory(of: path), descriptor, newPath) }
        if !isOwned, fchown(descriptor, old.owner, old.group) != 0, old.owner != new.owner, old.owner != 0 {
            throw FileError(number: errno, operation: "chown to the file's owner", path: path)
        }
        // Set the old permissions even if the replacement has another owner: it must not be open to more users than
        // the old file. With an access control list, the group bits of the mode are not the rights of the group.
        var kept = old.permissions & 0o777
        if kept & 0o070 != 0, try !copyAccessControlList(of: path, to: descriptor) { kept &= 0o707 }
        guard fchmod(descriptor, mode_t(kept)) == 0 else {
            throw FileError(number: errno, operation: "chmod", path: newPath)
        }
    }

    /// Appends the bytes to an existing file (`O_APPEND`).
    package func append(_ path: String, _ bytes: [UInt8]) throws(FileError) {
        let descriptor = try opened(path, O_WRONLY | O_APPEND | O_NOFOLLOW, "append")
        defer { close(descriptor) }
        try write(bytes, to: descriptor, path)
    }

    package func overwriteWithZeros(_ path: String) throws(FileError) {
        let descriptor = try opened(path, O_WRONLY | O_NOFOLLOW)
        defer { close(descriptor) }
        let zeros = [UInt8](repeating: 0, count: 64 << 10)
        var remaining = lseek(descriptor, 0, SEEK_END)
        guard remaining >= 0, lseek(descriptor, 0, SEEK_SET) == 0 else { throw FileError(number: errno, operation: "lseek", path: path) }
        while remaining > 0 {
            let count = min(Int(remaining), zeros.count)
            try write(Array(zeros[..<count]), to: descriptor, path)
            remaining -= off_t(count)
        }
        guard fsync(descriptor) == 0 else { throw FileError(number: errno, operation: "fsync", path: path) }
    }

    /// Reads the file with `pread` and writes the same bytes with `pwrite`. Calls `fsync` on the same descriptor, so that
    /// an error of the kernel in between is reported.
    package func rewrite(_ path: String) throws(FileError) {
        let descriptor = try opened(path, O_RDWR | O_NOFOLLOW)
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 256 << 10)
        var offset: off_t = 0
        while true {
            let count = try uninterrupted("read", path) {
                bytes.withUnsafeMutableBytes { pread(descriptor, $0.baseAddress, $0.count, offset) }
            }
            if count == 0 { break }
            var written = 0
            while written < count {
                written += try uninterrupted("write", path) {
                    bytes.withUnsafeBytes {
                        pwrite(descriptor, $0.baseAddress?.advanced(by: written), count - written, offset + off_t(written))
                    }
                }
            }
            offset += off_t(count)
        }
        guard fsync(descriptor) == 0 else { throw FileError(number: errno, operation: "fsync", path: path) }
    }

    private func write(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws(FileError) {
        var written = 0
        while written < bytes.count {
            written += try uninterrupted("write", path) {
                bytes.withUnsafeBytes { posixWrite(descriptor, UnsafeRawBufferPointer(rebasing: $0[written...])) }
            }
        }
    }

    /// Repeats a system call while signals interrupt it. Returns its result.
    private func uninterrupted(_ operation: String, _ path: String, _ call: () -> Int) throws(FileError) -> Int {
        while true {
            let result = call()
            if result >= 0 { return result }
            guard errno == EINTR else { throw FileError(number: errno, operation: operation, path: path) }
        }
    }

    /// Reads a part of a regular file with `pread`, until the count is reached or the file ends.
    package func read(_ path: String, from offset: Int64, count: Int) throws(FileError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw FileError(number: errno, operation: "open", path: path)
        }
        defer { close(descriptor) }
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { throw FileError(number: errno, operation: "stat", path: path) }
        guard FileStatus(info).isRegular else { throw FileError(number: EINVAL, operation: "read (not a regular file)", path: path) }
        var bytes = [UInt8](repeating: 0, count: count)
        var filled = 0
        while filled < count {
            let part = try uninterrupted("read", path) {
                bytes.withUnsafeMutableBytes {
                    pread(descriptor, $0.baseAddress?.advanced(by: filled), count - filled, off_t(offset) + off_t(filled))
                }
            }
            if part == 0 { break }
            filled += part
        }
        bytes.removeLast(count - filled)
        return bytes
    }

    /// Calls `fsync` on the file.
    package func synchronizeFile(_ path: String) throws(FileError) { try synchronize(path, flags: O_RDONLY) }

    /// Calls `fsync` on the directory. Also makes the entries of the folders above it durable; see
    /// ``SettledFolders``.
    package func synchronizeDirectory(_ path: String) throws(FileError) {
        try flushFolder(path)
        try SettledFolders.ofProcess.settle(path, self, flushFolder)
    }

    private func flushFolder(_ path: String) throws(FileError) { try synchronize(path, flags: O_RDONLY | O_DIRECTORY) }

    private func synchronize(_ path: String, flags: Int32) throws(FileError) {
        let descriptor = try opened(path, flags)
        defer { close(descriptor) }
        // After a failed fsync the kernel may have dropped the pages that it could not write. Report the error and
        // never repeat the call, which could succeed without those pages.
        guard fsync(descriptor) == 0 else { throw FileError(number: errno, operation: "fsync", path: path) }
    }

    /// Calls `rename`, which replaces a file with the new name atomically.
    package func rename(_ path: String, to newPath: String) throws(FileError) {
        guard posixRename(path, newPath) == 0 else { throw FileError(number: errno, operation: "rename", path: newPath) }
    }

    /// Calls `link`, which fails if the new name exists.
    package func link(_ path: String, to newPath: String) throws(FileError) {
        guard posixLink(path, newPath) == 0 else { throw FileError(number: errno, operation: "link", path: newPath) }
    }

    /// Calls `unlink`. A missing file is not an error.
    package func remove(_ path: String) throws(FileError) {
        guard unlink(path) == 0 || errno == ENOENT else { throw FileError(number: errno, operation: "unlink", path: path) }
    }

    /// Calls `mkdir` with permissions 0700 for each missing folder of the path, and `fsync` on each parent.
    package func createDirectory(_ path: String) throws(FileError) {
        if let status = try status(path) {
            guard status.isDirectory else { throw FileError(number: ENOTDIR, operation: "mkdir", path: path) }
            return
        }
        let parent = parentDirectory(of: path)
        if parent != path { try createDirectory(parent) }
        if mkdir(path, 0o700) == 0 {
            let descriptor = try opened(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
            defer { close(descriptor) }
            try giveToOwner(of: parent, descriptor, path)
        } else if errno != EEXIST {
            throw FileError(number: errno, operation: "mkdir", path: path)
        } else if try status(path)?.isDirectory != true {
            // A symbolic link without a target has the name, and is no folder.
            throw FileError(number: ENOTDIR, operation: "mkdir", path: path)
        }
        try flushFolder(parent)
    }

    /// Returns the names from `readdir`, without `.` and `..`.
    package func list(_ path: String) throws(FileError) -> [String]? {
        guard let directory = opendir(path) else {
            if errno == ENOENT || errno == ENOTDIR { return nil }
            throw FileError(number: errno, operation: "opendir", path: path)
        }
        defer { closedir(directory) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(directory) else {
                guard errno == 0 else { throw FileError(number: errno, operation: "readdir", path: path) }
                return names
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: MemoryLayout.size(ofValue: $0.pointee)) { String(cString: $0) }
            }
            if name != "." && name != ".." { names.append(name) }
        }
    }

    /// Calls `realpath`. If the path does not exist, resolves its longest existing part and appends the rest
    /// unchanged.
    package func resolve(_ path: String) -> String {
        if let resolved = path.withCString({ realpath($0, nil) }) {
            defer { free(resolved) }
            return String(cString: resolved)
        }
        let parent = parentDirectory(of: path)
        if parent == path || parent == "." { return path }
        let resolvedParent = resolve(parent)
        return (resolvedParent == "/" ? "" : resolvedParent) + "/" + lastComponent(of: path)
    }

    /// Calls `lstat`, which does not follow a link.
    package func isLink(_ path: String) -> Bool {
        var found = stat()
        return path.withCString { lstat($0, &found) } == 0 && found.st_mode & S_IFMT == S_IFLNK
    }

    /// Takes an exclusive `flock`. Waiting processes get it in the order in which they began to wait (``LockQueue``).
    package func lock(_ path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> any FileLock {
        let descriptor = try opened(path, O_RDWR | O_CREAT | O_NOFOLLOW)
        do throws(FileError) {
            try giveToOwner(of: parentDirectory(of: path), descriptor, path)
        } catch {
            close(descriptor)
            throw error
        }
        do throws(LockQueue.LockFailure) { try LockQueue(descriptor: descriptor).take(giveUp: giveUp) } catch {
            throw FileError(number: error.number, operation: "lock", path: path)
        }
        return DescriptorLock(descriptor)
    }

    /// Takes `flock` on the file, or on its folder if the file does not exist. Succeeds without a lock if the file
    /// system does not support `flock`.
    package func lockContent(of path: String, giveUp: @Sendable () -> Bool) throws(FileError) -> (any FileLock)? {
        while true {
            var (locked, flags) = (path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            if try status(path) == nil { (locked, flags) = (parentDirectory(of: path), flags | O_DIRECTORY) }
            let descriptor = open(locked, flags)
            guard descriptor >= 0 else {
                // The file was removed after the check: check again. A missing folder cannot be locked.
                guard isNumberOfMissingName(errno) else { throw FileError(number: errno, operation: "open", path: locked) }
                if locked != path { return nil }
                continue
            }
            do throws(LockQueue.LockFailure) { try LockQueue(descriptor: descriptor).takeUnordered(giveUp: giveUp) } catch {
                throw FileError(number: error.number, operation: "lock", path: locked)
            }
            let lock = DescriptorLock(descriptor)
            // Another process may have created or replaced the file during the wait. The lock is then on the wrong
            // file or folder: try again.
            if try isCurrent(descriptor, at: locked) {
                if locked == path { return lock }
                if try status(path) == nil { return lock }
            }
            lock.release()
        }
    }

    /// Whether a path still leads to an open file.
    private func isCurrent(_ descriptor: Int32, at path: String) throws(FileError) -> Bool {
        var info = stat()
        guard fstat(descriptor, &info) == 0 else { throw FileError(number: errno, operation: "stat", path: path) }
        guard let current = try status(path) else { return false }
        return current.isSameFile(as: FileStatus(info))
    }

    /// Watches with `inotify` on Linux. Other systems report no changes.
    package func changes(of names: Set<String>, in directory: String) -> AsyncStream<Void> {
        DirectoryWatch.changes(of: names, in: directory)
    }
}

private final class DescriptorHold: FileHold {
    private let descriptor: Int32
    init(_ descriptor: Int32) { self.descriptor = descriptor }
    deinit { close(descriptor) }
}

private final class DescriptorLock: FileLock {
    private let descriptor: Mutex<Int32?>
    init(_ descriptor: Int32) { self.descriptor = Mutex(descriptor) }

    func release() {
        descriptor.withLock { descriptor in
            if let open = descriptor { LockQueue.release(open) }
            descriptor = nil
        }
    }

    deinit { release() }
}

extension FileStatus {
    fileprivate init(_ info: stat) {
        #if canImport(Darwin)
            let (modified, changed) = (info.st_mtimespec, info.st_ctimespec)
        #else
            let (modified, changed) = (info.st_mtim, info.st_ctim)
        #endif
        self.init(
            device: UInt64(truncatingIfNeeded: info.st_dev), inode: UInt64(info.st_ino), size: Int64(info.st_size),
            modified: Int64(modified.tv_sec) * 1_000_000_000 + Int64(modified.tv_nsec),
            changed: Int64(changed.tv_sec) * 1_000_000_000 + Int64(changed.tv_nsec), permissions: UInt32(info.st_mode) & 0o7777,
            owner: info.st_uid, group: info.st_gid, isRegular: info.st_mode & S_IFMT == S_IFREG,
            isDirectory: info.st_mode & S_IFMT == S_IFDIR)
    }
}

// Wrappers of C functions. Inside the type, its methods of the same names hide the C functions.
private func posixRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawBufferPointer) -> Int {
    read(descriptor, buffer.baseAddress, buffer.count)
}
private func posixWrite(_ descriptor: Int32, _ buffer: UnsafeRawBufferPointer) -> Int {
    write(descriptor, buffer.baseAddress, buffer.count)
}
private func posixRename(_ old: String, _ new: String) -> Int32 { rename(old, new) }
private func posixLink(_ old: String, _ new: String) -> Int32 { link(old, new) }
