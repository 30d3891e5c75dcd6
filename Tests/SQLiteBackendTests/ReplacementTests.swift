#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// Tests of a database file that is removed or replaced while it is open. No change may be lost without an error.
    @Suite(.inTurn) struct ReplacementTests {
        private func remove(_ place: Place, _ suffixes: [String]) {
            for suffix in suffixes { try? FileManager.default.removeItem(atPath: place.path + suffix) }
        }

        /// Repeats a change until it is applied, at most four times. Returns all results.
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

        @Test(.timeLimit(.minutes(10))) func `a database that was removed while open is created again by a later change`()
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

        @Test(.timeLimit(.minutes(10))) func `a database file that was removed without its log is not created again`() async throws {
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

        @Test(.timeLimit(.minutes(10))) func `a database that replaced an open one gets the next change and keeps its values`()
            async throws
        {
            let place = try Place()
            let store = place.store()
            try await store.put("old", at: "name")
            // A deletion wipes the value out of the log and empties the log.
            _ = try await store.apply(.delete(StorageAddress("name")))
            #expect(place.logLength == 0)
            remove(place, [""])
            // Another program creates a database, whose log has the path of the old log.
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

        @Test(.timeLimit(.minutes(10))) func `closing a store whose file was replaced leaves the new file unchanged`() async throws {
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
        func `a backup that is restored while the database is open gets the next change, or the change fails with an error`(
            withLog: Bool
        ) async throws {
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
                // The backup is next to the log of another file. An error is acceptable, a silent loss is not.
                #expect(withLog, "\(results)")
            }
            print(
                "a backup put back \(withLog ? "beside the old log" : "whole"): \(results.last?.isApplied == true ? "stored" : "refused") at try \(results.count)"
            )
        }
    }
#endif
