import BackendContract
import BackendRuntime

/// A commit takes the locks, re-reads the file, evaluates the waiting calls, and replaces the file durably. Only then
/// do the calls get their results.
extension PropertyListFile {
    /// Performs a group of calls with one rewrite of the file. Each call is a list of mutations, and is one atomic
    /// batch. Later calls see the changes of earlier ones. The caller holds the store's lock.
    /// - Parameters:
    ///   - deadline: The time until which to wait for other programs.
    ///   - progressed: Called to report progress.
    func commit(
        _ calls: [[StorageMutation]], deadline: MonotonicInstant, progressed: () -> Void
    ) -> [Result<[MutationResult], BackendError>] {
        let results: [[MutationResult]]
        do throws(BackendError) { results = try evaluateAndReplace(calls, deadline: deadline, progressed) } catch {
            return calls.map { _ in .failure(error) }
        }
        if lastSnapshot == nil {
            // This commit kept no snapshot, the content of the file in memory. Either it did not find the written file
            // again unchanged, or it repeated changes that another program had overwritten. Re-read the file, and
            // repeat changes that were overwritten since. Ignore an error, because the next call tries again.
            _ = try? evaluateAndReplace([], deadline: deadline, progressed)
        }
        return results.map { .success($0) }
    }

    /// The maximum number of attempts of a commit. An attempt fails if a program that ignores the lock writes between
    /// the re-read and the replacement.
    private static let attempts = 5

    private func evaluateAndReplace(
        _ calls: [[StorageMutation]], deadline: MonotonicInstant, _ progressed: () -> Void
    ) throws(BackendError) -> [[MutationResult]] {
        for _ in 0..<Self.attempts {
            progressed()
            // Reason: "Each list and each database has a second lock" in Docs/Decisions/LocksAndCommits.md.
            let lock = try lockContent(deadline: deadline)
            defer { lock?.release() }
            // Re-read a file that looks unchanged, unless a second read has already confirmed the snapshot
            // (`isSettled`). A rewrite must never undo a change that this store has not read.
            let snapshot = try load(rereading: lastSnapshot.map { !$0.isSettled } ?? true, deadline: deadline)
            var document = try document(of: snapshot)
            let repeated = repeatOverwritten(in: &document)
            progressed()
            let (results, isChanged) = evaluate(calls, on: &document)
            progressed()
            if !isChanged, repeated.isEmpty {
                if results.contains(where: { $0.contains(where: \.isApplied) }) { try makeDurable(snapshot) }
                return results
            }
            guard lock != nil else {
                try makeFolder(of: files.resolve(path))
                continue
            }
            do throws(BackendError) {
                guard let file = try replace(snapshot, with: &document, progressed) else { continue }
                let hold = adoptReplaced(file, document)
                note(calls, from: snapshot, to: document, repeated, hold.map { RecentChanges.File(status: file.status, hold: $0) })
                return results
            } catch {
                guard error.outcome != .notApplied else { throw error }
                return results.map { Self.results($0, endingIn: error) }
            }
        }
        let reason = "Another program keeps rewriting the property list \(path). Nothing was changed; try again once it is done."
        throw BackendError(.unavailable, reason)
    }

    /// Returns the results of one call after the write of its group failed, but may have taken effect. Every mutation
    /// of the call gets the error of the write. If the call was refused, it certainly changed nothing, so the error has
    /// the outcome `notApplied`. The refusal itself is not returned: its reason may be a change of another call, and it
    /// is unknown whether that change was written.
    private static func results(_ results: [MutationResult], endingIn error: BackendError) -> [MutationResult] {
        var error = error
        if !results.contains(where: \.isApplied) { error.outcome = .notApplied }
        return results.map { _ in .failed(error) }
    }

    func document(of snapshot: PropertyListSnapshot) throws(BackendError) -> PropertyListDocument {
        switch snapshot.content {
        case .document(let document): return document
        case .unsupported(let error): throw error
        case .damaged(let reason): throw damage(reason)
        }
    }

    // MARK: Deciding

    private func evaluate(_ calls: [[StorageMutation]], on document: inout PropertyListDocument) -> ([[MutationResult]], isChanged: Bool) {
        var isChanged = false
        var generator = runtime.generator
        var results: [[MutationResult]] = []
        for call in calls {
            // An address occurs only once in a call, so all preconditions can be checked before anything is changed.
            if let refusal = refusal(of: call, on: document) {
                results.append(refusal)
                continue
            }
            // All slots are deleted at once, because each deletion moves the slots after it.
            if document.remove(call.filter { $0.operation == .delete }.map(\.address)) { isChanged = true }
            results.append(
                call.map { mutation in
                    switch mutation.operation {
                    case .delete: return .applied(nil, .durable)
                    case .check: return .applied(document.probe(mutation.address).revision, .durable)
                    case .put(let payload, let metadata):
                        let revision = StorageRevision.random(using: &generator)
                        document.replace(PropertyListSlot(mutation.address, payload, metadata, revision))
                        isChanged = true
                        return .applied(revision, .durable)
                    case .tombstone(let metadata):
                        let revision = StorageRevision.random(using: &generator)
                        document.replace(PropertyListSlot(tombstoneAt: mutation.address, metadata, revision))
                        isChanged = true
                        return .applied(revision, .durable)
                    }
                })
        }
        return (results, isChanged)
    }

