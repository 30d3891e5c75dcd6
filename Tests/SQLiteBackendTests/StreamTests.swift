#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import Sealing
    import Synchronization
    import TestSupport
    import Testing

    @testable import SQLiteBackend

    extension StreamSource {
        /// Content that can be told at every place, and is never in memory as a whole.
        static func made(_ length: Int, seed: UInt8 = 1) -> StreamSource { StreamSource(length: length) { range in bytes(range, seed) } }

        static func bytes(_ range: Range<Int>, _ seed: UInt8) -> [UInt8] {
            let pattern = (0..<509).map { UInt8(truncatingIfNeeded: $0 &* 31) &+ seed }
            var bytes = [UInt8]()
            bytes.reserveCapacity(range.count)
            var place = range.lowerBound
            while place < range.upperBound {
                let start = place % pattern.count
                let end = min(pattern.count, start + range.upperBound - place)
                bytes += pattern[start..<end]
                place += end - start
            }
            return bytes
        }
    }

    extension SQLiteStore {
        /// Reads a large content chunk by chunk, and says whether it is the one that was made.
        func holds(_ length: Int, seed: UInt8 = 1, at address: StorageAddress) async throws -> Bool {
            guard let stream = try await stream(at: address), stream.length == length else { return false }
            var place = 0
            for number in 0..<stream.chunkCount {
                let chunk = try await chunk(number, of: stream)
                guard chunk == StreamSource.bytes(place..<place + chunk.count, seed) else { return false }
                place += chunk.count
            }
            return place == length
        }
    }

    /// Values with a large content in sealed chunks.
    @Suite(.inTurn) struct StreamTests {
        private let place: Place
        private let store: SQLiteStore
        private let large = StorageAddress("large")

        init() throws {
            place = try Place()
            store = place.store()
        }

        private func put(_ length: Int, seed: UInt8 = 1, at address: StorageAddress? = nil) async throws {
            let result = try await store.put(
                Array("small".utf8), StorageMetadata(serializer: "blob"), at: address ?? large, content: .made(length, seed: seed))
            #expect(result.isApplied, "\(result)")
        }

        private func chunks() throws -> Int64 { try PlainDatabase(path: place.path).value("SELECT count(*) FROM chunks")?.integer ?? -1 }

        private func report() async throws -> IntegrityReport { try #require(try await store.verifyIntegrity { _ in }) }

        @Test func `content of every length around a chunk is read as it was written`() async throws {
            for length in [0, 1, 127, 128, 65_535, 65_536, 65_537, 131_072, 200_000, 1 << 20] {
                try await put(length)
                #expect(try await store.holds(length, at: large), "\(length)")
                #expect(try await store.read(large).text == "small")
                #expect(try await report().isSound)
            }
            #expect(try await store.stream(at: StorageAddress("absent")) == nil)
            try await store.put("plain", at: "plain")
            #expect(try await store.stream(at: StorageAddress("plain")) == nil)
            await store.close()
            let dump = try await Reader.dump(place.path, place.keyPath)
            #expect(dump.features == ["chunks"])
            #expect(dump.records.first { $0.name == "large" }?.stream?.length == 1 << 20)
        }

        @Test func `twenty megabytes are written and read with one chunk in memory`() async throws {
            let length = 20 << 20
            let asked = Mutex(0)
            let source = StreamSource(length: length) { range in
                asked.withLock { $0 = max($0, range.count) }
                return StreamSource.bytes(range, 1)
            }
            #expect(try await store.put([], at: large, content: source).isApplied)
            #expect(asked.withLock(\.self) == SealedStream.chunkLength)
            #expect(try await store.holds(length, at: large))
            #expect(try chunks() == 320)
            #expect(try await store.apply(.delete(large)).isApplied)
            #expect(try chunks() == 0)
            await store.close()
        }

        @Test func `chunks go with their value, whatever takes its place`() async throws {
            for change in [StorageMutation.delete(large), .tombstone(at: large), .text("other", at: "large")] {
                try await put(100_000)
                try await put(70_000, seed: 2)
                #expect(try chunks() == 2)
                #expect(try await store.holds(70_000, seed: 2, at: large))
                let stale = try #require(try await store.stream(at: large))
                #expect(try await store.apply(change).isApplied)
                #expect(try chunks() == 0)
                #expect(try await store.stream(at: large) == nil)
                let error = await failure { () throws(BackendError) in try await store.chunk(0, of: stale) }
                #expect(error?.code == .unavailable)
                #expect(try await report().isSound)
            }
            await store.close()
        }

        @Test func `a content that fails changes nothing, and the calls beside it go on`() async throws {
            try await put(100_000)
            let broken = StreamSource(length: 300_000) { (range) throws(BackendError) in
                if range.lowerBound > 200_000 { throw BackendError(.failed, "The source is broken.") }
                return StreamSource.bytes(range, 2)
            }
            let short = StreamSource(length: 300_000) { StreamSource.bytes($0.lowerBound..<$0.upperBound - 1, 2) }
            for source in [broken, short] {
                #expect(try await !store.put([], at: large, content: source).isApplied)
                #expect(try await !store.put([], at: large, if: .absent, content: .made(3)).isApplied)
                #expect(try await store.holds(100_000, at: large))
                #expect(try chunks() == 2)
            }
            let new = try StreamTests()
            #expect(try await !new.store.put([], at: large, content: broken).isApplied)
            #expect(try await new.store.read(large) == .absent)
            try await new.store.put("1", at: "plain")
            await new.store.close()
            #expect(try await Reader.dump(new.place.path, new.place.keyPath).features == [])
            await store.close()
        }

        @Test func `a new data key seals the row again, and its chunks open as before`() async throws {
            try await put(150_000)
            try await put(70_000, seed: 3, at: StorageAddress("record", in: shelf))
            let before = try PlainDatabase(path: place.path).rows("SELECT id, sealed FROM chunks ORDER BY id")
            let stream = try #require(try await store.stream(at: large))
            #expect(try await store.rotateDataKey(batch: 1) { _, _ in } == 2)
            #expect(try PlainDatabase(path: place.path).rows("SELECT id, sealed FROM chunks ORDER BY id") == before)
            // A content that was found before the rotation is read on.
            #expect(try await store.chunk(2, of: stream).count == 150_000 - 131_072)
            #expect(try await store.holds(150_000, at: large))
            #expect(try await store.holds(70_000, seed: 3, at: StorageAddress("record", in: shelf)))
            #expect(try await report().isSound)
            try await put(5, at: large)
            #expect(try chunks() == 3)
            await store.close()
            try await place.check()
        }

        @Test func `values of a collection keep their labels and their chunks through pages`() async throws {
            for number in 0..<3 {
                let result = try await store.put(
                    [UInt8(number)], StorageMetadata(typeTag: "photo", attributes: ["a": "x"]), at: StorageAddress("\(number)", in: shelf),
                    content: .made(number * 70_000))
                #expect(result.isApplied)
            }
            #expect(try await store.names(StorageQuery(shelf, [.attribute("a", "x")])) == ["0", "1", "2"])
            #expect(try await Reader.dump(place.path, place.keyPath).features == ["chunks", "labels"])
            #expect(try await report().isSound)
            await store.close()
        }
    }
#endif
