#if SQLite
    import BackendContract
    import BackendRuntime
    import CSQLite
    import Foundation
    import SQLiteBackend
    import Synchronization
    import TestSupport
    import Testing

    /// Tests of a system that cannot lock the index of a database's log, the file `-shm`.
    @Suite(.inTurn) struct LockFaultTests {
        /// Replaces the function with which SQLite locks files, in the whole process. The locks of one index can then fail.
        private enum FailingLocks {
            private typealias Control = @convention(c) (Int32, Int32, UnsafeMutableRawPointer?) -> Int32

            /// The path of the index whose locks fail with `ENOLCK`; nil for none.
            static let index = Mutex<String?>(nil)
            private static let original = Atomic<UInt>(0)

            static let isInstalled: Bool = {
                guard let system = sqlite3_vfs_find(nil), let get = system.pointee.xGetSystemCall, let set = system.pointee.xSetSystemCall,
                    let present = get(system, "fcntl")
                else { return false }
                original.store(unsafeBitCast(present, to: UInt.self), ordering: .releasing)
                return set(system, "fcntl", unsafeBitCast(replacement, to: sqlite3_syscall_ptr.self)) == SQLITE_OK
            }()

            // The third argument of fcntl is variadic. On Linux it is passed like an ordinary one.
            private static let replacement: Control = { descriptor, command, argument in
                if command == F_SETLK, let argument, let index = FailingLocks.index.withLock(\.self) {
                    // The structure begins with the kind of lock. At offset 8 follows the first byte that is locked.
                    let kind = Int32(argument.load(as: Int16.self))
                    let start = argument.load(fromByteOffset: 8, as: Int64.self)
                    // The bytes 120 to 127 are the locks of the log. Byte 128 is locked once, when the index is opened.
                    if kind != F_UNLCK, (120..<128).contains(start), FailingLocks.path(of: descriptor) == index {
                        errno = ENOLCK
                        return -1
                    }
                }
                let original = unsafeBitCast(FailingLocks.original.load(ordering: .acquiring), to: Control?.self)
                return original?(descriptor, command, argument) ?? -1
            }

            private static func path(of descriptor: Int32) -> String? {
                try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")
            }
        }

        @Test(.timeLimit(.minutes(5)))
        func `if the index of the log cannot be locked, a call fails at once as unavailable, and later calls succeed`() async throws {
            try #require(FailingLocks.isInstalled)
            let place = try Place()
            let store = place.store(deadline: .seconds(600))
            try await store.put("one", at: "a")
            #expect(try await store.text("a") == "one")
            FailingLocks.index.withLock { $0 = PosixFileSystem().resolve(place.path) + "-shm" }
            defer { FailingLocks.index.withLock { $0 = nil } }
            // With SQLite's own sleep, the read ends as timedOut: after ten seconds on this thread, and at the deadline on a lane.
            guard case .unavailable(let error) = try await store.read(StorageAddress("a")) else {
                throw ProgramFailure("the value was read")
            }
            #expect(error.code == .unavailable && error.reason.contains("lock"), "\(error)")
            guard case .failed(let refusal) = try await store.apply(.text("two", at: "a")) else {
                throw ProgramFailure("the value was changed")
            }
            #expect(refusal.code == .unavailable && refusal.outcome == .notApplied, "\(refusal)")
            FailingLocks.index.withLock { $0 = nil }
            #expect(try await store.text("a") == "one")
            try await store.put("two", at: "a")
            #expect(try await store.text("a") == "two")
            await store.close()
            try await place.check()
        }
    }
#endif
