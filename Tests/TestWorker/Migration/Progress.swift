import Synchronization

/// Prints lines of progress. The program that started this one acknowledges each line with an empty line.
///
/// This program waits if too many lines are not acknowledged.
/// A kill long before the last line therefore interrupts the work, however fast the machine is.
/// The limit is high enough that the kill can also interrupt a write.
final class Progress: Sendable {
    static let shared = Progress()

    private static let window = 500
    private let unread = Mutex(0)

    /// Prints a line, and waits if too many lines are not acknowledged.
    func say(_ text: String) {
        unread.withLock { unread in
            writeLine("progress \(text)")
            unread += 1
            while unread > Self.window, readLine() != nil { unread -= 1 }
        }
    }

    /// Counts an acknowledgement that the loop for commands has read.
    func wasRead() { unread.withLock { $0 -= 1 } }
}
