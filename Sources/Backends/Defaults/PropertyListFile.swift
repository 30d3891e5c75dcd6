import BackendContract
import BackendRuntime
import Synchronization

/// The property list on disk, its last snapshot (its content at one moment), and the observers of changes. Methods
/// that may block are called only on the store's lane, a serial queue.
final class PropertyListFile: Sendable {
    private struct State {
        var snapshot: PropertyListSnapshot?
        /// The last state that was read or written, to find changes by other programs. It is kept when the snapshot
        /// is dropped.
        var baseline: PropertyListSnapshot?
        var listeners: [UInt64: AsyncStream<Set<StorageAddress>?>.Continuation] = [:]
        var nextListener: UInt64 = 0
        var recent = RecentChanges()
    }

    let path: String
    let lockPath: String
    let quarantineDirectory: String
    /// Whether to refuse the file if another user can change it.
    let isPrivate: Bool
    let runtime: Runtime
    /// Called after another program has overwritten changes of this store.
    let report: @Sendable (OverwrittenChanges) -> Void
    private let state = Mutex(State())

    var files: any FileSystem { runtime.files }
    var clock: any RuntimeClock { runtime.clock }

    init(
        path: String, lockPath: String, quarantineDirectory: String, isPrivate: Bool, runtime: Runtime,
        report: @escaping @Sendable (OverwrittenChanges) -> Void
    ) {
        self.path = path
        self.lockPath = lockPath
        (self.quarantineDirectory, self.isPrivate, self.runtime, self.report) = (quarantineDirectory, isPrivate, runtime, report)
    }

    // MARK: The snapshot

    /// The snapshot in memory, regardless of its age.
    var lastSnapshot: PropertyListSnapshot? { state.withLock { $0.snapshot } }

    /// Sets the snapshot. Unless this store made the changes (`isOurs`), notifies the observers of the differences
    /// from the last state.
    func adopt(_ snapshot: PropertyListSnapshot, isOurs: Bool) {
        let (older, listeners, lost) = state.withLock { state in
            let older = state.baseline
            if !isOurs { state.recent.compare(with: snapshot) }
            // Keep no snapshot while changes of this store are missing because another program has overwritten them.
            // The next read must load the file, and the changes are written again before the read returns.
            state.snapshot = state.recent.overwritten.isEmpty ? snapshot : nil
            state.baseline = snapshot
            return (older, isOurs ? [] : Array(state.listeners.values), state.recent.takeReplaced())
        }
        if !lost.isEmpty { report(OverwrittenChanges(path: path, repeated: [], lost: lost)) }
        guard let older, !listeners.isEmpty, !ByteOrder.areEqual(older.bytes, snapshot.bytes) else { return }
        let changed = snapshot.differences(from: older)?.subtracting(withRecentChanges(\.overwritten))
        if let changed, changed.isEmpty { return }
        for listener in listeners { listener.yield(changed) }
    }

    /// Drops the snapshot. The next read reads the file.
    func drop() { state.withLock { $0.snapshot = nil } }

    /// Closes the file, and drops the snapshot and the recent changes (``RecentChanges``). The last state is kept, so
    /// that observers are notified of later differences.
    func close() {
        state.withLock { state in
            state.snapshot = nil
            state.baseline = state.baseline?.withoutHold()
            state.recent = RecentChanges()
        }
    }

    /// Gives a closure access to the recent changes (``RecentChanges``), under the lock.
    func withRecentChanges<R>(_ work: (inout RecentChanges) -> R) -> R { state.withLock { work(&$0.recent) } }

    // MARK: Loading, on the lane

    /// The pauses between reads while another program rewrites the file: 195 ms in total.
    private static let pauses: [Duration] = [1, 2, 4, 8, 15, 25, 40, 50, 50].map(Duration.milliseconds)

