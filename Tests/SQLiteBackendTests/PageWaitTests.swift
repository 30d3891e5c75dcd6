#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// Tests that a read on the caller's thread never waits for the disk.
    /// Pages of the file that are not in the page cache of the system are read on a lane,
    /// a serial queue for blocking work.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct PageWaitTests {
        /// Counts the pieces of work of a lane.
        private struct CountingLane: Lane {
            let base: DispatchLane
            let count: Shared<Int>

            func enqueue(_ work: @escaping @Sendable () -> Void) {
                count.count()
                base.enqueue(work)
            }
        }

        /// Drops a file from the page cache of the system.
        /// Another process does it: closing the file in this process would drop SQLite's locks.
        private func evict(_ path: String) async throws {
            let result = try await run("dd", ["of=\(path)", "oflag=nocache", "conv=notrunc,fdatasync", "count=0"])
            try #require(result.status == 0, "\(result.stderr)")
        }

        /// Returns whether the file system can report whether a page is in memory.
        private func canTell(_ path: String) async throws -> Bool {
            let script = """
                import os, sys
                try: os.preadv(os.open(sys.argv[1], os.O_RDONLY), [bytearray(1)], 0, os.RWF_NOWAIT)
                except BlockingIOError: pass
                except OSError: sys.exit(1)
                """
            return try await run("/usr/bin/python3", ["-c", script, path]).status == 0
        }

        @Test func `rows whose pages are not in memory are read on a lane, and other rows are not`() async throws {
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
                // The pages are in memory now.
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