    /// Also refuses a name that Foundation could confuse with another name. If another program created a slot (the location
    /// of one value) with such a name, the slot can still be deleted.
    private func refusal(of call: [StorageMutation], on document: PropertyListDocument) -> [MutationResult]? {
        call.refused { (mutation) throws(BackendError) in
            let slot = document.find(mutation.address).slot
            if slot == nil { try PropertyListStore.validateNormalization(of: mutation.address) }
            return (slot?.probe ?? .absent).refusal(of: mutation)
        }
    }

    // MARK: Replacing

    /// Replaces the file that was read with a new document.
    /// - Returns: The status and bytes of the new file. Nil if the old file has changed since it was read. In that case
    ///   it was not replaced.
    private func replace(
        _ snapshot: PropertyListSnapshot, with document: inout PropertyListDocument, _ progressed: () -> Void
    ) throws(BackendError) -> (status: FileStatus, bytes: [UInt8])? {
        let bytes = try document.encode(over: snapshot.bytes)
        progressed()
        // Keep a symbolic link, and replace its target.
        let target = files.resolve(path)
        let name = lastComponent(of: target)
        try makeFolder(of: target)
        try onDisk { () throws(FileError) in try removeLeftovers(of: name, in: parentDirectory(of: target)) }
        let new: FileStatus?
        do throws(DurableReplaceError) {
            // Programs that ignore the lock cannot be excluded. If such a program wrote before this check, the commit
            // re-reads the file. If it writes between this check and the rename, its changes are lost with the old
            // file.
            new = try files.replaceDurably(target, with: bytes, temporaryName: Self.temporaryName(of: name, runtime)) {
                () throws(FileError) in
                try files.status(path) == snapshot.status
            }
        } catch {
            drop()
            throw error.error.backendError(outcome: error.mayBeReplaced ? .unknown : .notApplied)
        }
        return new.map { ($0, bytes) }
    }

    /// Creates the folder of a file durably.
    private func makeFolder(of path: String) throws(BackendError) {
        try onDisk { () throws(FileError) in try files.createDirectory(parentDirectory(of: path)) }
    }

    /// Re-reads the written file for its status, and keeps it as the snapshot. If the path now leads to another file or
    /// other bytes, drops the snapshot, so that the next read loads the file.
    /// - Returns: An object that keeps the written file's inode number in use; nil if that file was not found again.
    private func adoptReplaced(_ new: (status: FileStatus, bytes: [UInt8]), _ document: PropertyListDocument) -> (any FileHold)? {
        // The file is already durable. If it cannot be read, only the snapshot is lost.
        let found = try? files.read(path)
        guard let found, found.status.isSameFile(as: new.status), ByteOrder.areEqual(found.bytes, new.bytes) else {
            drop()
            return found.flatMap { $0.status.isSameFile(as: new.status) ? $0.hold : nil }
        }
        adopt(
            PropertyListSnapshot(
                status: found.status, bytes: new.bytes, content: .document(document), hold: found.hold, readAt: clock.now,
                isSettled: false, isDurable: true),
            isOurs: true)
        return found.hold
    }

    /// Returns the name of a temporary file. All temporary files of a list have the same prefix and suffix, so that
    /// the next writer can remove the file of a killed process.
    static func temporaryName(of name: String, _ runtime: Runtime) -> String {
        "\(temporaryPrefix(of: name))\(hexadecimalText(of: runtime.randomBytes(8)))\(temporarySuffix)"
    }

    /// Returns the name of the file that a temporary file replaces; nil for any other file.
    static func name(ofTemporary name: String) -> String? {
        guard name.hasPrefix("."), name.hasSuffix(temporarySuffix) else { return nil }
        let stem = name.dropFirst().dropLast(temporarySuffix.count)
        let (rest, mark) = (stem.dropLast(16), ".localdata-")
        guard bytes(ofHexadecimal: stem.suffix(16))?.count == 8, rest.hasSuffix(mark) else { return nil }
        return String(rest.dropLast(mark.count))
    }

    private static func temporaryPrefix(of name: String) -> String { ".\(name).localdata-" }
    private static let temporarySuffix = ".tmp"

    private func removeLeftovers(of name: String, in directory: String) throws(FileError) {
        let prefix = Self.temporaryPrefix(of: name)
        for entry in try files.list(directory) ?? [] where entry.hasPrefix(prefix) && entry.hasSuffix(Self.temporarySuffix) {
            try files.remove(directory + "/" + entry)
        }
    }

    // MARK: Durability

    /// Makes the current state of the file durable. This is needed for a group of calls that changed nothing, such as
    /// checks, before the calls get their results.
    private func makeDurable(_ snapshot: PropertyListSnapshot) throws(BackendError) {
        guard !snapshot.isDurable else { return }
        try flush()
        if snapshot.status != nil { adopt(snapshot.durable(), isOurs: true) }
    }

    /// Makes the current content of the file and its folder durable. The caller holds the store's lock.
    func flush() throws(BackendError) {
        try onDisk { () throws(FileError) in
            let target = files.resolve(path)
            if try files.status(target) != nil { try files.synchronizeFile(target) }
            let directory = parentDirectory(of: target)
            if try files.status(directory) != nil { try files.synchronizeDirectory(directory) }
        }
    }
}