    /// Returns the state of the file. Reads the file, unless the snapshot shows that this is not necessary.
    ///
    /// Foundation overwrites the bytes of the file instead of replacing the file, so a read may find it empty, truncated or
    /// partly old. Damage is therefore reported only if it lasts.
    /// - Parameter rereading: Whether to read the bytes even if the file looks unchanged.
    /// - Throws: ``BackendError`` if the file cannot be read, or another program keeps rewriting it.
    func load(rereading: Bool, deadline: MonotonicInstant) throws(BackendError) -> PropertyListSnapshot {
        let known = lastSnapshot
        if !rereading, let known, known.isCurrent(try onDisk { () throws(FileError) in try files.status(path) }, at: clock.now) {
            return known
        }
        // Reason: "Trust is checked when a file is opened" in Docs/Decisions/Files.md.
        if isPrivate, known == nil { try requireTrust() }
        var pauses = Self.pauses[...]
        while true {
            let before = try onDisk { () throws(FileError) in try files.status(path) }
            guard let contents = try onDisk({ () throws(FileError) in try files.read(path) }) else {
                // The file was created after the read, so read again.
                guard try isProvenMissing() else { continue }
                let missing = PropertyListSnapshot.missing(at: clock.now)
                adopt(missing, isOurs: false)
                return missing
            }
            // If the status is the same before and after, no process wrote during the read.
            let isStable = before == contents.status && contents.status.size == Int64(contents.bytes.count)
            if isStable, let known, known.status != nil, ByteOrder.areEqual(known.bytes, contents.bytes) {
                let confirmed = known.confirmed(contents, at: clock.now)
                // The bytes are unchanged, so do not notify the observers.
                adopt(confirmed, isOurs: true)
                return confirmed
            }
            let content = Self.parse(contents.bytes, path: path)
            let isDamaged = if case .damaged = content { true } else { false }
            if isStable, !isDamaged || pauses.isEmpty {
                let snapshot = PropertyListSnapshot(
                    status: contents.status, bytes: contents.bytes, content: content, hold: contents.hold, readAt: clock.now,
                    isSettled: false, isDurable: false)
                if isDamaged { keepCopy(of: contents.bytes) }
                adopt(snapshot, isOurs: false)
                return snapshot
            }
            guard let pause = pauses.popFirst(), clock.now.advanced(by: pause) < deadline else {
                throw BackendError(
                    .unavailable, "Another program is rewriting the property list \(path). Nothing was changed; try again once it is done.")
            }
            clock.pause(pause)
        }
    }

    /// Checks that only the user and root can change the file, the copies of damaged files, and the lock file.
    private func requireTrust() throws(BackendError) {
        try files.requireTrust(in: [path, quarantineDirectory, lockPath])
    }

    /// Returns whether the file certainly does not exist. Returns false if it was created after a read found no file.
    /// - Throws: ``BackendError`` if the file or a folder of its path is a symbolic link to a missing target, for example
    ///   on a disk that is not mounted. The content of the missing file is unknown, so the link must not be replaced.
    private func isProvenMissing() throws(BackendError) -> Bool {
        try files.requireNoBrokenLink(to: path)
        return try onDisk { () throws(FileError) in try files.status(path) == nil }
    }

    /// Returns whether bytes are a property list, including one that this library does not support.
    static func isPropertyList(_ bytes: [UInt8]) -> Bool {
        if case .damaged = parse(bytes, path: "") { false } else { true }
    }

    private static func parse(_ bytes: [UInt8], path: String) -> PropertyListSnapshot.Content {
        do throws(PropertyListFault) {
            return .document(try PropertyListDocument(try PropertyListReader.read(bytes)))
        } catch {
            switch error {
            case .damaged(let reason): return .damaged(reason)
            case .unsupported(let reason):
                return .unsupported(
                    BackendError(
                        .unsupported,
                        "The property list \(path) cannot be used: \(reason). It was not changed; update the program that reads it."))
            }
        }
    }

    // MARK: The lock

    /// Runs work while the lock file is locked. Stops waiting for the lock slightly before the deadline, so that the
    /// callers get an error which says that nothing was done.
    func locked<Result>(deadline: MonotonicInstant, _ work: () throws(BackendError) -> Result) throws(BackendError) -> Result {
        let isOver = patience(deadline)
        let lock = try onDisk { () throws(FileError) in
            try files.createDirectory(parentDirectory(of: lockPath))
            return try files.lock(lockPath, giveUp: isOver)
        }
        defer { lock.release() }
        return try work()
    }

    /// Takes a lock on the property list itself. It also excludes programs with LocalData whose lock files are in
    /// another folder. The lock is effective until the list is replaced. Returns nil if the folder of the list does not
    /// exist yet.
    func lockContent(deadline: MonotonicInstant) throws(BackendError) -> (any FileLock)? {
        let isOver = patience(deadline)
        return try onDisk { () throws(FileError) in try files.lockContent(of: files.resolve(path), giveUp: isOver) }
    }

    private func patience(_ deadline: MonotonicInstant) -> @Sendable () -> Bool {
        let latest = deadline.advanced(by: .milliseconds(-20))
        return { [clock] in clock.now >= latest }
    }

    // MARK: Observers

    func addListener(_ continuation: AsyncStream<Set<StorageAddress>?>.Continuation) -> UInt64 {
        state.withLock { state in
            state.nextListener += 1
            state.listeners[state.nextListener] = continuation
            return state.nextListener
        }
    }

    func removeListener(_ number: UInt64) { state.withLock { _ = $0.listeners.removeValue(forKey: number) } }
}
