import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The folders whose names this process knows to be on the disk.
///
/// A folder that exists may have been made by a process that was killed before it flushed the folder above. Then a power cut takes the folder away, with everything in it that was
/// flushed and acknowledged since. So the way up is flushed once, as far as the user of this process can have made it.
final class SettledFolders: Sendable {
    private struct ID: Hashable {
        let device: UInt64
        let inode: UInt64

        init(_ status: FileStatus) { (device, inode) = (status.device, status.inode) }
    }

    /// Those of this process.
    static let ofProcess = SettledFolders()

    private let known = Mutex<Set<ID>>([])

    /// Makes sure that the name of a folder is on the disk, and those of the folders above it.
    /// - Parameters:
    ///   - path: The folder.
    ///   - files: The machine's files.
    ///   - flush: Flushes a folder.
    /// - Throws: ``FileError`` when a folder could not be flushed; then the next call tries again.
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
                // A folder that this user cannot open, and a file system that flushes no folders.
                guard [EACCES, EPERM, EINVAL, EROFS, ENOTSUP].contains(error.number) else { throw error }
            }
            flushed.append(ID(status))
            // What is another user's, or on another disk, was not made by a program like this one.
            guard above.owner == geteuid(), above.device == status.device else { break }
            (child, status) = (parent, above)
        }
        known.withLock { $0.formUnion(flushed) }
    }

    private func contains(_ status: FileStatus) -> Bool { known.withLock { $0.contains(ID(status)) } }
}
