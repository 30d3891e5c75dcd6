internal import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Takes the lock of a lock file. Processes get it in the order in which they began to wait.
///
/// The lock is `flock`. A process first takes the *turn*, a record lock on the same open file. It then waits for the
/// lock, and releases the turn once it has the lock.
/// Reason: "Processes take turns for a lock" in Docs/Decisions/LocksAndCommits.md.
///
/// The turn only decides the order. A program that uses `flock` without the turn, such as an earlier version,
/// excludes other programs and is excluded by them.
struct LockQueue {
    /// The open lock file.
    let descriptor: Int32

    /// Takes the lock. Closes the descriptor on failure.
    /// - Parameter giveUp: Called repeatedly during the wait. If it returns true, the wait ends.
    func take(giveUp: () -> Bool) throws(LockFailure) {
        try wait(giveUp, Self.takeTurn)
        try wait(giveUp) { flock($0, $1 ? LOCK_EX : LOCK_EX | LOCK_NB) }
        Self.giveTurnBack(descriptor)
    }

    /// Takes the lock without the turn, so waiting processes get it in no particular order. In contrast to the turn,
    /// `flock` needs no file that is open for writing. Closes the descriptor on failure.
    ///
    /// Succeeds without a lock if the file system does not support `flock`, or supports it only for files that are
    /// open for writing.
    func takeUnordered(giveUp: () -> Bool) throws(LockFailure) {
        try wait(giveUp) { descriptor, waits in
            let code = flock(descriptor, waits ? LOCK_EX : LOCK_EX | LOCK_NB)
            return code != 0 && [EBADF, EOPNOTSUPP, ENOSYS].contains(errno) ? 0 : code
        }
    }

    /// Releases the lock and closes the descriptor.
    ///
    /// The lock belongs to the open file. A child process that was created by `fork` without `exec` has the same open
    /// file. If this process only closed the descriptor, the lock would be held until the child ends.
    static func release(_ descriptor: Int32) {
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// Releases the turn and the lock, if they are held, and closes the descriptor.
    private static func leave(_ descriptor: Int32) {
        giveTurnBack(descriptor)
        release(descriptor)
    }

    /// The system's error number for a lock that was not taken.
    struct LockFailure: Error {
        let number: Int32
    }

    /// The time between two calls of `giveUp` during the wait.
    private static let question = DispatchTimeInterval.milliseconds(5)

    /// Takes a lock with a system call. If the lock is not free, another thread waits for it. While the thread of an
    /// earlier caller, which gave up, still waits for the lock file, this thread repeats the call instead.
    /// - Parameter call: Makes the system call; the second argument is whether to wait. Returns 0, or -1 with an
    ///   error number.
    private func wait(_ giveUp: () -> Bool, _ call: @escaping @Sendable (Int32, _ waits: Bool) -> Int32) throws(LockFailure) {
        let descriptor = descriptor
        let file = AbandonedWaits.File(descriptor)
        while true {
            guard let number = Self.repeated({ call(descriptor, false) }) else { return }
            guard number == EWOULDBLOCK || number == EACCES else {
                Self.leave(descriptor)
                throw LockFailure(number: number)
            }
            if giveUp() {
                Self.leave(descriptor)
                throw LockFailure(number: ETIMEDOUT)
            }
            guard AbandonedWaits.ofProcess.contains(file) else { break }
            _ = DispatchSemaphore(value: 0).wait(timeout: .now() + Self.question)
        }
        let waiting = Waiting()
        DispatchLane(label: "lock").enqueue {
            let number = Self.repeated { call(descriptor, true) }
            // If the caller no longer waits, release the lock, so that the next process gets it.
            if !waiting.end(number) {
                Self.leave(descriptor)
                AbandonedWaits.ofProcess.count(file, by: -1)
            }
        }
        while true {
            if waiting.isOver(within: Self.question) { break }
            // Do not close the descriptor here: the other thread uses it until its system call returns, and that call
            // cannot be cancelled.
            if giveUp(), waiting.leave() {
                AbandonedWaits.ofProcess.count(file, by: 1)
                throw LockFailure(number: ETIMEDOUT)
            }
        }
        if let number = waiting.failure {
            Self.leave(descriptor)
            throw LockFailure(number: number)
        }
    }

    /// Repeats a system call while signals interrupt it. Returns its error number; nil if it succeeded.
    private static func repeated(_ call: () -> Int32) -> Int32? {
        while call() != 0 {
            let number = errno
            if number != EINTR { return number }
        }
        return nil
    }

    // MARK: The turn

    #if canImport(Darwin)
        // On Darwin there is no turn, because it needs record locks that belong to an open file.
        private static func takeTurn(_ descriptor: Int32, _ waits: Bool) -> Int32 { 0 }
        private static func giveTurnBack(_ descriptor: Int32) {}
    #else
        // F_OFD_SETLK and F_OFD_SETLKW of <fcntl.h>. These record locks belong to the open file, not to the process.
        private static let (attempt, wait): (Int32, Int32) = (37, 38)

        private static func takeTurn(_ descriptor: Int32, _ waits: Bool) -> Int32 { turn(descriptor, F_WRLCK, waits ? wait : attempt) }
        private static func giveTurnBack(_ descriptor: Int32) { _ = turn(descriptor, F_UNLCK, attempt) }

        private static func turn(_ descriptor: Int32, _ kind: Int32, _ command: Int32) -> Int32 {
            var lock = flock()
            lock.l_type = Int16(kind)
            lock.l_whence = Int16(SEEK_SET)
            lock.l_len = 1
            let code = withUnsafeMutablePointer(to: &lock) { fcntl(descriptor, command, UnsafeMutableRawPointer($0)) }
            // Continue without a turn if the file system has no such locks.
            return code != 0 && errno == EINVAL ? 0 : code
        }
    #endif
}

/// The lock files for which threads of this process wait although their callers gave up.
///
/// Such a thread is blocked until the lock is free. Dispatch has a limited number of threads, so a lock that is held for
/// a long time must not use up one for each caller.
private final class AbandonedWaits: Sendable {
    struct File: Hashable {
        let device: UInt64
        let inode: UInt64

