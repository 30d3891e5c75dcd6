internal import Dispatch
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// Takes the lock of a lock file, after those who came first.
///
/// The lock is `flock`. A process first takes the *turn*, a record lock on the same open file, then waits for the lock, and gives the turn back once it has the lock. A process
/// that releases the lock and wants it again has to wait for the turn, which the next process holds. So the lock is handed on to a waiting process. The kernel does the
/// waiting; no process sleeps while the lock is free.
///
/// The turn only decides the order. Programs that take `flock` alone, such as earlier versions, are excluded, and exclude others, as before.
struct LockQueue {
    /// A file that this process has open for the lock.
    let descriptor: Int32

    /// Takes the lock. The descriptor is closed if that fails.
    /// - Parameter giveUp: Asked while waiting; true ends it.
    func take(giveUp: () -> Bool) throws(LockFailure) {
        try wait(giveUp, Self.takeTurn)
        try wait(giveUp) { flock($0, $1 ? LOCK_EX : LOCK_EX | LOCK_NB) }
        Self.giveTurnBack(descriptor)
    }

    /// Takes the lock in no order, where the file need not be open for writing. The descriptor is closed if that fails. A file system that has
    /// no such lock, or none for a file that is open for reading, has nothing to wait for.
    func takeUnordered(giveUp: () -> Bool) throws(LockFailure) {
        try wait(giveUp) { descriptor, waits in
            let code = flock(descriptor, waits ? LOCK_EX : LOCK_EX | LOCK_NB)
            return code != 0 && [EBADF, EOPNOTSUPP, ENOSYS].contains(errno) ? 0 : code
        }
    }

    /// Gives the lock back and closes the descriptor.
    ///
    /// The lock belongs to the open file, which a child process made by `fork` without `exec` has open too: closed here alone, it would stay
    /// taken until the child ends.
    static func release(_ descriptor: Int32) {
        _ = flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    /// The same where the caller may have the turn too.
    private static func leave(_ descriptor: Int32) {
        giveTurnBack(descriptor)
        release(descriptor)
    }

    /// Why a lock was not taken, as the system's error number.
    struct LockFailure: Error {
        let number: Int32
    }

    /// How often a waiting caller is asked whether it gives up.
    private static let question = DispatchTimeInterval.milliseconds(5)

    /// Makes a system call that takes a lock: at once if that can be done, else on a thread that waits.
    /// - Parameter call: Makes the call; its argument says whether to wait. It returns 0, or -1 with an error number.
    private func wait(_ giveUp: () -> Bool, _ call: @escaping @Sendable (Int32, _ waits: Bool) -> Int32) throws(LockFailure) {
        let descriptor = descriptor
        guard let number = Self.repeated({ call(descriptor, false) }) else { return }
        guard number == EWOULDBLOCK || number == EACCES else {
            Self.leave(descriptor)
            throw LockFailure(number: number)
        }
        if giveUp() {
            Self.leave(descriptor)
            throw LockFailure(number: ETIMEDOUT)
        }
        let waiting = Waiting()
        DispatchLane(label: "lock").enqueue {
            let number = Self.repeated { call(descriptor, true) }
            // Nobody waits any more: the lock goes on to the next one.
            if !waiting.end(number) { Self.leave(descriptor) }
        }
        while true {
            if waiting.isOver(within: Self.question) { break }
            // The thread has the file until its call returns; the kernel cannot be told to stop.
            if giveUp(), waiting.leave() { throw LockFailure(number: ETIMEDOUT) }
        }
        if let number = waiting.failure {
            Self.leave(descriptor)
            throw LockFailure(number: number)
        }
    }

    /// Repeats a call that a signal interrupts. Returns the number of its error; nil if it succeeded.
    private static func repeated(_ call: () -> Int32) -> Int32? {
        while call() != 0 {
            let number = errno
            if number != EINTR { return number }
        }
        return nil
    }

    // MARK: The turn

    #if canImport(Darwin)
        // Without record locks of an open file there is no turn.
        private static func takeTurn(_ descriptor: Int32, _ waits: Bool) -> Int32 { 0 }
        private static func giveTurnBack(_ descriptor: Int32) {}
    #else
        // F_OFD_SETLK and F_OFD_SETLKW of <fcntl.h>: locks of the open file, and not of the process.
        private static let (attempt, wait): (Int32, Int32) = (37, 38)

        private static func takeTurn(_ descriptor: Int32, _ waits: Bool) -> Int32 { turn(descriptor, F_WRLCK, waits ? wait : attempt) }
        private static func giveTurnBack(_ descriptor: Int32) { _ = turn(descriptor, F_UNLCK, attempt) }

        private static func turn(_ descriptor: Int32, _ kind: Int32, _ command: Int32) -> Int32 {
            var lock = flock()
            lock.l_type = Int16(kind)
            lock.l_whence = Int16(SEEK_SET)
            lock.l_len = 1
            let code = withUnsafeMutablePointer(to: &lock) { fcntl(descriptor, command, UnsafeMutableRawPointer($0)) }
            // A file system without such locks has no turns.
            return code != 0 && errno == EINVAL ? 0 : code
        }
    #endif
}

/// A caller and the thread that waits for it.
private final class Waiting: Sendable {
    private enum State {
        case waiting
        case over(Int32?)
        case left
    }

    private let state = Mutex(State.waiting)
    private let signal = DispatchSemaphore(value: 0)

    /// The thread's call has returned. False if the caller has left.
    func end(_ number: Int32?) -> Bool {
        let isWanted = state.withLock { state in
            guard case .waiting = state else { return false }
            state = .over(number)
            return true
        }
        signal.signal()
        return isWanted
    }

    /// Waits for the end for a while. Returns whether it came.
    func isOver(within time: DispatchTimeInterval) -> Bool { signal.wait(timeout: .now() + time) == .success }

    /// The caller leaves. False if the call has returned by now.
    func leave() -> Bool {
        state.withLock { state in
            guard case .waiting = state else { return false }
            state = .left
            return true
        }
    }

    var failure: Int32? { state.withLock { if case .over(let number) = $0 { number } else { nil } } }
}
