#if os(Linux)
    import BackendRuntime
    import Foundation
    import Glibc
    import Sealing

    /// What the test's own process holds: open descriptors, threads, and bytes in its memory.
    enum ProcessMemory {
        /// What open descriptors lead to, but for those that Dispatch and the concurrency run time open for themselves, once, when they first need them.
        static var openFiles: [String] {
            let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            let own = ["anon_inode:[timerfd]", "anon_inode:[eventfd]", "anon_inode:[eventpoll]"]
            return numbers.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
                .filter { !own.contains($0) }.sorted()
        }

        /// How many descriptors are open, but for those.
        static var descriptors: Int { openFiles.count }

        /// The number of threads.
        static var threads: Int { count("/proc/self/task") }

        private static func count(_ directory: String) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: directory).count) ?? 0
        }

        /// Bytes to look for. They are kept masked, so that a search for them does not find the list of what is searched.
        struct Needle: Sendable {
            private static let mask: UInt8 = 0xA7
            fileprivate var masked: [UInt8]

            /// Takes bytes, which stay the caller's to wipe.
            init(_ bytes: UnsafeRawBufferPointer) { masked = bytes.map { $0 ^ Self.mask } }

            /// Takes bytes that another process has masked, with the same mask.
            init(masked bytes: some Collection<UInt8>) { masked = Array(bytes) }

            /// Two halves of the sealing key that a key file holds, read without leaving a copy.
            static func halves(ofKeyFile path: String) throws -> [Needle] {
                let file = open(path, O_RDONLY | O_CLOEXEC)
                guard file >= 0 else { throw CocoaError(.fileReadNoSuchFile) }
                defer { close(file) }
                return withUnsafeTemporaryAllocation(byteCount: 256, alignment: 8) { text in
                    withUnsafeTemporaryAllocation(byteCount: SealingKey.keyLength, alignment: 8) { key in
                        defer {
                            wipe(text)
                            wipe(key)
                        }
                        let length = max(0, read(file, text.baseAddress, text.count))
                        let digits = text[..<length].split { " \n".utf8.contains($0) }.last ?? text[..<0]
                        guard decode(digits, into: key) else { return [] }
                        let half = SealingKey.keyLength / 2
                        return [0, half].map { Needle(UnsafeRawBufferPointer(rebasing: key[$0..<$0 + half])) }
                    }
                }
            }

            /// Decodes base64 digits; false if they are not as many bytes as there is room for.
            private static func decode(_ digits: Slice<UnsafeMutableRawBufferPointer>, into bytes: UnsafeMutableRawBufferPointer) -> Bool {
                var (bits, count, filled) = (UInt32(0), 0, 0)
                for digit in digits where digit != UInt8(ascii: "=") {
                    guard let value = alphabet.firstIndex(of: digit) else { return false }
                    (bits, count) = (bits << 6 | UInt32(value), count + 6)
                    guard count >= 8 else { continue }
                    guard filled < bytes.count else { return false }
                    count -= 8
                    bytes[filled] = UInt8(truncatingIfNeeded: bits >> UInt32(count))
                    filled += 1
                }
                return filled == bytes.count
            }

            private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

            /// How often the bytes occur in a piece of memory. One of them, which text and empty memory do not have, is looked for as it is; the rest is compared masked.
            fileprivate func occurrences(in piece: UnsafeRawBufferPointer) -> Int {
                guard piece.count >= masked.count, let start = piece.baseAddress else { return 0 }
                let rare = masked.firstIndex { (0x81..<0xFF).contains($0 ^ Self.mask) } ?? 0
                let byte = Int32(masked[rare] ^ Self.mask)
                let last = piece.count - masked.count
                var (found, from) = (0, 0)
                while from <= last, let hit = memchr(start + from + rare, byte, last - from + 1) {
                    let offset = start.distance(to: UnsafeRawPointer(hit)) - rare
                    if masked.indices.allSatisfy({ piece[offset + $0] ^ Self.mask == masked[$0] }) { found += 1 }
                    from = offset + 1
                }
                return found
            }
        }

        /// Uses the stacks of the pool's threads, and those of threads that have ended, which the C library keeps for later ones: they hold old contents of registers and
        /// frames until they are used again.
        static func useStacks() async {
            DispatchQueue.concurrentPerform(iterations: 64) { _ in _ = clearStack(200) }
            await withTaskGroup(of: Int.self) { group in
                for _ in 0..<64 { group.addTask { clearStack(200) } }
            }
            let ended = DispatchGroup()
            for _ in 0..<32 {
                ended.enter()
                Thread {
                    _ = clearStack(200)
                    ended.leave()
                }.start()
            }
            await withCheckedContinuation { continuation in ended.notify(queue: .global()) { continuation.resume() } }
        }

        /// Clears about a kilobyte of stack in each of so many frames.
        @inline(never) private static func clearStack(_ frames: Int) -> Int {
            withUnsafeTemporaryAllocation(byteCount: 1_000, alignment: 16) { frame in
                wipe(frame)
                return frames == 0 ? 0 : clearStack(frames - 1) + Int(frame[0])
            }
        }

        /// How often any of some bytes occur in what this process can write to.
        static func occurrences(of needles: [Needle]) throws -> Int {
            let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
            let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
            guard memory >= 0 else { throw CocoaError(.fileReadNoPermission) }
            defer { close(memory) }
            let longest = needles.map(\.masked.count).max() ?? 0
            return withUnsafeTemporaryAllocation(byteCount: 1 << 20, alignment: 16) { window in
                // What was copied here is looked at once only: a later search must not find this copy.
                defer { wipe(window) }
                let own = UInt(bitPattern: window.baseAddress)..<UInt(bitPattern: window.baseAddress) + UInt(window.count)
                var found = 0
                for line in maps.split(separator: "\n") {
                    let fields = line.split(separator: " ")
                    let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
                    guard fields[1].hasPrefix("rw"), ends.count == 2 else { continue }
                    var at = ends[0]
                    while at < ends[1] {
                        // The window itself is left out.
                        if own.contains(at) { at = own.upperBound }
                        let limit = at < own.lowerBound ? min(ends[1], own.lowerBound) : ends[1]
                        let wanted = min(window.count, Int(max(limit, at) - at))
                        let length = pread(memory, window.baseAddress, wanted, off_t(at))
                        guard length > 0 else { break }
                        let piece = UnsafeRawBufferPointer(rebasing: window[..<length])
                        for needle in needles { found += needle.occurrences(in: piece) }
                        wipe(UnsafeMutableRawBufferPointer(rebasing: window[..<length]))
                        at += UInt(length) == limit - at ? UInt(length) : UInt(max(1, length - longest + 1))
                    }
                }
                return found
            }
        }
    }
#endif
