#if SQLite
    import BackendContract
    import Foundation
    import Sealing
    import TestSupport
    import Testing

    @testable import SQLiteBackend

    /// Attacks on chunks: a content is read as it was written, or not at all.
    extension Attacks {
        @Suite struct Streams {
            private let place: Place
            private let one = StorageAddress("one")
            private let other = StorageAddress("other")
            /// The chunks of both values, and those of an older content of the first.
            private let latest: [[PlainValue]]
            private let older: [[PlainValue]]
            private static let lengths = (one: 150_000, other: 140_000)

            init() async throws {
                place = try Place()
                let store = place.store()
                #expect(try await store.put([1], at: one, content: .made(Self.lengths.one, seed: 9)).isApplied)
                older = try Self.chunks(place)
                #expect(try await store.put([1], at: one, content: .made(Self.lengths.one, seed: 1)).isApplied)
                #expect(try await store.put([1], at: other, content: .made(Self.lengths.other, seed: 2)).isApplied)
                await store.close()
                latest = try Self.chunks(place)
                #expect(older.count == 3 && latest.count == 6)
            }

            private static func chunks(_ place: Place) throws -> [[PlainValue]] {
                try PlainDatabase(path: place.path).rows("SELECT id, sealed FROM chunks ORDER BY id")
            }

            private func put(_ chunks: [(Int64, Data)]) throws {
                let database = try PlainDatabase(path: place.path)
                try database.execute("PRAGMA synchronous = OFF")
                try database.transaction { database in
                    try database.execute("DELETE FROM chunks")
                    for (id, sealed) in chunks { try database.execute("INSERT INTO chunks VALUES (?, ?)", [id, sealed]) }
                }
            }

            private var genuine: [(Int64, Data)] { latest.map { ($0[0].integer ?? 0, $0[1].blob ?? Data()) } }

            /// What a store that knows nothing yet says: how many contents can be read, none of them wrong, and whether all is sound.
            private func look(_ comment: String) async throws -> (read: Int, report: IntegrityReport) {
                let store = place.store()
                var read = 0
                for (address, length, seed) in [(one, Self.lengths.one, 1 as UInt8), (other, Self.lengths.other, 2)] {
                    do {
                        let stream = try #require(try await store.stream(at: address), "\(comment)")
                        var place = 0
                        for number in 0..<stream.chunkCount {
                            let chunk = try await store.chunk(number, of: stream)
                            #expect(chunk == StreamSource.bytes(place..<place + chunk.count, seed), "\(comment)")
                            place += chunk.count
                        }
                        #expect(place == length, "\(comment)")
                        read += 1
                    } catch let error as BackendError {
                        #expect(error.code == .corrupted, "\(comment): \(error)")
                    }
                    #expect(try await store.read(address).record?.payload == .bytes([1]), "\(comment)")
                }
                let report = try #require(try await store.verifyIntegrity { _ in })
                await store.close()
                return (read, report)
            }

            @Test func `a chunk that was changed, moved, exchanged, left out or cut off is never read`() async throws {
                #expect(try await look("untouched").read == 2)
                #expect(try await look("untouched").report.isSound)
                func attack(_ comment: String, read: Int = 1, _ change: (inout [(Int64, Data)]) -> Void) async throws {
                    var chunks = genuine
                    change(&chunks)
                    try put(chunks)
                    let found = try await look(comment)
                    #expect(found.read == read, "\(comment)")
                    #expect(found.report.damagedChunks > 0 && !found.report.isSound, "\(comment)")
                }
                // The first, a middle and the last one of a value, and the last one of another.
                for number in [0, 1, 2, 5] {
                    let length = genuine[number].1.count
                    for byte in [0, length / 2, length - 1] {
                        try await attack("byte \(byte) of \(number)") { $0[number].1[byte] ^= 1 }
                    }
                    try await attack("without \(number)") { $0.remove(at: number) }
                    try await attack("\(number) shorter") { $0[number].1.removeLast() }
                    try await attack("\(number) longer") { $0[number].1.append(0) }
                    try await attack("\(number) empty") { $0[number].1 = Data() }
                    let next = (number + 1) % 6
                    try await attack("\(number) in the place of the next") {
                        $0[next].1 = $0[number].1
                    }
                    try await attack("\(number) elsewhere") { $0[number].0 += 1 << 20 }
                }
                try await attack("two exchanged") { (chunks) in (chunks[0].1, chunks[1].1) = (chunks[1].1, chunks[0].1) }
                try await attack("two values exchanged", read: 0) { chunks in
                    for number in 0..<3 { (chunks[number].1, chunks[number + 3].1) = (chunks[number + 3].1, chunks[number].1) }
                }
                try await attack("none left", read: 0) { $0 = [] }
            }

            @Test func `older chunks of the same value do not open, one by one or all`() async throws {
                let places = genuine.map(\.0)
                let mine = places[0] >> 24 == places[2] >> 24 ? 0..<3 : 3..<6
                let store = place.store()
                let first = try #require(try await store.stream(at: one)).stream.place
                await store.close()
                let start = try #require(places.firstIndex(of: first))
                #expect(mine.count == 3)
                for numbers in [[0], [1], [2], [0, 1, 2]] {
                    var chunks = genuine
                    for number in numbers { chunks[start + number].1 = older[number][1].blob ?? Data() }
                    try put(chunks)
                    let found = try await look("older \(numbers)")
                    #expect(found.read == 1 && !found.report.isSound)
                }
            }

            @Test func `chunks of no value change nothing that is read, are found, and go when the contents are accepted`() async throws {
                try put(genuine + older.map { ($0[0].integer ?? 0, $0[1].blob ?? Data()) } + [(genuine[2].0 + 1, Data([1])), (-1, Data())])
                let found = try await look("stray chunks")
                #expect(found.read == 2)
                #expect(found.report.damagedChunks == 5)
                let store = place.store()
                try await store.acceptContents()
                #expect(try #require(try await store.verifyIntegrity { _ in }).isSound)
                await store.close()
                #expect(try await look("accepted").read == 2)
                #expect(try Self.chunks(place) == latest)
            }

            @Test func `while a row is damaged, its chunks are kept`() async throws {
                let database = try PlainDatabase(path: place.path)
                try database.execute("UPDATE records SET sealed = zeroblob(length(sealed)) WHERE id = (SELECT min(id) FROM records)")
                let store = place.store()
                #expect(try #require(try await store.verifyIntegrity { _ in }).damagedChunks == 3)
                try await store.acceptContents()
                #expect(try Self.chunks(place) == latest)
                await store.close()
            }

            @Test func `without the feature or its table, the database is refused`() async throws {
                for sql in [
                    "DROP TABLE chunks", "UPDATE header SET value = x'' WHERE name = 'features'",
                    "DROP TABLE chunks; CREATE TABLE chunks (id INTEGER PRIMARY KEY, sealed BLOB)",
                ] {
                    let target = try await Streams()
                    try PlainDatabase(path: target.place.path).execute(sql)
                    let store = target.place.store()
                    let error = try await store.read(one).error
                    #expect([.corrupted, BackendError.Code("incompatibleSchema")].contains(error?.code), "\(sql)")
                    await store.close()
                }
            }
        }
    }
#endif
