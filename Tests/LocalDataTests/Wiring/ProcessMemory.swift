#if os(Linux)
    import BackendRuntime
    import Foundation
    import Glibc
    import Sealing

    /// The open descriptors, threads and memory contents of the test process.
    enum ProcessMemory {
        /// The targets of the open descriptors, without those that Dispatch and the concurrency runtime open once for
        /// internal use.
        static var openFiles: [String] {
            let numbers = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
            let own = ["anon_inode:[timerfd]", "anon_inode:[eventfd]", "anon_inode:[eventpoll]"]
            return numbers.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
                .filter { !own.contains($0) }.sorted()
        }

        /// The number of open descriptors, without those that `openFiles` leaves out.
        static var descriptors: Int { openFiles.count }

        /// The number of threads.
        static var threads: Int { count("/proc/self/task") }

        private static func count(_ directory: String) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: directory).count) ?? 0
        }

        /// Bytes to search for in memory. They are stored masked, so that a search does not find this object itself.
        struct Needle: Sendable {
            private static let mask: UInt8 = 0xA7
            fileprivate var masked: [UInt8]

            /// Copies and masks bytes. The caller must wipe the original.
            init(_ bytes: UnsafeRawBufferPointer) { masked = bytes.map { $0 ^ Self.mask } }

            /// Takes bytes that another process has masked with the same mask.
            init(masked bytes: some Collection<UInt8>) { masked = Array(bytes) }

            /// Returns two halves of the sealing key in a key file. No copy of the key remains in memory.
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

            /// Decodes base64 digits. Returns false if they do not fill the buffer exactly.
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

            /// Returns how often the bytes occur in a piece of memory.
            ///
            /// The search finds one byte that is rare in text and empty memory, and compares the other bytes masked.
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

        /// Overwrites the stacks of pool threads, and of ended threads, which the C library keeps for new threads.
        ///
        /// These stacks contain old registers and frames until they are used again.
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

        /// Clears about a kilobyte of stack in each of the given number of frames.
        @inline(never) private static func clearStack(_ frames: Int) -> Int {
            withUnsafeTemporaryAllocation(byteCount: 1_000, alignment: 16) { frame in
                wipe(frame)
                return frames == 0 ? 0 : clearStack(frames - 1) + Int(frame[0])
            }
        }

        /// Returns how often any of the needles occurs in the writable memory of this process.
        static func occurrences(of needles: [Needle]) throws -> Int {
            let maps = try String(contentsOfFile: "/proc/self/maps", encoding: .utf8)
            let memory = open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
            guard memory >= 0 else { throw CocoaError(.fileReadNoPermission) }
            defer { close(memory) }
            let longest = needles.map(\.masked.count).max() ?? 0
            return withUnsafeTemporaryAllocation(byteCount: 1 << 20, alignment: 16) { window in
                // Wipe the copied memory, so that a later search does not find this copy.
                defer { wipe(window) }
                let own = UInt(bitPattern: window.baseAddress)..<UInt(bitPattern: window.baseAddress) + UInt(window.count)
                var found = 0
                for line in maps.split(separator: "\n") {
                    let fields = line.split(separator: " ")
                    let ends = fields[0].split(separator: "-").compactMap { UInt($0, radix: 16) }
                    guard fields[1].hasPrefix("rw"), ends.count == 2 else { continue }
                    var at = ends[0]
                    while at < ends[1] {
                        // Skip the buffer (`window`) into which this search copies the memory.
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
