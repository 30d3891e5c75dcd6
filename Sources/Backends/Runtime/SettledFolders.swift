import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The folders whose entries in their parent folders this process has made durable.
///
/// A process may create a folder and be killed before it flushes the parent folder. A power loss then removes the
/// folder with everything in it, even data that was flushed and acknowledged later. Each ancestor folder is therefore
/// flushed once, up to the first one that this user cannot have created.
final class SettledFolders: Sendable {
    private struct ID: Hashable {
        let device: UInt64
        let inode: UInt64

        init(_ status: FileStatus) { (device, inode) = (status.device, status.inode) }
    }

    /// The instance that this process shares.
    static let ofProcess = SettledFolders()

    private let known = Mutex<Set<ID>>([])

    /// Makes the entry of a folder in its parent folder durable, and the entries of the folders above it.
    /// - Parameters:
    ///   - path: The folder.
    ///   - files: The file system.
    ///   - flush: Flushes a folder.
    /// - Throws: ``FileError`` if a folder could not be flushed; the next call tries again.
    func settle(
        _ path: String, _ files: PosixFileSystem, _ flush: (_ folder: String) throws(FileError) -> Void
    ) throws(FileError) {
        guard var status = try files.status(path) else { return }
        if contains(status) { return }
        var child = files.resolve(path)
        var flushed: [ID] = []
        while !contains(status) {
            let parent = parentDirectory(of: child)
            guard parent != child, let above = try files.status(parent) else { break }
            do throws(FileError) { try flush(parent) } catch {
                // Ignore a folder that this user cannot open, and a file system that cannot flush folders.
                // Reason: "The folders above are flushed once in a process" in Docs/Decisions/Files.md.
                guard [EACCES, EPERM, EINVAL, EROFS, ENOTSUP].contains(error.number) else { throw error }
            }
            flushed.append(ID(status))
            // Stop at a folder of another user or on another disk, because a program of this user did not create it.
            guard above.owner == geteuid(), above.device == status.device else { break }
            (child, status) = (parent, above)
        }
        known.withLock { $0.formUnion(flushed) }
    }

    private func contains(_ status: FileStatus) -> Bool { known.withLock { $0.contains(ID(status)) } }
}
