#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// The database's file is removed, or another one takes its place, while it is open: a change is never lost without a word.
    @Suite(.inTurn) struct ReplacementTests {
        private func remove(_ place: Place, _ suffixes: [String]) {
            for suffix in suffixes { try? FileManager.default.removeItem(atPath: place.path + suffix) }
        }

        /// Changes until one is applied.
        private func putAtLast(_ store: SQLiteStore, _ text: String, at name: String) async throws -> [MutationResult] {
            var results: [MutationResult] = []
            for _ in 0..<4 {
                let result = try await store.apply(.text(text, at: name))
                results.append(result)
                if result.isApplied { break }
                #expect(result.error?.outcome == .notApplied, "\(result)")
            }
            return results
        }

        @Test(.timeLimit(.minutes(10))) func `a database that was removed whole while it was open is made anew by a later change`()
            async throws
        {
            let place = try Place()
            let store = place.store()
            try await store.put("old", at: "name")
            remove(place, ["", "-wal", "-shm"])
            let results = try await putAtLast(store, "new", at: "name")
            #expect(results.last?.isApplied == true, "\(results)")
            #expect(try await place.store().text("name") == "new")
            #expect(try await store.text("name") == "new")
            await store.close()
            #expect(try await place.check() == 1)
        }

        @Test(.timeLimit(.minutes(10))) func `a database whose file alone was removed is never made anew beside its log`() async throws {
            let place = try Place()
            let store = place.store()
            try await store.put("old", at: "name")
            #expect(place.logLength > 0)
            remove(place, [""])
            for _ in 0..<3 {
                let result = try await store.apply(.text("new", at: "name"))
                #expect(!result.isApplied && result.error?.outcome == .notApplied, "\(result)")
                #expect(!place.exists)
            }
            #expect(try await store.apply(.delete(StorageAddress("other"))).error?.code == .corrupted)
        }

        @Test(.timeLimit(.minutes(10))) func `a database that took the place of an open one gets the next change, and keeps its own`()
            async throws
        {
            let place = try Place()
            let store = place.store()
            try await store.put("old", at: "name")
            // What is deleted is wiped out of the log, which is empty then.
            _ = try await store.apply(.delete(StorageAddress("name")))
            #expect(place.logLength == 0)
            remove(place, [""])
            // Another program makes a new one, whose log has the old one's name.
            let other = place.store()
            try await other.put("theirs", at: "their name")
            #expect(place.logLength > 0)

            let results = try await putAtLast(store, "ours", at: "our name")
            #expect(results.last?.isApplied == true, "\(results)")
            for reader in [store, other, place.store()] {
                #expect(try await reader.text("our name") == "ours")
                #expect(try await reader.text("their name") == "theirs")
            }
            await store.close()
            #expect(try await other.text("their name") == "theirs")
            await other.close()
            #expect(try await place.check() == 2)
        }

        @Test(.timeLimit(.minutes(10))) func `closing a store whose file was replaced leaves the new one alone`() async throws {
            let place = try Place()
            let store = place.store()
            try await store.put("old", at: "name")
            _ = try await store.apply(.delete(StorageAddress("name")))
            remove(place, [""])
            let other = place.store()
            try await other.put("theirs", at: "their name")
            await store.close()
            #expect(try await other.text("their name") == "theirs")
            #expect(try await place.store().text("their name") == "theirs")
            await other.close()
            #expect(try await place.check() == 1)
        }

        @Test(.timeLimit(.minutes(10)), arguments: [true, false])
        func `a backup that is put back while the database is open gets the next change`(withLog: Bool) async throws {
            let place = try Place()
            let first = place.store()
            try await first.put("backed up", at: "name")
            await first.close()
            try FileManager.default.copyItem(atPath: place.path, toPath: place.folder + "/backup")
            let store = place.store()
            try await store.put("later", at: "name")
            try await store.put("later", at: "later")
            if !withLog { remove(place, ["-wal", "-shm"]) }
            #expect(rename(place.folder + "/backup", place.path) == 0)
            let results = try await putAtLast(store, "ours", at: "our name")
            if results.last?.isApplied == true {
                #expect(try await place.store().text("our name") == "ours")
                #expect(try await store.text("our name") == "ours")
                await store.close()
                #expect(try await place.store().text("our name") == "ours")
            } else {
                // A backup beside somebody else's log: refused is as good as stored, silence is not.
                #expect(withLog, "\(results)")
            }
            print(
                "a backup put back \(withLog ? "beside the old log" : "whole"): \(results.last?.isApplied == true ? "stored" : "refused") at try \(results.count)"
            )
        }
    }
#endif
