#if SQLite
    import CSQLite
    import Synchronization

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #elseif canImport(Darwin)
        import Darwin
    #endif

    /// Lets SQLite read on a thread that must not wait for the disk, such as a thread of the cooperative pool. On such
    /// a thread, SQLite only gets pages that are in the system's page cache.
    ///
    /// SQLite reads through a table of system calls. This type replaces `pread` in that table for the whole process.
    /// While a thread runs work for ``without(_:)``, its reads use `preadv2` with `RWF_NOWAIT` (Linux 4.14). If a page
    /// is not in memory, the read fails, and the caller repeats the work elsewhere. All other reads work as before. If
    /// the file system does not support the flag (tmpfs, some network file systems), the thread waits as it would
    /// without this type.
    enum PageWait {
        #if os(Linux)
            /// The state of a thread.
            private enum State: Int {
                case ordinary
                case mustNotWait
                /// A read failed because a page was not in memory.
                case wouldHaveWaited
            }

            /// The thread-specific key for the ``State`` of each thread.
            private static let key: pthread_key_t = {
                var key = pthread_key_t()
                pthread_key_create(&key, nil)
                return key
            }()

            private static var state: State {
                get { State(rawValue: Int(bitPattern: pthread_getspecific(key))) ?? .ordinary }
                set { pthread_setspecific(key, UnsafeRawPointer(bitPattern: newValue.rawValue)) }
            }

            /// Runs work with SQLite that must not wait for the disk.
            /// - Returns: The result of the work. Nil if it would have had to wait; then the results that SQLite
            ///   returned are meaningless.
            static func without<R>(_ work: () -> R) -> R? {
                _ = isInstalled
                state = .mustNotWait
                defer { state = .ordinary }
                let result = work()
                return state == .wouldHaveWaited ? nil : result
            }

            /// Returns whether the thread must not wait. Its work then counts as work that would have waited.
            static func refusesWait() -> Bool {
                guard state != .ordinary else { return false }
                state = .wouldHaveWaited
                return true
            }

            // MARK: The system call

            private typealias Read = @convention(c) (Int32, UnsafeMutableRawPointer?, Int, off_t) -> Int

            /// The original system call. SQLite has it under one of two names, depending on how it was built.
            private static let original = Atomic<UInt>(0)

            // Reason: "SQLite's pread is replaced for the whole process" in Docs/Decisions/Files.md.
            private static let isInstalled: Bool = {
                guard let system = sqlite3_vfs_find(nil), let get = system.pointee.xGetSystemCall, let set = system.pointee.xSetSystemCall
                else {
                    return false
                }
                for name in ["pread64", "pread"] {
                    guard let present = get(system, name) else { continue }
                    original.store(unsafeBitCast(present, to: UInt.self), ordering: .releasing)
                    return set(system, name, unsafeBitCast(replacement, to: sqlite3_syscall_ptr.self)) == SQLITE_OK
                }
                return false
            }()

            private static let replacement: Read = { file, buffer, count, offset in
                if PageWait.state != .ordinary {
                    var part = iovec(iov_base: buffer, iov_len: count)
                    let read = systemReadWithoutWaiting(file, &part, 1, offset, PageWait.noWait)
                    if read >= 0 { return read }
                    if errno == EAGAIN {
                        PageWait.state = .wouldHaveWaited
                        return -1
                    }
                    // The file system does not support the flag, or there is an error that an ordinary read reports
                    // too.
                }
                let original = unsafeBitCast(PageWait.original.load(ordering: .acquiring), to: Read?.self)
                return original?(file, buffer, count, offset) ?? -1
            }

            /// `RWF_NOWAIT` of <linux/fs.h>.
            private static let noWait: Int32 = 8
        #else
            /// Runs work with SQLite, which may wait for the disk.
            static func without<R>(_ work: () -> R) -> R? { work() }

            /// Returns false: every thread may wait.
            static func refusesWait() -> Bool { false }
        #endif
    }

    #if os(Linux)
        /// `preadv2` of the C library, which the Swift module of the C library does not contain.
        @_silgen_name("preadv2") private func systemReadWithoutWaiting(
            _ file: Int32, _ parts: UnsafePointer<iovec>, _ count: Int32, _ offset: off_t, _ flags: Int32
        ) -> Int
    #endif
#endif
