#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import TestSupport
    import Testing

    /// Tests of a process that is killed between writing a transaction to the log and adding it to the log's index.
    /// The next recovery would replay the transaction, although other processes got answers without it.
    @Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct UnnamedTransactionTests {
        /// A call of another process whose answer does not include the transaction of the killed process.
        enum Answer: CaseIterable {
            case removal, check, refusal, flush, change, read, list

            func give(_ store: SQLiteStore) async throws {
                switch self {
                case .removal: #expect(try await store.apply(.delete(StorageAddress("b 0"))).isApplied)
                case .check: #expect(try await store.apply([.check(StorageAddress("b 0"), if: .absent)])[0].isApplied)
                case .refusal: #expect(try await !store.apply(.text("3", at: "a", if: .absent)).isApplied)
                case .flush: #expect(try await store.synchronize() == .durable)
                case .change: try await store.put("2", at: "a")
                case .read: #expect(try await store.text("b 0") == nil)
                case .list: #expect(try await store.addresses(in: .values) == [StorageAddress("a")])
                }
            }
        }

        /// Reads a copy of the database and its log without the index, as after a restart of the machine.
        private func atNextStart(_ place: Place) async throws -> (killed: String?, other: String?) {
            let copy = try Place()
            let files = FileManager.default
            for folder in ["data", "keys", "state"] {
                try files.copyItem(atPath: "\(place.folder)/\(folder)", toPath: "\(copy.folder)/\(folder)")
            }
            try files.removeItem(atPath: copy.path + "-shm")
            let store = copy.store()
            let found = (try await store.text("b 0"), try await store.text("a"))
            await store.close()
            return found
        }

        private func digests(_ place: Place) throws -> [Data] {
            try [place.path, place.logPath].map { try Data(contentsOf: URL(filePath: $0)) }
        }

        @Test(arguments: Answer.allCases)
        func `a transaction that a killed process left in the log does not come back after another process got an answer`(
            _ answer: Answer
        ) async throws {
            let place = try Place()
            let store = place.store()
            try await store.put("1", at: "a")
            let probe = try place.probe(
                "puts", ["b", "1", "5000"],
                under: ["strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=fdatasync", "-e", "inject=fdatasync:signal=KILL:when=1"])
            #expect(await probe.end().lines == [])
            #expect(try await atNextStart(place).killed != nil, "the kill left no transaction in the log, so the test is void")

            try await answer.give(store)
            let next = try await atNextStart(place)
            #expect(next.killed == nil)
            #expect(next.other == (answer == .change ? "2" : "1"))

            // After the first answer the log is settled. A further answer that changes nothing writes nothing.
            let before = try digests(place)
            if answer != .change { try await answer.give(store) }
            #expect(try digests(place) == before)
            await store.close()
            try await place.check()
        }
    }
#endif
