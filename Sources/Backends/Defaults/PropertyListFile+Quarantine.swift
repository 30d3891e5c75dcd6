import BackendContract
import BackendRuntime
import Crypto

/// The handling of damaged files. Each damaged file is copied and reported. It is removed only if a person asks for
/// this.
extension PropertyListFile {
    /// Returns the path for the copy of damaged bytes. The name contains the suite (the name of the property list) and
    /// a digest of the bytes, so each content is copied only once.
    func quarantinePath(of bytes: [UInt8]) -> String {
        let suite = PropertyListStore.suiteName(ofPath: path)
        return "\(quarantineDirectory)/\(PropertyListCopies.name(suite: suite, digest: SHA256.hash(data: bytes).prefix(16)))"
    }

    /// The maximum number of copies of one list that reads make.
    static let mostCopies = 16
    /// The size of the copies of one list, in bytes, at which reads make no more.
    private static let mostCopiedBytes: Int64 = 64 << 20
    /// The age of a temporary file, in seconds, at which its process has certainly ended.
    private static let leftoverAge: Double = 3_600

    /// Makes a copy of damaged bytes, if possible, unless the list already has ``mostCopies``: a program that keeps
    /// damaging the list must not fill the disk. If the copy fails, the damage is still reported. The damaged file is not
    /// changed.
    /// Reason: "Copies of damaged property lists are quarantine entries" in Docs/Decisions/Stores.md.
    func keepCopy(of bytes: [UInt8]) {
        do throws(BackendError) {
            let present = try onDisk { () throws(FileError) in try copies(files) }
            let isFull = present.count >= Self.mostCopies || present.values.reduce(0, +) >= Self.mostCopiedBytes
            if isFull, present[lastComponent(of: quarantinePath(of: bytes))] == nil { return }
            _ = try keepDurableCopy(of: bytes)
        } catch {
            // Ignore the error, because ``setAside(deadline:)`` makes the copy before it removes the file.
        }
    }

    /// Returns the names of the list's copies, with their sizes.
    private func copies(_ files: any FileSystem) throws(FileError) -> [String: Int64] {
        let suite = PropertyListStore.suiteName(ofPath: path)
        var found: [String: Int64] = [:]
        for name in try files.list(quarantineDirectory) ?? [] where PropertyListCopies.suite(ofCopy: name) == suite {
            found[name] = try files.status("\(quarantineDirectory)/\(name)")?.size
        }
        return found
    }

    /// Removes the temporary files of processes that were killed while they copied the list. The copies are made without a
    /// lock, so a file is removed only if it is old.
    private func removeOldLeftovers(_ files: any FileSystem) throws(FileError) {
        let suite = PropertyListStore.suiteName(ofPath: path)
        for name in try files.list(quarantineDirectory) ?? [] {
            guard let copy = Self.name(ofTemporary: name), PropertyListCopies.suite(ofCopy: copy) == suite,
                let status = try files.status("\(quarantineDirectory)/\(name)"),
                clock.wallSeconds - Double(status.modified) / 1e9 > Self.leftoverAge
            else { continue }
            try files.remove("\(quarantineDirectory)/\(name)")
        }
    }

    /// Makes a durable copy of damaged bytes, unless the copy exists already.
    /// - Returns: The path of the copy.
    private func keepDurableCopy(of bytes: [UInt8]) throws(BackendError) -> String {
        let copy = quarantinePath(of: bytes)
        let isKept = try onDisk { () throws(FileError) in
            try files.createDirectory(quarantineDirectory)
            try removeOldLeftovers(files)
            guard let kept = try files.read(copy), ByteOrder.areEqual(kept.bytes, bytes) else { return false }
            try files.synchronizeFile(copy)
            try files.synchronizeDirectory(quarantineDirectory)
            return true
        }
        if isKept { return copy }
        do throws(DurableReplaceError) {
            try files.replaceDurably(copy, with: bytes, temporaryName: Self.temporaryName(of: lastComponent(of: copy), runtime))
        } catch {
            throw error.error.backendError()
        }
        return copy
    }

    /// Removes the damaged file after making a durable copy of it. The caller holds the store's lock.
    /// - Returns: The path of the copy.
    func setAside(deadline: MonotonicInstant) throws(BackendError) -> String {
        let lock = try lockContent(deadline: deadline)
        defer { lock?.release() }
        let snapshot = try load(rereading: true, deadline: deadline)
        guard case .damaged = snapshot.content else {
            throw BackendError(.failed, "The property list \(path) is not damaged. It was not changed.")
        }
        let copy = try keepDurableCopy(of: snapshot.bytes)
        let target = files.resolve(path)
        guard try onDisk({ () throws(FileError) in try files.status(path) }) == snapshot.status else {
            throw BackendError(.unavailable, "Another program has just changed the property list \(path). Nothing was changed; try again.")
        }
        drop()
        try onDisk { () throws(FileError) in try files.remove(target) }
        do throws(FileError) {
            try files.synchronizeDirectory(parentDirectory(of: target))
        } catch {
            throw error.backendError(outcome: .unknown)
        }
        return copy
    }

    /// Returns the error that a damaged file causes.
    func damage(_ reason: String) -> BackendError {
        BackendError(
            .corrupted,
            "The property list \(path) is damaged: \(reason). It was not changed, and \(quarantineDirectory) has copies of its first \(Self.mostCopies) damaged states. "
                + "Restore it from a backup, or begin with an empty one: StorageRouter.setAsideDamagedStore(of:), or the command localdata damaged set-aside."
        )
    }
}
