#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// Tests that acknowledged changes survive a kill, a failed flush, and a full disk.
    @Suite(.inTurn, .serialized, .slow("kills processes at every system call"), .tags(.process)) struct DurabilityTests {
        /// The number of rounds of a test that kills processes.
        private static let rounds = max(4, Int(4 * LawSettings().factor))

        // MARK: kill -9

        @Test(.timeLimit(.minutes(10))) func `kill -9 during group commits loses no acknowledged batch and tears none`()
            async throws
        {
            let place = try Place()
            let writers = 8
            var (acknowledged, landed) = (0, 0)
            var begun = [Int](repeating: 0, count: writers)
            for round in 0..<Self.rounds {
                let probe = try place.probe("serve", ["\(writers)"])
                // Kill at different times: early, late,
                // and in every third round before or right after the first acknowledgement.
                await probe.wait(forLines: round % 3 == 0 ? round % 2 : 5 + (round * 37) % 120)
                let lines = await probe.kill()
                var last = [Int](repeating: 0, count: writers)
                for line in lines {
                    let words = line.split(separator: " ").compactMap { Int($0) }
                    try #require(words.count == 2, "round \(round): \(line)")
                    last[words[0]] = words[1]
                }
                acknowledged += lines.count
                // No process closed the database, so its log has the last changes.
                // In odd rounds this store is not closed either, so that the next round starts with the log.
                let store = place.store()
                for writer in 0..<writers {
                    let probes = try await store.read([StorageAddress("left \(writer)"), StorageAddress("right \(writer)")], .fresh)
                    #expect(probes[0].text == probes[1].text, "round \(round): a torn batch")
                    let number = probes[0].text.flatMap { Int($0.prefix { $0 != " " }) } ?? 0
                    if last[writer] > 0 {
                        #expect(
                            number == last[writer] || number == last[writer] + 1,
                            "round \(round): \(last[writer]) was acknowledged, \(number) stands")
                        if number > last[writer] { landed += 1 }
                    } else {
                        // No change was acknowledged in this round.
                        // The slot has its earlier value, or the first value of this round.
                        #expect(number == begun[writer] || number == 1, "round \(round): \(number)")
                    }
                    begun[writer] = number
                }
                if round % 2 == 0 {
                    await store.close()
                    // A process that was killed early has created no database.
                    if place.exists { try await place.check("round \(round)") }
                    #expect(place.exists || lines.isEmpty)
                }
            }
            print("kill -9: \(Self.rounds) rounds, \(acknowledged) acknowledged batches, \(landed) unacknowledged ones landed whole")
        }

        @Test(.timeLimit(.minutes(10))) func `kill -9 during creation leaves no database or a complete one`() async throws {
            // The system calls by which creation changes names and files.
            // Any of them may be the last call of the process.
            let calls = "pwrite64,fsync,fdatasync,?link,?linkat,?unlink,?unlinkat,ftruncate,?mkdir,?mkdirat,flock"
            let count = try await creationCalls(calls)
            #expect(count > 10)
            var (none, whole) = (0, 0)
            for number in sample(1...count, 10) {
                let place = try Place()
                let probe = try place.probe(
                    "create", ["name"],
                    under: [
                        "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(calls)", "-e",
                        "inject=\(calls):signal=KILL:when=\(number)",
                    ])
                #expect(try await probe.line() == "ready")
                try? probe.send("go")
                let lines = await probe.end().lines
                if place.exists {
                    whole += 1
                    try await place.check("killed at \(number)")
                } else {
                    none += 1
                    #expect(!lines.contains("applied"))
                }
                let store = place.store()
                if lines.contains("applied") { #expect(try await store.text("name") == "name", "killed at \(number)") }
                try await store.put("after", at: "other")
                #expect(try await place.store().text("other") == "after")
                await store.close()
                let files = try FileManager.default.contentsOfDirectory(atPath: place.folder + "/data")
                #expect(files.allSatisfy { !$0.hasPrefix(".") }, "killed at \(number): \(files)")
                try await place.check("killed at \(number), then used")
            }
            print("kill -9 during creation: \(none + whole) places of \(count) calls; \(none) without, \(whole) with a database")
        }

        private func creationCalls(_ calls: String) async throws -> Int {
            let place = try Place()
            let record = place.folder + "/trace"
            let probe = try place.probe("create", ["name"], under: ["strace", "-f", "-qq", "-o", record, "-e", "trace=\(calls)"])
            #expect(try await probe.line() == "ready")
            #expect(try await probe.ask("go") == "applied")
            _ = await probe.end()
            return try Trace(record).calls.count { !$0.name.isEmpty }
        }

        // MARK: Flushes

        @Test(.timeLimit(.minutes(10)))
        func `a change is flushed before it is acknowledged, and waiting changes share their flushes`() async throws {
            let place = try Place()
            let trace = try await Trace.record(place)
            let single = trace.calls(in: "single").count(where: \.isFlush)
            // Only the log is flushed, and only once. It is written back to the database later.
            #expect(single == 1)
            #expect(trace.calls(in: "single").filter(\.isFlush).allSatisfy { $0.file.hasSuffix("store.sqlite-wal") })
            let group = trace.calls(in: "group").count(where: \.isFlush)
            #expect(group >= 1 && group <= 16)
            print("flushes: \(single) for a lone put, \(group) for 64 puts at once")
        }

        @Test(.timeLimit(.minutes(10))) func `every commit and every checkpoint holds the store lock, even the checkpoint at close`()
            async throws
        {
            let place = try Place()
            let trace = try await Trace.record(place)
            // The worker marks the phases in the trace. A lock may be taken in one phase and released in a later one.
            var isHeld = false
            var unguarded: [String] = []
            for call in trace.calls {
                if call.name == "flock", call.succeeded, call.file == place.lockPath { isHeld = true }
                if call.name == "close", call.file == place.lockPath { isHeld = false }
                if Self.isWrite(call, to: place), !isHeld { unguarded.append("\(call)") }
            }
            #expect(unguarded == [])
            for phase in ["single", "group", "remove", "long"] {
                #expect(trace.calls(in: phase).contains { Self.isWrite($0, to: place) }, "\(phase)")
            }
            // The log was written back to the database while the store was open, and again at close.
            #expect(trace.calls(in: "long").contains { $0.isChange && $0.file == place.path })
            #expect(trace.calls(in: "close").contains { $0.isChange && $0.file == place.path })
        }

        private static func isWrite(_ call: Trace.Call, to place: Place) -> Bool {
            call.isChange && call.file.hasPrefix(place.path) && !call.file.hasSuffix("-shm")
        }

        @Test func `existing folders are flushed too, because the process that created them may have been killed before it flushed them`()
            async throws
        {
            let place = try Place()
            for folder in ["data", "keys", "state"] {
                try FileManager.default.createDirectory(
                    atPath: "\(place.folder)/\(folder)", withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
            }
            // The first run creates the database, the second one opens it.
            for run in 1...2 {
                let record = "\(place.folder)/flushed \(run)"
                let probe = try place.probe(
                    "puts", ["\(run)", "1", "10"], under: ["strace", "-f", "-y", "-qq", "-o", record, "-e", "trace=fsync"])
                #expect(await probe.end().lines.first == "put 0 applied")
                let calls = try String(contentsOfFile: record, encoding: .utf8)
                for folder in [
                    "\(place.folder)/data", place.folder,
                    URL(filePath: place.folder).deletingLastPathComponent().path(percentEncoded: false),
                ] {
                    let name = folder.hasSuffix("/") ? String(folder.dropLast()) : folder
                    #expect(calls.contains("<\(name)>)"), "run \(run): \(name) was not flushed")
                }
            }
        }

        // MARK: Failing disks

        /// Runs the worker command `puts`. Returns the result of each change, and the later content of each slot.
        private func puts(
            _ place: Place, _ prefix: String, _ count: Int, size: Int = 100, under wrapper: [String]
        ) async throws
            -> (results: [String], found: [String])
        {
            let probe = try place.probe("puts", [prefix, "\(count)", "\(size)"], under: wrapper)
            let ended = await probe.end()
            let lines = ended.lines
            let results = lines.filter { $0.hasPrefix("put ") }.map { $0.split(separator: " ", maxSplits: 2).last.map(String.init) ?? "" }
            let found = lines.filter { $0.hasPrefix("get ") }.map { $0.split(separator: " ", maxSplits: 2).last.map(String.init) ?? "" }
            try #require(results.count == count && found.count == count, "\(lines.suffix(3)) \(ended.stderr)")
            return (results, found)
        }

        /// Checks every result against the content that the worker read and that a new store reads.
        private func verify(_ place: Place, _ prefix: String, _ results: [String], _ found: [String]) async throws {
            let store = place.store()
            for (number, (result, found)) in zip(results, found).enumerated() {
                let probes = try await store.read([StorageAddress("\(prefix) \(number)"), StorageAddress("\(prefix) \(number)'")], .fresh)
                let texts = probes.map { $0.text.map { String($0.prefix { $0 != " " }) } ?? ($0 == .absent ? "absent" : "\($0)") }
                #expect(texts[0] == texts[1], "\(prefix) \(number): torn")
                switch result {
                case "applied":
                    #expect(texts[0] == "\(number)", "\(prefix) \(number) is lost")
                    #expect(found.hasPrefix("\(number) "), "\(prefix) \(number): \(found)")
                case let text where text.hasSuffix("unknown"):
                    #expect(["\(number)", "absent"].contains(texts[0]), "\(prefix) \(number): \(texts)")
                default: #expect(texts[0] == "absent", "\(prefix) \(number): \(result), but \(texts)")
                }
            }
            try await store.put("works", at: "after \(prefix)")
            await store.close()
            try await place.check(prefix)
        }

        @Test(
            .timeLimit(.minutes(10)),
            arguments: [
                // After a failed flush, the store overwrites what it had written to the log.
                // The change is therefore not applied.
                ("fdatasync", "EIO", ["failed failed notApplied"]), ("fdatasync", "ENOSPC", ["failed failed notApplied"]),
                ("pwrite64", "ENOSPC", ["failed noSpace notApplied"]),
                ("pwrite64", "EIO", ["failed failed notApplied", "failed failed unknown"]),
            ]) func `a failed write or flush reports the correct outcome, and the store works afterwards`(
                call: String, error: String, expected: [String]
            )
            async throws
        {
            let place = try Place()
            let before = place.store()
            for number in 0..<20 { try await before.put("old \(number)", at: "old \(number)") }
            await before.close()
            var failures: [String: Int] = [:]
            // strace counts the calls of each thread, and the work of the lane moves between threads.
            // Several numbers make sure that some calls fail.
            for place_ in [2, 3, 7] {
                let prefix = "\(call)-\(error)-\(place_)"
                let (results, found) = try await puts(
                    place, prefix, 40,
                    under: [
                        "strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=\(call)", "-e",
                        "inject=\(call):error=\(error):when=\(place_)",
                    ])
                for result in results where result != "applied" { failures[result, default: 0] += 1 }
                // The fault occurs once per thread. The store continues after each failure.
                #expect(results.count { $0 == "applied" } >= 30, "\(results)")
                try await verify(place, prefix, results, found)
            }
            #expect(!failures.isEmpty)
            #expect(Set(expected).isSuperset(of: failures.keys), "\(failures)")
            let store = place.store()
            for number in 0..<20 { #expect(try await store.text("old \(number)") == "old \(number)") }
            await store.close()
            print("\(call) \(error): \(failures)")
        }

        @Test(.timeLimit(.minutes(10)))
        func `on a full disk changes fail as noSpace and no value is lost, and changes work again once space is freed`()
            async throws
        {
            let holder = try TemporaryDirectory()
            let mounted = try await run("mount", ["-t", "tmpfs", "-o", "size=2m,mode=0700", "tmpfs", holder.path])
            try #require(mounted.status == 0, "This test mounts a small file system and so has to run as root: \(mounted.stderr)")
            let outcome = await fullDisk(Place(folder: holder.path))
            let unmounted = try await run("umount", ["-l", holder.path])
            #expect(unmounted.status == 0, "\(unmounted.stderr)")
            try outcome.get()
        }

        private func fullDisk(_ place: Place) async -> Result<Void, any Error> {
            do {
                let filler = place.folder + "/filler"
                try Data(count: 300_000).write(to: URL(filePath: filler))
                let store = place.store(deadline: .seconds(30))
                var stored: [Int] = []
                var refused = 0
                let text = String(repeating: "y", count: 20_000)
                for number in 0..<200 {
                    let result = try await store.apply([
                        .text("\(number) \(text)", at: "name \(number)"), .text("\(number)", at: "name \(number)'"),
                    ])
                    if result.allSatisfy(\.isApplied) {
                        stored.append(number)
                        continue
                    }
                    refused += 1
                    #expect(result[0].error?.code == .noSpace, "\(result[0])")
                    #expect(result[0].error?.outcome == .notApplied)
                    if refused == 5 { break }
                }
                #expect(stored.count > 10 && refused == 5)
                // A removal needs space in the log and may fail. No other value may be lost.
                let removal = try await store.apply(.delete(StorageAddress("name 0'")))
                for number in stored where number > 0 { #expect(try await store.text("name \(number)'") == "\(number)") }
                let other = place.store()
                for number in stored where number > 0 { #expect(try await other.text("name \(number)")?.hasPrefix("\(number) ") == true) }
                try FileManager.default.removeItem(atPath: filler)
                // A small change succeeds at once, although the log has not been written back yet.
                try await store.put("there is room", at: "after")
                #expect(try await other.text("after") == "there is room")
                await other.close()
                await store.close()
                try await place.check("after a full disk")
                print(
                    "full disk: \(stored.count) batches stored, then refused; a removal on the full disk: \(removal.isApplied ? "applied" : "\(removal)")"
                )
                return .success(())
            } catch { return .failure(error) }
        }
    }
#endif
