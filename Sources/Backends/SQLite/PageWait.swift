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

    /// Lets SQLite read on a thread that must not wait for the disk, such as those of the cooperative pool: what is not in the system's memory is not read there.
    ///
    /// SQLite's reads go through a table of system calls, whose `pread` is replaced for the whole process. While a thread does work for ``without(_:)``, its reads are
    /// `preadv2` with `RWF_NOWAIT` (Linux 4.14): a page that is not in memory is a failed read, and the work is repeated elsewhere. All other reads are as before. Where the
    /// file system cannot do that (tmpfs, some network file systems), a thread waits as it would without this.
    enum PageWait {
        #if os(Linux)
            /// What a thread is doing.
            private enum State: Int {
                case ordinary
                case mustNotWait
                /// A page was not in memory.
                case wouldHaveWaited
            }

            /// A thread's ``State``.
            private static let key: pthread_key_t = {
                var key = pthread_key_t()
                pthread_key_create(&key, nil)
                return key
            }()

            private static var state: State {
                get { State(rawValue: Int(bitPattern: pthread_getspecific(key))) ?? .ordinary }
                set { pthread_setspecific(key, UnsafeRawPointer(bitPattern: newValue.rawValue)) }
            }

            /// Does work with SQLite that does not wait for the disk.
            /// - Returns: Nil where it would have had to wait. What SQLite said then means nothing.
            static func without<R>(_ work: () -> R) -> R? {
                _ = isInstalled
                state = .mustNotWait
                defer { state = .ordinary }
                let result = work()
                return state == .wouldHaveWaited ? nil : result
            }

            // MARK: The system call

            private typealias Read = @convention(c) (Int32, UnsafeMutableRawPointer?, Int, off_t) -> Int

            /// The system call as SQLite had it: under one name or the other, as it was built.
            private static let original = Atomic<UInt>(0)

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
                    // The file system cannot tell, or there is an error that an ordinary read tells too.
                }
                let original = unsafeBitCast(PageWait.original.load(ordering: .acquiring), to: Read?.self)
                return original?(file, buffer, count, offset) ?? -1
            }

            /// `RWF_NOWAIT` of <linux/fs.h>.
            private static let noWait: Int32 = 8
        #else
            /// Does work with SQLite, which waits for the disk.
            static func without<R>(_ work: () -> R) -> R? { work() }
        #endif
    }

    #if os(Linux)
        /// `preadv2` of the C library, which Swift's module of it leaves out.
        @_silgen_name("preadv2") private func systemReadWithoutWaiting(
            _ file: Int32, _ parts: UnsafePointer<iovec>, _ count: Int32, _ offset: off_t, _ flags: Int32
        ) -> Int
    #endif
#endif
