#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// Tests of the sealed state: the encrypted record of the number of commits and of all rows.
    /// Every transaction updates it. If it differs from the rows, later changes keep the difference.
    /// The independent reader checks the state.
    @Suite(.inTurn, .serialized) struct StateTests {
        private let place: Place
        private let store: SQLiteStore

        init() throws {
            place = try Place()
            store = place.store()
        }

        /// Returns the state, after the independent reader has compared it with the rows.
        private func state() async throws -> Dump.State { try await Reader.dump(place.path, place.keyPath).state }

        private func write<R>(_ body: (PlainDatabase) throws -> R) throws -> R {
            try SealedDatabase(path: place.path, keyFile: place.keyPath).write(body)
        }

        @Test func `every kind of change is one commit, and the state counts the rows`() async throws {
            let labelled = StorageAddress("labelled", in: StorageNamespace("shelf"))
            let metadata = StorageMetadata(typeTag: "note", modifiedAt: 1, attributes: ["a": "b"])
            let changes: [(name: String, mutations: [StorageMutation], rows: Int64)] = [
                ("a first value", [.text("1", at: "first")], 1),
                ("a replaced value", [.text("2", at: "first")], 1),
                ("several values", [.text("3", at: "first"), .text("1", at: "second"), .text("1", at: "third")], 3),
                ("a value with labels", [.put(.bytes([1]), metadata, at: labelled)], 4),
                ("a tombstone in place of a value", [.tombstone(at: StorageAddress("second"))], 4),
                ("a removal", [.delete(StorageAddress("first")), .delete(labelled)], 2),
                ("a removal of nothing", [.delete(StorageAddress("first"))], 2),
                ("a check", [.check(StorageAddress("third"), if: .none)], 2),
                ("a refused batch", [.text("4", at: "fourth"), .text("1", at: "third", if: .absent)], 2),
            ]
            var commits: Int64 = 0
            for change in changes {
                let results = try await store.apply(change.mutations)
                let changesNothing = ["a removal of nothing", "a check", "a refused batch"].contains(change.name)
                if !changesNothing {
                    commits += 1
                    for result in results { #expect(result.isApplied, "\(change.name)") }
                }
                #expect(try await self.state() == Dump.State(commits: commits, rows: change.rows, isAnchored: false), "\(change.name)")
            }
            await store.close()
            #expect(try await state().commits == commits)
        }

        @Test func `two stores that write in turn continue one state`() async throws {
            let other = place.store()
            for round in 0..<6 {
                let writer = round % 2 == 0 ? store : other
                try await writer.put("\(round)", at: "shared")
                try await writer.put("\(round)", at: "own \(round)")
                let state = try await state()
                #expect(state.commits == Int64(2 * round + 2) && state.rows == Int64(round + 2), "round \(round): \(state)")
            }
            await store.close()
            await other.close()
        }

        @Test func `a call that is rolled back in its group leaves no trace in the state`() async throws {
            try await store.put("x", at: "there")
            // Calls that wait together share one transaction. Refused calls are rolled back separately.
            await withTaskGroup { group in
                for number in 0..<40 {
                    group.addTask { [store] in
                        let name = "n\(number)"
                        let condition = number % 3 == 0 ? StorageMutation.Precondition.absent : .none
                        _ = try? await store.apply([
                            .text("v", at: name), .text("v", at: number % 3 == 0 ? "there" : "m\(number)", if: condition),
                        ])
                    }
                }
            }
            let state = try await state()
            #expect(state.rows == 1 + 2 * 26)
            #expect(state.commits >= 2 && state.commits <= 27)
            await store.close()
        }

        @Test func `a database whose state is damaged or missing is refused until its contents are accepted`() async throws {
            try await store.put("1", at: "name")
            await store.close()
            let stored = try write { try $0.value("SELECT sealed FROM state")?.blob }
            let sealed = try #require(stored)
            var flipped = sealed
            flipped[30] ^= 1
            for damage: Data? in [flipped, sealed.prefix(40), Data(), nil] {
                try write { database in
                    try database.execute("DELETE FROM state")
                    if let damage { try database.execute("INSERT INTO state VALUES (1, ?)", [damage]) }
                }
                let store = place.store()
                guard case .unavailable(let error) = try await store.probes([StorageAddress("name")])[0] else {
                    Issue.record("it was read")
                    continue
                }
                #expect(error.code == .corrupted && error.reason.contains("acceptContents"))
                #expect(try await !store.apply(.text("2", at: "name")).isApplied)
                let now = try write { try $0.value("SELECT sealed FROM state")?.blob }
                #expect(now == damage)
                try await store.acceptContents()
                #expect(try await store.text("name") == "1")
                #expect(try await store.verifyIntegrity { _ in }?.isSound == true)
                await store.close()
            }
        }

        @Test func `a row that another program changed stays detectable after any later writes`() async throws {
            try await store.put("old", at: "name")
            try await store.put("beside", at: "other")
            await store.close()
            let columns = "slot, version, sealed"
            let rows = try write { try RawRecord.all($0) }
            let old = try #require(rows.first)
            let again = place.store()
            for name in ["name", "other"] { try await again.put("new", at: name) }
            await again.close()
            _ = try await state()
            try write {
                try $0.execute("UPDATE records SET (\(columns)) = (?, ?, ?) WHERE id = ?", [old.slot, old.version, old.sealed, old.id])
            }
            let later = place.store()
            for name in ["name", "other", "third"] { try await later.put("later", at: name) }
            for name in ["name", "other", "third"] { #expect(try await later.apply(.delete(StorageAddress(name))).isApplied) }
            await later.close()
            await #expect(throws: ProgramFailure.self) { try await Reader.dump(place.path, place.keyPath) }
        }
    }
#endif
