#if SQLite
    import BackendContract
    import BackendRuntime
    import CSQLite
    import Foundation
    import TestSupport
    import Testing

    @testable import SQLiteBackend

    /// Calls for which SQLite does not get the memory that it needs, at each step of a transaction in turn.
    ///
    /// The limit of SQLite applies to a whole process, so each test runs in another process.
    @Suite(.slow("repeats calls hundreds of times"), .inTurn) struct MemoryLimitTests {
        /// The bytes that SQLite may allocate in addition to those that it has. A failed call is repeated with more.
        private static let steps = Array(stride(from: Int64(0), to: 24_000, by: 160)) + Array(stride(from: 24_000, to: 240_000, by: 4_000))

        private static func limited<R>(_ bytes: Int64, _ work: () async -> R) async -> R {
            sqlite3_hard_heap_limit64(sqlite3_memory_used() + max(bytes, 1))
            defer { sqlite3_hard_heap_limit64(0) }
            return await work()
        }

        private static func note(_ text: String, _ id: Int, _ colour: String) -> StorageMutation {
            let metadata = StorageMetadata(typeTag: "note", modifiedAt: Double(id) * 86_400, attributes: ["colour": colour])
            return .put(.bytes(Array(text.utf8)), metadata, at: address(id))
        }

        private static func address(_ id: Int) -> StorageAddress { StorageAddress("\(id)", in: StorageNamespace("notes")) }

        private static func texts(_ store: SQLiteStore) async throws -> [String?] {
            try await store.read((0..<4).map(address), .fresh).map(\.text)
        }

        /// Returns what a call reports, or the error that it throws.
        private static func outcome(_ store: SQLiteStore, _ mutations: [StorageMutation]) async -> Result<[MutationResult], BackendError> {
            do throws(BackendError) { return .success(try await store.apply(mutations)) } catch { return .failure(error) }
        }

        private static func changeRecords() async throws {
            let place = try Place()
            let store = place.store()
            _ = try await store.apply((0..<4).map { note("first", $0, "red") })
            var (failures, successes) = (0, 0)
            for (round, bytes) in steps.enumerated() {
                let before = try await texts(store)
                let (text, colour) = ("text \(round)", round % 2 == 0 ? "red" : "blue")
                // One call replaces, inserts or deletes records, so that the labels of the database change with each round.
                let changes = [
                    note(text, 0, colour), note(text, 1, colour), before[2] == nil ? note(text, 2, colour) : .delete(address(2)),
                ]
                let after = [text, text, before[2] == nil ? text : nil, before[3]]
                // SQLite keeps memory for later statements. A new connection has none.
                if round % 3 == 0 { await store.close() }
                let answer = await limited(bytes) { await outcome(store, changes) }
                let found = try await texts(store)
                switch answer {
                case .success(let results) where results.allSatisfy(\.isApplied):
                    successes += 1
                    #expect(found == after, "\(bytes)")
                case .success(let results):
                    failures += 1
                    for case .failed(let error) in results where error.outcome == .notApplied {
                        #expect(found == before, "\(bytes): \(error)")
                    }
                    #expect(found == before || found == after, "\(bytes): \(results)")
                case .failure(let error):
                    failures += 1
                    #expect(error.outcome == .notApplied ? found == before : found == before || found == after, "\(bytes): \(error)")
                }
            }
            #expect(failures > 20 && successes > 20, "\(failures) \(successes)")
            print("\(failures) calls failed, \(successes) succeeded")
            #expect(try await store.verifyIntegrity { _ in }?.isSound == true)
            await store.close()
            try await place.check()
        }

        @Test func `a change for which SQLite has not enough memory is made completely or not at all`() async {
            await #expect(processExitsWith: .success) { try await MemoryLimitTests.changeRecords() }
        }

        private static func rotate() async throws {
            let place = try Place()
            let store = place.store()
            for id in 0..<12 { _ = try await store.apply([note("text \(id)", id, "red")]) }
            try await store.put("value", at: "name")
            var failures = 0
            for bytes in steps {
                await store.close()
                let error = await limited(bytes) {
                    await failure { () throws(BackendError) in try await store.rotateDataKey(batch: 3) { _, _ in } }
                }
                failures += error == nil ? 0 : 1
                for id in 0..<12 {
                    #expect(try await store.read(address(id)).text == "text \(id)", "\(bytes): \(String(describing: error))")
                }
                #expect(try await store.text("name") == "value")
            }
            #expect(failures > 5)
            _ = try await store.rotateDataKey(batch: 3) { _, _ in }
            #expect(try await store.verifyIntegrity { _ in }?.isSound == true)
            await store.close()
            try await place.check()
        }

        @Test func `a rotation of the data key for which SQLite has not enough memory loses no value`() async {
            await #expect(processExitsWith: .success) { try await MemoryLimitTests.rotate() }
        }
    }
#endif
