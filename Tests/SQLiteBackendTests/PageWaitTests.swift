#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// A read on the caller's thread waits for no disk: what is not in the system's memory is read on a lane.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct PageWaitTests {
        /// Counts what a lane is given.
        private struct CountingLane: Lane {
            let base: DispatchLane
            let count: Shared<Int>

            func enqueue(_ work: @escaping @Sendable () -> Void) {
                count.count()
                base.enqueue(work)
            }
        }

        /// Drops what the system keeps of a file in memory, from another process: closing the file in this one would drop SQLite's locks.
        private func evict(_ path: String) async throws {
            let result = try await run("dd", ["of=\(path)", "oflag=nocache", "conv=notrunc,fdatasync", "count=0"])
            try #require(result.status == 0, "\(result.stderr)")
        }

        /// Whether the file system can tell what is in memory.
        private func canTell(_ path: String) async throws -> Bool {
            let script = """
                import os, sys
                try: os.preadv(os.open(sys.argv[1], os.O_RDONLY), [bytearray(1)], 0, os.RWF_NOWAIT)
                except BlockingIOError: pass
                except OSError: sys.exit(1)
                """
            return try await run("/usr/bin/python3", ["-c", script, path]).status == 0
        }

        @Test func `rows whose pages are not in memory are read on a lane, and the others are not`() async throws {
            let place = try Place()
            let names = (0..<4_000).map { "name \($0)" }
            let writer = place.store()
            let filler = String(repeating: ".", count: 400)
            for start in stride(from: 0, to: names.count, by: 500) {
                let part = names[start..<start + 500]
                #expect(try await writer.apply(part.map { .text("\($0) \(filler)", at: $0) }).allSatisfy(\.isApplied))
            }
            await writer.close()

            let reads = Shared(0)
            var runtime = Runtime.live
            runtime.makeLane = { label in
                CountingLane(base: DispatchLane(label: label), count: label.hasSuffix(".read") ? reads : Shared(0))
            }
            let store = place.store(runtime: runtime)
            #expect(try await store.text(names[0]) == "\(names[0]) \(filler)")
            let wanted = stride(from: 1, to: names.count, by: 200).map { names[$0] }
            try await evict(place.path)
            let before = reads.number
            for name in wanted { #expect(try await store.text(name) == "\(name) \(filler)") }
            let slow = reads.number - before
            if try await canTell(place.path) {
                #expect(slow > 0, "pages that were on the disk alone were read on the caller's thread")
                // They are in memory now.
                let again = reads.number
                for name in wanted { #expect(try await store.text(name) == "\(name) \(filler)") }
                #expect(reads.number == again)
            } else {
                #expect(slow == 0)
            }
            await store.close()
        }
    }
#endif
