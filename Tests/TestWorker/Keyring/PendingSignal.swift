#if Keyring && os(Linux)
    import Glibc
    import Synchronization

    /// A signal that is set first and sent once, at a later moment.
    final class PendingSignal: Sendable {
        private let target = Mutex<[Int32]>([])

        /// Sets the process and the signal.
        func arm(_ target: [Int32]) { self.target.withLock { $0 = target } }

        /// Sends the signal, if one is set.
        func send() {
            let target = target.withLock { target in
                defer { target = [] }
                return target
            }
            guard target.count == 2 else { return }
            // A signal to this process goes to this thread.
            // Otherwise this call could return before the signal takes effect.
            if target[0] == getpid() { pthread_kill(pthread_self(), target[1]) } else { kill(target[0], target[1]) }
        }
    }
#endif
