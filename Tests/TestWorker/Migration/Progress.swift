import Synchronization

/// Lines of progress, each of which whoever started the program acknowledges with an empty line.
///
/// The program waits where it is too many lines ahead: so a kill that comes long before the last line comes in the middle of the work, however fast the machine is. It is
/// far enough ahead to be in the middle of a write then.
final class Progress: Sendable {
    static let shared = Progress()

    private static let window = 500
    private let unread = Mutex(0)

    /// Says a line, and waits for earlier ones to be read.
    func say(_ text: String) {
        unread.withLock { unread in
            writeLine("progress \(text)")
            unread += 1
            while unread > Self.window, readLine() != nil { unread -= 1 }
        }
    }

    /// Takes note of an acknowledgement that was read elsewhere.
    func wasRead() { unread.withLock { $0 -= 1 } }
}
