#if Keyring && os(Linux)
    import Glibc
    import Synchronization

    /// A signal that waits for its moment and is sent once.
    final class PendingSignal: Sendable {
        private let target = Mutex<[Int32]>([])

        /// Names the process and the signal.
        func arm(_ target: [Int32]) { self.target.withLock { $0 = target } }

        /// Sends the signal, if one is waiting.
        func send() {
            let target = target.withLock { target in
                defer { target = [] }
                return target
            }
            guard target.count == 2 else { return }
            // To this thread, where it is this process: it then does not return from the call before the signal took effect.
            if target[0] == getpid() { pthread_kill(pthread_self(), target[1]) } else { kill(target[0], target[1]) }
        }
    }
#endif
