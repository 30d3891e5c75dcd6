#if SQLite
    import BackendContract
    import Sealing
    import Synchronization

    /// Lets nobody through until it is opened.
    final class Gate: Sendable {
        private struct State {
            var isOpen = false
            var arrivals = 0
            var held: [CheckedContinuation<Void, Never>] = []
            var waiting: [(count: Int, continuation: CheckedContinuation<Void, Never>)] = []
        }

        private let state = Mutex(State())

        /// Waits for the gate.
        func pass() async {
            await withCheckedContinuation { continuation in
                let (isOpen, ready) = state.withLock { state in
                    state.arrivals += 1
                    if !state.isOpen { state.held.append(continuation) }
                    let count = state.arrivals
                    let ready = state.waiting.filter { $0.count <= count }
                    state.waiting.removeAll { $0.count <= count }
                    return (state.isOpen, ready)
                }
                if isOpen { continuation.resume() }
                for waiter in ready { waiter.continuation.resume() }
            }
        }

        /// How many have come.
        var arrivals: Int { state.withLock(\.arrivals) }

        /// Returns once so many have come.
        func arrived(_ count: Int = 1) async {
            await withCheckedContinuation { continuation in
                let isReady = state.withLock { state in
                    if state.arrivals >= count { return true }
                    state.waiting.append((count, continuation))
                    return false
                }
                if isReady { continuation.resume() }
            }
        }

        func open() {
            let held = state.withLock { state in
                state.isOpen = true
                defer { state.held = [] }
                return state.held
            }
            for continuation in held { continuation.resume() }
        }
    }

    /// A source that answers when its gate is open.
    struct GatedSource: KeySource {
        let inner: any KeySource
        let gate = Gate()

        var identifier: String { inner.identifier }
        var pin: String { inner.pin }
        var protection: ProtectionLevel { inner.protection }

        func load() async throws(BackendError) -> SealingKey? {
            await gate.pass()
            return try await inner.load()
        }

        func create(_ key: SealingKey) async throws(BackendError) -> SealingKey { try await inner.create(key) }
    }

    /// A source that is locked until it is unlocked.
    final class LockedSource: KeySource {
        private let inner: any KeySource
        private let isLocked = Mutex(true)

        init(_ inner: any KeySource) { self.inner = inner }

        var identifier: String { inner.identifier }
        var pin: String { inner.pin }
        var protection: ProtectionLevel { inner.protection }

        private func check() throws(BackendError) {
            if isLocked.withLock(\.self) { throw BackendError(.locked, "The source is locked.") }
        }

        func load() async throws(BackendError) -> SealingKey? {
            try check()
            return try await inner.load()
        }

        func create(_ key: SealingKey) async throws(BackendError) -> SealingKey {
            try check()
            return try await inner.create(key)
        }

        func unlock() async throws(BackendError) { isLocked.withLock { $0 = false } }
    }
#endif
