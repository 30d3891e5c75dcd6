import Foundation
import LocalData

/// Many records in one namespace of an encrypted database: written in batches, gone through page by page, and read and written one by one.
struct Collections {
    let root: URL
    let counts: [Int]

    private static let shelf = StorageNamespace("shelf")

    func run() async throws {
        print("Records of 100 bytes with a type, an attribute and a day, in batches of 1,000 (durable); pages of 512")
        for count in counts { try await run(count) }
    }

    private func run(_ count: Int) async throws {
        let folder = root.appendingPathComponent("\(count)").path
        let source = KeyFileSource(path: folder + "/key", deadline: .seconds(60), runtime: .live)
        let store = SQLiteStore(
            path: folder + "/store.sqlite", lockPath: folder + "/lock",
            keys: SealingKeys(pins: .none, randomBytes: Runtime.live.randomBytes),
            source: source, deadline: .seconds(600), runtime: .live)
        func mutation(_ number: Int, _ fill: UInt8) -> StorageMutation {
            let metadata = StorageMetadata(
                serializer: "json", typeTag: "note", modifiedAt: 1_700_000_000 + Double(number / 1_000) * 3_600,
                attributes: ["list": "\(number % 97)"])
            let payload = StoragePayload.bytes([UInt8](repeating: fill, count: 100))
            return .put(payload, metadata, at: StorageAddress("record \(number)", in: Self.shelf))
        }
        let writing = try await seconds {
            for start in stride(from: 0, to: count, by: 1_000) {
                let results = try await store.apply((start..<min(start + 1_000, count)).map { mutation($0, 1) })
                precondition(results.allSatisfy(\.isApplied))
            }
        }
        row("\(count): insert", "\(Int(Double(count) / writing)) records/s")
        let before = peakMemory()
        for (name, conditions) in [
            ("everything", []), ("of an attribute (1 of 97)", [.attribute("list", "5")]),
            ("of the last tenth of the time", [.modified(since: 1_700_000_000 + Double(count) / 1_000 * 3_600 * 0.9)]),
        ] as [(String, [StorageQuery.Condition])] {
            var found = 0
            let paging = try await seconds {
                var cursor: StorageCursor?
                repeat {
                    let page = try await store.page(StorageQuery(Self.shelf, conditions), after: cursor, limit: 512)
                    found += page.entries.count
                    cursor = page.next
                } while cursor != nil
            }
            row("\(count): pages, \(name)", "\(Int(Double(found) / paging)) records/s", "\(found) records")
        }
        var counted = 0
        let counting = try await seconds { counted = try await store.count(StorageQuery(Self.shelf)) }
        precondition(counted == count)
        row("\(count): count", "\((counting * 1e3).formatted(.number.precision(.fractionLength(2)))) ms")
        row("\(count): peak memory", "\(peakMemory() >> 10) MiB", "\((peakMemory() - before) >> 10) MiB of it for the pages")
        let places = (0..<2_000).map { ($0 * 7_919) % count }
        func each(_ body: (Int) async throws -> Void) async rethrows -> Double {
            try await median(of: 5) { try await seconds { for place in places { try await body(place) } } } / Double(places.count)
        }
        let get = try await each { number in
            let probe = try await store.read(StorageAddress("record \(number)", in: Self.shelf))
            precondition(probe.record != nil)
        }
        row("\(count): get", "\((get * 1e6).formatted(.number.precision(.fractionLength(2)))) µs")
        let set = try await median(of: 3) {
            try await seconds { for place in places.prefix(500) { _ = try await store.apply(mutation(place, 2)) } } / 500
        }
        row("\(count): set (durable)", "\((set * 1e6).formatted(.number.precision(.fractionLength(0)))) µs")
        await store.close()
        let size = try FileManager.default.attributesOfItem(atPath: folder + "/store.sqlite")[.size] as? Int ?? 0
        row("\(count): database", "\(size / count) bytes/record")
        print()
    }
}
