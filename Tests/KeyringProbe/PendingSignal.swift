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
            if target.count == 2 { kill(target[0], target[1]) }
        }
    }
#endif
