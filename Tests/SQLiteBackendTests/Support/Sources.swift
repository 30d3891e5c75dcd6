#if SQLite
    import BackendContract
    import Sealing
    import Synchronization
    import TestSupport

    /// A key source that answers once its gate is open.
    struct GatedSource: KeySource {
        let inner: any KeySource
        let gate = Gate()

        var identifier: String { inner.identifier }
        var pin: String { inner.pin }
        var protection: ProtectionLevel { inner.protection }

        func load() async throws(BackendError) -> SourceKeys? {
            await gate.pass()
            return try await inner.load()
        }

        func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys { try await inner.create(keys) }
    }

    /// A key source that is locked until `unlock` is called.
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

        func load() async throws(BackendError) -> SourceKeys? {
            try check()
            return try await inner.load()
        }

        func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys {
            try check()
            return try await inner.create(keys)
        }

        func unlock() async throws(BackendError) { isLocked.withLock { $0 = false } }
    }
#endif
