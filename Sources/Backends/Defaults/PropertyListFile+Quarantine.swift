import BackendContract
import BackendRuntime
import Crypto

/// Damaged files are copied and reported, and only moved when a person asks for it.
extension PropertyListFile {
    /// Where the copy of damaged bytes is kept: named by the file and by its content, so that it is made once.
    func quarantinePath(of bytes: [UInt8]) -> String {
        let suite = PropertyListStore.suiteName(ofPath: path)
        return "\(quarantineDirectory)/\(PropertyListCopies.name(suite: suite, digest: SHA256.hash(data: bytes).prefix(16)))"
    }

    /// Makes a copy if possible. If not, the damage is still reported, and the file is not changed in either case.
    func keepCopy(of bytes: [UInt8]) {
        do throws(BackendError) {
            _ = try keepDurableCopy(of: bytes)
        } catch {
            // Tried again before the file is ever moved.
        }
    }

    /// Keeps a durable copy of damaged bytes.
    /// - Returns: Where it is.
    private func keepDurableCopy(of bytes: [UInt8]) throws(BackendError) -> String {
        let copy = quarantinePath(of: bytes)
        let isKept = try onFiles { (files) throws(FileError) in
            try files.createDirectory(quarantineDirectory)
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

    /// Removes the damaged file once a durable copy of it is kept; under the lock.
    /// - Returns: Where the copy is.
    func setAside(deadline: MonotonicInstant) throws(BackendError) -> String {
        let lock = try lockContent(deadline: deadline)
        defer { lock?.release() }
        let snapshot = try load(rereading: true, deadline: deadline)
        guard case .damaged = snapshot.content else {
            throw BackendError(.failed, "The property list \(path) is not damaged. It was left as it is.")
        }
        let copy = try keepDurableCopy(of: snapshot.bytes)
        let target = files.resolve(path)
        guard try onFiles({ (files) throws(FileError) in try files.status(path) }) == snapshot.status else {
            throw BackendError(.unavailable, "Another program has just changed the property list \(path). Look at it again.")
        }
        drop()
        try onFiles { (files) throws(FileError) in try files.remove(target) }
        do throws(FileError) {
            try files.synchronizeDirectory(parentDirectory(of: target))
        } catch {
            throw error.backendError(outcome: .unknown)
        }
        return copy
    }

    /// The error of every change of a damaged file.
    func damage(_ reason: String) -> BackendError {
        BackendError(
            .corrupted,
            "The property list \(path) is damaged: \(reason). It was left as it is, and a copy is kept in \(quarantineDirectory). "
                + "Restore it from a backup, or begin with an empty one: StorageRouter.setAsideDamagedStore(of:), or the command localdata set-aside."
        )
    }
}
