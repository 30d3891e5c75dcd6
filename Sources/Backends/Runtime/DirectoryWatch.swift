#if canImport(Glibc)
    internal import Dispatch
    import Glibc
#elseif canImport(Musl)
    internal import Dispatch
    import Musl
#endif

/// Reports changes of the names in a directory (inotify). On other systems it reports nothing, and the next read finds the change.
enum DirectoryWatch {
    static func changes(in directory: String) -> AsyncStream<String> {
        #if os(Linux)
            AsyncStream(bufferingPolicy: .bufferingNewest(256)) { continuation in
                let descriptor = inotify_init1(Int32(IN_NONBLOCK | IN_CLOEXEC))
                guard descriptor >= 0 else { return continuation.finish() }
                let mask = UInt32(IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_MODIFY)
                guard inotify_add_watch(descriptor, directory, mask) >= 0 else {
                    close(descriptor)
                    return continuation.finish()
                }
                let source = DispatchSource.makeReadSource(fileDescriptor: descriptor, queue: queue)
                source.setEventHandler { for name in names(readFrom: descriptor) { continuation.yield(name) } }
                source.setCancelHandler { close(descriptor) }
                let held = UncheckedSource(source: source)
                continuation.onTermination = { _ in held.source.cancel() }
                source.activate()
            }
        #else
            AsyncStream { $0.finish() }
        #endif
    }

    #if os(Linux)
        private static let queue = DispatchQueue(label: "LocalData.directory-watch")

        private static func names(readFrom descriptor: Int32) -> [String] {
            var names: [String] = []
            var buffer = [UInt8](repeating: 0, count: 16_384)
            while true {
                let count = read(descriptor, &buffer, buffer.count)
                guard count > 0 else { return names }
                buffer.withUnsafeBytes { bytes in
                    var offset = 0
                    // struct inotify_event: wd, mask, cookie, len (4 bytes each), then the name, padded with NUL.
                    while offset + 16 <= count {
                        let length = Int(bytes.loadUnaligned(fromByteOffset: offset + 12, as: UInt32.self))
                        guard offset + 16 + length <= count else { return }
                        let name = bytes[(offset + 16)..<(offset + 16 + length)].prefix { $0 != 0 }
                        names.append(String(decoding: name, as: UTF8.self))
                        offset += 16 + length
                    }
                }
            }
        }
    #endif
}

#if os(Linux)
    /// `@unchecked Sendable`: the source is only cancelled through it, which may be done from any thread (libdispatch's contract).
    private struct UncheckedSource: @unchecked Sendable {
        let source: any DispatchSourceRead
    }
#endif
