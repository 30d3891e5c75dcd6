import BackendContract
import BackendRuntime
import Synchronization

/// The content of the file at one moment.
final class PropertyListSnapshot: Sendable {
    /// The kind of content.
    enum Content: Sendable {
        /// A property list, or no file at all.
        case document(PropertyListDocument)
        /// Bytes that are not a property list; the text describes the damage.
        case damaged(String)
        /// A property list that this version must not change.
        case unsupported(BackendError)
    }

    /// The state of the file; nil where there was none.
    let status: FileStatus?
    let bytes: [UInt8]
    let content: Content
    /// Keeps the file's number from being given to another file, so that the same number means the same file.
    let hold: (any FileHold)?
    /// When this state of the file was first read.
    let readAt: MonotonicInstant
    /// Whether the file was read again late enough for any later change to show in its times.
    let isSettled: Bool
    /// Whether the state certainly survives a power cut.
    let isDurable: Bool
    /// What was read of it so far, so that reading it again needs no search.
    private let read = Mutex<[StorageAddress: StorageProbe]>([:])

    /// File times move in ticks of up to 10 ms: a file that is rewritten in place within the tick of its last change, with as many bytes,
    /// looks unchanged. A second read after this time finds the change.
    static let settlingTime = Duration.milliseconds(50)

    init(
        status: FileStatus?, bytes: [UInt8], content: Content, hold: (any FileHold)?, readAt: MonotonicInstant, isSettled: Bool,
        isDurable: Bool
    ) {
        self.status = status
        self.bytes = bytes
        self.content = content
        self.hold = hold
        self.readAt = readAt
        self.isSettled = isSettled
        self.isDurable = isDurable
    }

    /// The snapshot of a file that is not there.
    static func missing(at instant: MonotonicInstant) -> PropertyListSnapshot {
        PropertyListSnapshot(
            status: nil, bytes: [], content: .document(PropertyListDocument()), hold: nil, readAt: instant, isSettled: true,
            isDurable: false)
    }

    /// The same content, read again.
    func confirmed(_ contents: FileContents, at instant: MonotonicInstant) -> PropertyListSnapshot {
        let isSame = contents.status == status
        let isSettled = isSame && (isSettled || readAt.advanced(by: Self.settlingTime) <= instant)
        return PropertyListSnapshot(
            status: contents.status, bytes: bytes, content: content, hold: contents.hold, readAt: isSame ? readAt : instant,
            isSettled: isSettled, isDurable: isSame && isDurable)
    }

    /// The same state, certain to survive a power cut.
    func durable() -> PropertyListSnapshot {
        PropertyListSnapshot(
            status: status, bytes: bytes, content: content, hold: hold, readAt: readAt, isSettled: isSettled, isDurable: true)
    }

    /// Whether it can be served as it is, given the state of the file now.
    func isCurrent(_ current: FileStatus?, at instant: @autoclosure () -> MonotonicInstant) -> Bool {
        current == status && (isSettled || instant() < readAt.advanced(by: Self.settlingTime))
    }

    /// The same state, without keeping the file open.
    func withoutHold() -> PropertyListSnapshot {
        PropertyListSnapshot(
            status: status, bytes: bytes, content: content, hold: nil, readAt: readAt, isSettled: isSettled, isDurable: isDurable)
    }

    // MARK: Reading

    /// The result of reading a slot.
    func probe(_ address: StorageAddress) -> StorageProbe {
        if let known = read.withLock({ $0[address] }) { return known }
        switch content {
        case .document(let document):
            let probe = document.probe(address)
            // There is no end of names that are absent.
            if probe != .absent { read.withLock { $0[address] = probe } }
            return probe
        case .damaged(let reason): return .corrupt(StorageCorruption(bytes: bytes, revision: nil, reason: reason))
        case .unsupported(let error): return .unavailable(error)
        }
    }

    /// The slots that differ from an older snapshot; nil if they are unknown.
    func differences(from older: PropertyListSnapshot) -> Set<StorageAddress>? {
        guard case .document(let new) = content, case .document(let old) = older.content else { return nil }
        return new.differences(from: old)
    }
}
