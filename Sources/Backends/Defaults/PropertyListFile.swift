import BackendContract
import BackendRuntime
import Synchronization

/// The property list on the disk, its last snapshot, and the observers of changes. Everything that may wait is called only on the
/// store's lane.
final class PropertyListFile: Sendable {
    private struct State {
        var snapshot: PropertyListSnapshot?
        /// The last state that was read or written, to find the changes of other programs; outlives a dropped snapshot.
        var baseline: PropertyListSnapshot?
        var listeners: [UInt64: AsyncStream<Set<StorageAddress>?>.Continuation] = [:]
        var nextListener: UInt64 = 0
        var recent = RecentChanges()
    }

    let path: String
    let lockPath: String
    let quarantineDirectory: String
    /// Whether no other user may be able to change the file.
    let isPrivate: Bool
    let runtime: Runtime
    /// Is told of changes that another program has overwritten.
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
        self.quarantineDirectory = quarantineDirectory
        self.isPrivate = isPrivate
        self.runtime = runtime
        self.report = report
    }

    // MARK: The snapshot

    /// The snapshot in memory, however old.
    var lastSnapshot: PropertyListSnapshot? { state.withLock { $0.snapshot } }

    /// Sets the snapshot. Differences from the last one are reported as changes by another program, unless this store made them.
    func adopt(_ snapshot: PropertyListSnapshot, isOurs: Bool) {
        let (older, listeners, lost) = state.withLock { state in
            let older = state.baseline
            if !isOurs { state.recent.compare(with: snapshot) }
            // What was overwritten is written again before anyone reads it.
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

    /// Drops the snapshot: the next read reads the file.
    func drop() { state.withLock { $0.snapshot = nil } }

    /// Lets go of the file. What it held stays known to observers; what was written of late is forgotten.
    func close() {
        state.withLock { state in
            state.snapshot = nil
            state.baseline = state.baseline?.withoutHold()
            state.recent = RecentChanges()
        }
    }

    /// Works on the changes of late.
    func withRecentChanges<R>(_ work: (inout RecentChanges) -> R) -> R { state.withLock { work(&$0.recent) } }

    // MARK: Loading, on the lane

    /// How long to wait between reads while another program rewrites the file in place: 195 ms in all.
    private static let pauses: [Duration] = [1, 2, 4, 8, 15, 25, 40, 50, 50].map(Duration.milliseconds)

    /// The state of the file, read again if need be.
    ///
    /// Foundation rewrites the file in place, so that it may be found empty, cut off or half old: damage is believed only when it lasts.
    /// - Parameter rereading: Whether the bytes are read even if the file looks unchanged.
    /// - Throws: ``BackendError`` when the file cannot be read, or is being rewritten without end.
    func load(rereading: Bool, deadline: MonotonicInstant) throws(BackendError) -> PropertyListSnapshot {
        let known = lastSnapshot
        if !rereading, let known, known.isCurrent(try onFiles { (files) throws(FileError) in try files.status(path) }, at: clock.now) {
            return known
        }
        if isPrivate, known == nil { try requireTrust() }
        var pauses = Self.pauses[...]
        while true {
            let before = try onFiles { (files) throws(FileError) in try files.status(path) }
            guard let contents = try onFiles({ (files) throws(FileError) in try files.read(path) }) else {
                // Written in the meantime: read it again.
                guard try isProvenMissing() else { continue }
                let missing = PropertyListSnapshot.missing(at: clock.now)
                adopt(missing, isOurs: false)
                return missing
            }
            // The same status before and after: no process wrote while it was read.
            let isStable = before == contents.status && contents.status.size == Int64(contents.bytes.count)
            if isStable, let known, known.status != nil, ByteOrder.areEqual(known.bytes, contents.bytes) {
                let confirmed = known.confirmed(contents, at: clock.now)
                // The bytes are unchanged: observers have nothing to hear.
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

    /// Checks that nobody but the user and root can change the file, its copies when it was damaged, and the lock that keeps writers apart.
    private func requireTrust() throws(BackendError) {
        try files.requireTrust(in: [path, quarantineDirectory, lockPath])
    }

    /// Whether there is no file of this name. False if one was created meanwhile.
    /// - Throws: ``BackendError`` when there is a symbolic link to a file that is not there, as on a disk that is not mounted: what it would hold
    ///   is unknown, and the link must not be replaced.
    private func isProvenMissing() throws(BackendError) -> Bool {
        let (path, name) = (path, lastComponent(of: path))
        let names = try onFiles { (files) throws(FileError) in try files.list(parentDirectory(of: path)) }
        guard let names, names.contains(where: { $0.utf8.elementsEqual(name.utf8) }) else { return true }
        guard try onFiles({ (files) throws(FileError) in try files.status(path) }) == nil else { return false }
        throw BackendError(
            .unavailable,
            "The property list \(path) is a symbolic link to a file that is not there. Mount or restore that file, or remove the link.")
    }

    /// Whether bytes are the content of a property list, even of one that this library does not support.
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
                        "The property list \(path) cannot be used: \(reason). It was left as it is; update the program that reads it."))
            }
        }
    }

    // MARK: The lock

    /// Works while it holds the lock between processes. Gives up a little before the deadline, so that its callers know for certain that nothing was done.
    func locked<Result>(deadline: MonotonicInstant, _ work: () throws(BackendError) -> Result) throws(BackendError) -> Result {
        let isOver = patience(deadline)
        let lock = try onFiles { (files) throws(FileError) in
            try files.createDirectory(parentDirectory(of: lockPath))
            return try files.lock(lockPath, giveUp: isOver)
        }
        defer { lock.release() }
        return try work()
    }

    /// Takes the lock of the list itself, which programs with another folder of locks take too; nil where it has no folder yet. It is of use
    /// until the list is replaced.
    func lockContent(deadline: MonotonicInstant) throws(BackendError) -> (any FileLock)? {
        let isOver = patience(deadline)
        return try onFiles { (files) throws(FileError) in try files.lockContent(of: files.resolve(path), giveUp: isOver) }
    }

    private func patience(_ deadline: MonotonicInstant) -> @Sendable () -> Bool {
        let latest = deadline.advanced(by: .milliseconds(-20))
        return { [clock] in clock.now >= latest }
    }

    /// Works on files; a failure becomes the backend's error, with nothing changed.
    func onFiles<Result>(_ work: (any FileSystem) throws(FileError) -> Result) throws(BackendError) -> Result {
        do throws(FileError) { return try work(runtime.files) } catch { throw error.backendError() }
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
