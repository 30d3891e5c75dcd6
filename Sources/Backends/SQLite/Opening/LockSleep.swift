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

    /// A file layer (VFS) of SQLite that differs from the default one only in the sleep between two attempts to lock the
    /// index of a log.
    ///
    /// SQLite makes 100 attempts and sleeps ten seconds in total, because another connection may hold the lock. It does
    /// the same if the system can give no lock at all, for example with the error `ENOLCK`. This layer then does not
    /// sleep, so the attempts end after milliseconds. It does not sleep either on a thread that must not wait
    /// (``PageWait``).
    /// Reason: "SQLite does not sleep when locks fail" in Docs/Decisions/Database.md.
    enum LockSleep {
        private typealias Sleep = @convention(c) (UnsafeMutablePointer<sqlite3_vfs>?, Int32) -> Int32

        /// The sleep of the default layer.
        private static let original = Atomic<UInt>(0)

        /// The name of the layer. Nil, for SQLite's default layer, if the program has made another layer the default.
        static let layer: String? = {
            guard let system = sqlite3_vfs_find(nil), String(cString: system.pointee.zName) == "unix", let sleep = system.pointee.xSleep,
                let name = strdup("localdata")
            else { return nil }
            original.store(unsafeBitCast(sleep, to: UInt.self), ordering: .releasing)
            // SQLite keeps the layer and its name as long as the process runs.
            let layer = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
            layer.initialize(to: system.pointee)
            layer.pointee.zName = UnsafePointer(name)
            layer.pointee.pNext = nil
            layer.pointee.xSleep = replacement
            return sqlite3_vfs_register(layer, 0) == SQLITE_OK ? "localdata" : nil
        }()

        private static let replacement: Sleep = { layer, microseconds in
            let number = errno
            // The next call sees only the error of an attempt that was made after this one.
            defer { errno = 0 }
            if PageWait.refusesWait() || !LockSleep.meansHeld(number) { return 0 }
            let original = unsafeBitCast(LockSleep.original.load(ordering: .acquiring), to: Sleep?.self)
            return original?(layer, microseconds) ?? 0
        }

        /// Whether an attempt that ended with this system error can succeed later, because another connection holds the
        /// lock. A connection of the same process causes no system error.
        private static func meansHeld(_ number: Int32) -> Bool { [0, EAGAIN, EACCES, EINTR].contains(number) }

        /// The system error of the last attempt of this thread; 0 if another connection holds the lock. Call this
        /// directly after SQLite has returned `SQLITE_PROTOCOL`.
        static var failure: Int32 {
            let number = errno
            return layer == nil || meansHeld(number) ? 0 : number
        }
    }
#endif