        init(_ descriptor: Int32) {
            var info = stat()
            // An error leaves zeros. Files with that identity share one count, so their callers may only wait longer.
            _ = fstat(descriptor, &info)
            (device, inode) = (UInt64(truncatingIfNeeded: info.st_dev), UInt64(info.st_ino))
        }
    }

    static let ofProcess = AbandonedWaits()

    private let counts = Mutex<[File: Int]>([:])

    func contains(_ file: File) -> Bool { counts.withLock { $0[file, default: 0] > 0 } }

    /// Changes the number of waits. The number is briefly negative if a thread ends its wait before its caller counts it.
    func count(_ file: File, by step: Int) {
        counts.withLock { counts in
            let number = counts[file, default: 0] + step
            counts[file] = number == 0 ? nil : number
        }
    }
}

/// The state that a caller shares with the thread that waits for the caller's lock.
private final class Waiting: Sendable {
    private enum State {
        case waiting
        case over(Int32?)
        case left
    }

    private let state = Mutex(State.waiting)
    private let signal = DispatchSemaphore(value: 0)

    /// Notes that the thread's system call has returned. Returns false if the caller no longer waits.
    func end(_ number: Int32?) -> Bool {
        let isWanted = state.withLock { state in
            guard case .waiting = state else { return false }
            state = .over(number)
            return true
        }
        signal.signal()
        return isWanted
    }

    /// Waits a limited time for the thread's system call. Returns whether it has returned.
    func isOver(within time: DispatchTimeInterval) -> Bool { signal.wait(timeout: .now() + time) == .success }

    /// Notes that the caller no longer waits. Returns false if the thread's system call has already returned.
    func leave() -> Bool {
        state.withLock { state in
            guard case .waiting = state else { return false }
            state = .left
            return true
        }
    }

    var failure: Int32? { state.withLock { if case .over(let number) = $0 { number } else { nil } } }
}
