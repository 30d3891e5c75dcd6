#if os(Linux)
    internal import Dispatch
    import Synchronization

    #if canImport(Glibc)
        import Glibc
    #elseif canImport(Musl)
        import Musl
    #endif

    /// Watches some file names in the directory at a path, with inotify. If the directory or a directory above it is
    /// moved or removed, the next directory that appears at the path is watched.
    final class DirectoryWatch: Sendable {
        private let directory: String
        private let names: Set<String>
        /// The inotify descriptor.
        private let descriptor: Int32
        private let announce: @Sendable () -> Void
        private let watches = Mutex(Watches())

        /// The inotify numbers of the current watches. The kernel does not reuse a number.
        private struct Watches {
            /// The watch of the directory; nil while the directory does not exist.
            var directory: Int32?
            /// The watches of the directories above it.
            var above: Set<Int32> = []
        }

        /// Whether a read of the descriptor returned events of the watched names, and whether it returned events of the
        /// path.
        private struct News {
            var isOfNames = false
            var isOfPath = false
        }

        /// Creates a watch and attaches it to the path.
        /// - Returns: Nil if the path cannot be watched.
        private init?(_ names: Set<String>, in directory: String, announce: @escaping @Sendable () -> Void) {
            descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
            (self.directory, self.names, self.announce) = (directory, names, announce)
            guard descriptor >= 0 else { return nil }
            guard attach() else {
                close(descriptor)
                return nil
            }
        }

        /// Returns a stream with an element after changes of the names, and whenever such a change may have been
        /// missed. One element may stand for several changes. The stream ends if the path cannot be watched.
        static func changes(of names: Set<String>, in directory: String) -> AsyncStream<Void> {
            // All elements are equal, so a buffer of one is enough.
            AsyncStream(bufferingPolicy: .bufferingNewest(1)) { continuation in
                guard let watch = DirectoryWatch(names, in: directory, announce: { continuation.yield() }) else {
                    return continuation.finish()
                }
                let source = DispatchSource.makeReadSource(fileDescriptor: watch.descriptor, queue: queue)
                source.setEventHandler { if !watch.handle() { continuation.finish() } }
                source.setCancelHandler { close(watch.descriptor) }
                let held = UncheckedSource(source: source)
                continuation.onTermination = { _ in held.source.cancel() }
                source.activate()
            }
        }

        private static let queue = DispatchQueue(label: "LocalData.directory-watch")

        // MARK: Attaching

        private static let contents = UInt32(IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MODIFY)
        private static let itself = UInt32(IN_MOVE_SELF | IN_DELETE_SELF) | UInt32(IN_ONLYDIR)

        /// Watches the directory and all directories above it. If the directory does not exist, also watches for new
        /// names in the nearest directory that exists.
        /// - Returns: Whether the path can be watched.
        private func attach() -> Bool {
            watches.withLock { watches in
                for _ in 0..<Self.attempts {
                    for number in watches.above.union(watches.directory.map { [$0] } ?? []) { inotify_rm_watch(descriptor, number) }
                    watches = Watches()
                    add(Self.contents, directory, to: &watches)
                    if watches.directory != nil { return true }
                    // The directory may have been created before its parent was watched: try again.
                    guard access(directory, F_OK) != 0 else { continue }
                    return (errno == ENOENT || errno == ENOTDIR) && !watches.above.isEmpty
                }
                return false
            }
        }

        private static let attempts = 8

        private func add(_ mask: UInt32, _ path: String, to watches: inout Watches) {
            let number = inotify_add_watch(descriptor, path, mask | Self.itself)
            var mask: UInt32 = 0
            if path == directory {
                watches.directory = number >= 0 ? number : nil
            } else if number >= 0 {
                watches.above.insert(number)
            }
            // Watch for new names only in the nearest directory that exists.
            if watches.directory == nil, watches.above.isEmpty { mask = UInt32(IN_CREATE | IN_MOVED_TO) }
            let parent = parentDirectory(of: path)
            if parent != path, parent != "." { add(mask, parent, to: &watches) }
        }

        // MARK: Events

        /// Reads the waiting events and notifies of changes. If the directory or a directory above it was created,
        /// moved or removed, attaches to the path again.
        /// - Returns: Whether the path is still watched.
        private func handle() -> Bool {
            let news = read()
            var isAttached = true
            if news.isOfPath { isAttached = attach() }
            if news.isOfNames || news.isOfPath { announce() }
            return isAttached
        }

        private func read() -> News {
            var news = News()
            let (directory, above) = watches.withLock { ($0.directory, $0.above) }
            var buffer = [UInt8](repeating: 0, count: 16_384)
            while true {
                let count = systemRead(descriptor, &buffer, buffer.count)
                guard count > 0 else { return news }
                buffer.withUnsafeBytes { bytes in
                    var offset = 0
                    // struct inotify_event: wd, mask, cookie, len (4 bytes each), then the name, padded with NUL.
                    while offset + 16 <= count {
                        let number = bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self)
                        let mask = bytes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self)
                        let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
                        guard offset + 16 + length <= count else { return }
                        let name = bytes[(offset + 16)..<(offset + 16 + length)].prefix { $0 != 0 }
                        offset += 16 + length
                        let isOfItself = mask & UInt32(IN_MOVE_SELF | IN_DELETE_SELF | IN_IGNORED | IN_UNMOUNT) != 0
                        if mask & UInt32(IN_Q_OVERFLOW) != 0 {
                            // The event queue overflowed, so any event may be lost.
                            news.isOfPath = true
                        } else if number == directory {
                            if isOfItself { news.isOfPath = true }
                            if names.contains(String(decoding: name, as: UTF8.self)) { news.isOfNames = true }
                        } else if above.contains(number) {
                            if isOfItself || directory == nil { news.isOfPath = true }
                        }
                    }
                }
            }
        }
    }

    private func systemRead(_ descriptor: Int32, _ buffer: UnsafeMutableRawPointer, _ count: Int) -> Int { read(descriptor, buffer, count) }

    /// `@unchecked Sendable`: the source is only cancelled through this reference. libdispatch allows that on any
    /// thread.
    private struct UncheckedSource: @unchecked Sendable {
        let source: any DispatchSourceRead
    }
#else
    /// On other systems, nothing is watched. A store notices a change at its next read.
    enum DirectoryWatch {
        static func changes(of names: Set<String>, in directory: String) -> AsyncStream<Void> { AsyncStream { $0.finish() } }
    }
#endif
