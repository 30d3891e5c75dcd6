#if os(Linux)
    import Foundation

    /// The memory of a stopped program, as a debugger wrote it to a core file (ELF, 64 bits).
    package struct CoreDump {
        /// A location where bytes were found.
        package struct Hit: Sendable, CustomStringConvertible {
            /// The address in the program.
            package let address: UInt64
            /// The segment of memory that has the location: its range, and whether it can be written and executed.
            package let segment: String
            package var description: String { "0x\(String(address, radix: 16)) in \(segment)" }
        }

        private struct Segment {
            let offset: UInt64
            let address: UInt64
            let size: UInt64
            let flags: UInt32
        }

        private let data: Data
        private let segments: [Segment]

        /// Opens a core file.
        package init(path: String) throws {
            let data = try Data(contentsOf: URL(filePath: path), options: .alwaysMapped)
            func number<Number: FixedWidthInteger>(_ offset: Int, _ type: Number.Type) -> Number {
                data.withUnsafeBytes { Number(littleEndian: $0.loadUnaligned(fromByteOffset: offset, as: type)) }
            }
            guard data.count > 64, data.starts(with: [0x7F, 0x45, 0x4C, 0x46, 2, 1]) else {
                throw ProgramFailure("\(path) is no core dump")
            }
            // The program headers: e_phoff, e_phentsize, e_phnum; of each p_type, p_flags, p_offset, p_vaddr, p_filesz.
            let (table, size, count) = (Int(number(32, UInt64.self)), Int(number(54, UInt16.self)), Int(number(56, UInt16.self)))
            segments = (0..<count).map { table + $0 * size }.filter { number($0, UInt32.self) == 1 }.map {
                Segment(
                    offset: number($0 + 8, UInt64.self), address: number($0 + 16, UInt64.self), size: number($0 + 32, UInt64.self),
                    flags: number($0 + 4, UInt32.self))
            }
            self.data = data
        }

        /// Returns every location of some bytes.
        package func hits(_ needle: some Collection<UInt8>) -> [Hit] {
            let needle = Array(needle)
            return data.withUnsafeBytes { all in
                guard let start = all.baseAddress else { return [] }
                let end = start + all.count - needle.count
                var (hits, from): ([Hit], UnsafeRawPointer) = ([], start)
                while from <= end, let found = memchr(from, Int32(needle[0]), end - from + 1) {
                    if memcmp(found, needle, needle.count) == 0 { hits.append(hit(UInt64(start.distance(to: UnsafeRawPointer(found))))) }
                    from = UnsafeRawPointer(found) + 1
                }
                return hits
            }
        }

        private func hit(_ offset: UInt64) -> Hit {
            guard let segment = segments.first(where: { ($0.offset..<$0.offset + $0.size).contains(offset) }) else {
                return Hit(address: offset, segment: "the dump's notes: registers")
            }
            func text(_ number: UInt64) -> String { String(number, radix: 16) }
            let rights = (segment.flags & 4 != 0 ? "r" : "-") + (segment.flags & 2 != 0 ? "w" : "-") + (segment.flags & 1 != 0 ? "x" : "-")
            return Hit(
                address: segment.address + offset - segment.offset,
                segment: "0x\(text(segment.address))-0x\(text(segment.address + segment.size)) \(rights)")
        }
    }

    /// Runs a program under gdb until it stops itself with SIGTRAP, and writes its memory to a file.
    /// The file also has the memory that the program freed, with its last content.
    ///
    /// gdb starts the program, because a setting of the kernel may forbid gdb to attach to a running program.
    package func dumpMemory(
        of command: [String], environment: [String: String]? = nil, to core: String
    ) async throws -> ProgramResult {
        let library = core + ".keeping.so"
        try writeFile(keepingAllocator, to: core + ".keeping.c")
        let built = try await run("clang", ["-shared", "-fPIC", "-o", library, core + ".keeping.c"])
        guard built.status == 0 else {
            throw ProgramFailure("clang, which is part of the Swift toolchain, cannot build a library: \(built)")
        }
        return try await run(
            "gdb",
            [
                "-nx", "-batch", "--readnever", "-iex", "set auto-load no", "-iex", "set debuginfod enabled off", "-ex",
                "set startup-with-shell off", "-ex", "set environment LD_PRELOAD \(library)", "-ex", "run", "-ex",
                "generate-core-file \(core)", "-ex", "kill", "--args",
            ] + command, environment: environment, limit: 240)
    }

    /// An allocator that never reuses freed memory.
    /// An ordinary allocator may reuse the memory of a secret, which hides that the secret was not overwritten.
    private let keepingAllocator = """
        #include <malloc.h>
        #include <string.h>

        void free(void *memory) { (void)memory; }

        void *realloc(void *old, size_t size) {
            size_t held = old == NULL ? 0 : malloc_usable_size(old);
            if (held >= size && size > 0) return old;
            void *new = malloc(size);
            if (new != NULL && held > 0) memcpy(new, old, held < size ? held : size);
            return new;
        }

        """
#endif
