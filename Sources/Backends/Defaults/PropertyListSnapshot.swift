import BackendContract
import BackendRuntime
import Synchronization

/// The number of snapshots that the process has made.
private let countOfSnapshots = Atomic<UInt64>(0)

/// The content of the file at one moment.
final class PropertyListSnapshot: Sendable {
    /// The number of the snapshot, which no other one of the process has.
    let number = countOfSnapshots.add(1, ordering: .relaxed).newValue
    /// The kind of content.
    enum Content: Sendable {
        /// A property list, or no file at all.
        case document(PropertyListDocument)
        /// Bytes that are not a property list; the text describes the damage.
        case damaged(String)
        /// A property list that this version must not change.
        case unsupported(BackendError)
    }

    /// The status of the file; nil if there was none.
    let status: FileStatus?
    let bytes: [UInt8]
    let content: Content
    /// Keeps the file's inode number in use, so that a file with the same number is certainly the same file.
    let hold: (any FileHold)?
    /// The time at which this state of the file was first read.
    let readAt: MonotonicInstant
    /// Whether a second read has confirmed the content. That read came so late that every later change also changes the
    /// file's times.
    let isSettled: Bool
    /// Whether the state certainly survives a power loss.
    let isDurable: Bool
    /// A cache of the results of reads (probes), so that each slot (location of one value) is searched for only once.
    private let read = Mutex<[StorageAddress: StorageProbe]>([:])

    /// The time after which a new snapshot must be confirmed by a second read.
    /// Reason: "A changed list is read again after 50 ms" in Docs/Decisions/Files.md.
    static let settlingTime = Duration.milliseconds(50)

    init(
        status: FileStatus?, bytes: [UInt8], content: Content, hold: (any FileHold)?, readAt: MonotonicInstant, isSettled: Bool,
        isDurable: Bool
    ) {
        self.status = status
        self.bytes = bytes
        (self.content, self.hold, self.readAt, self.isSettled, self.isDurable) = (content, hold, readAt, isSettled, isDurable)
    }

    /// Returns the snapshot of a file that does not exist.
    static func missing(at instant: MonotonicInstant) -> PropertyListSnapshot {
        PropertyListSnapshot(
            status: nil, bytes: [], content: .document(PropertyListDocument()), hold: nil, readAt: instant, isSettled: true,
            isDurable: false)
    }

    /// Returns the snapshot after another read that found the same content. It has the new status, and counts as
    /// confirmed if that read came late enough.
    func confirmed(_ contents: FileContents, at instant: MonotonicInstant) -> PropertyListSnapshot {
        let isSame = contents.status == status
        let isSettled = isSame && (isSettled || readAt.advanced(by: Self.settlingTime) <= instant)
        return PropertyListSnapshot(
            status: contents.status, bytes: bytes, content: content, hold: contents.hold, readAt: isSame ? readAt : instant,
            isSettled: isSettled, isDurable: isSame && isDurable)
    }

    /// Returns a copy of the snapshot that is marked as durable.
    func durable() -> PropertyListSnapshot {
        PropertyListSnapshot(
            status: status, bytes: bytes, content: content, hold: hold, readAt: readAt, isSettled: isSettled, isDurable: true)
    }

    /// Whether reads can use the snapshot, given the current status of the file. Returns false if the file has changed,
    /// or if it is time for the second read, which confirms the snapshot.
    func isCurrent(_ current: FileStatus?, at instant: @autoclosure () -> MonotonicInstant) -> Bool {
        current == status && (isSettled || instant() < readAt.advanced(by: Self.settlingTime))
    }

    /// Returns a copy of the snapshot that does not keep the file open.
    func withoutHold() -> PropertyListSnapshot {
        PropertyListSnapshot(
            status: status, bytes: bytes, content: content, hold: nil, readAt: readAt, isSettled: isSettled, isDurable: isDurable)
    }

    // MARK: Reading

    /// Returns the result of reading a slot.
    func probe(_ address: StorageAddress) -> StorageProbe {
        if let known = read.withLock({ $0[address] }) { return known }
        switch content {
        case .document(let document):
            let probe = document.probe(address)
            // Do not cache absent slots, because any number of names may be absent.
            if probe != .absent { read.withLock { $0[address] = probe } }
            return probe
        case .damaged(let reason): return .corrupt(StorageCorruption(bytes: bytes, revision: nil, reason: reason))
        case .unsupported(let error): return .unavailable(error)
        }
    }

    /// Returns the slots that differ from an older snapshot; nil if they cannot be determined.
    func differences(from older: PropertyListSnapshot) -> Set<StorageAddress>? {
        guard case .document(let new) = content, case .document(let old) = older.content else { return nil }
        return new.differences(from: old)
    }
}
