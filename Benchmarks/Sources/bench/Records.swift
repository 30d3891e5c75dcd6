import Foundation
import LocalData

/// Measures a large collection of records. It stores and enumerates the records, converts them to a new schema version,
/// and moves them to a collection of another type. It also reads and writes single records. Every operation calls the
/// library's `StorageRouter`.
struct Records {
    let root: URL
    let results: Results
    let counts: [Int]

    private struct Note: Codable, Identifiable {
        var id: Int
        var text: String
    }

    private struct Titled: Codable, Identifiable {
        var id: Int
        var title: String
        var isRead = false
    }

    private struct Memo: Codable, Identifiable {
        var id: Int
        var title: String
    }

    private struct Catalog: StorageKeyCatalog {
        let allKeys: [AnyStorageKey]
    }

    func run() async throws {
        var single: [Int: (get: Double, set: Double)] = [:]
        for count in counts { single[count] = try await run(count) }
        if let least = counts.first, let most = counts.last, let few = single[least], let many = single[most], least != most {
            results.begin("One record of a collection")
            results.time("get, \(most) records", many.get, .init("that with \(least)", many.get / few.get))
            results.time("set (durable), \(most) records", many.set, .init("that with \(least)", many.set / few.set))
        }
    }

    private func notes<Record: Identifiable>(_ typeTag: String) -> StorageCollection<Record> where Record.ID: Sendable {
        StorageCollection(
            "notes", domain: .encryptedSQLite(database: "records"), owner: "Bench", description: "Notes", typeTag: typeTag)
    }

    private func run(_ count: Int) async throws -> (get: Double, set: Double) {
        let folder = root.appendingPathComponent("\(count)")
        var configuration = configuration(folder)
        configuration.deadlines.files = .seconds(120)
        let router = StorageRouter(configuration: configuration)
        let notes: StorageCollection<Note> = notes("Note")
        results.begin("\(count) records of a collection in encrypted SQLite")
        let storing = try await seconds {
            for start in stride(from: 0, to: count, by: 1_000) {
                try await router.set((start..<min(start + 1_000, count)).map { Note(id: $0, text: "Note number \($0)") }, in: notes)
            }
        }
        let rows = try RowCopy(of: try find("records.sqlite", below: folder))
        let raw = try timed(3) {
            try rows.write(to: folder.appendingPathComponent("raw-\(UUID().uuidString).sqlite").path, commits: max(1, count / 1_000))
        }
        results.rate(
            "stored in commits of 1,000 (durable)", count, in: storing, size: count,
            .init("raw SQLite writing these rows", storing / raw))

        let places = (0..<1_000).map { ($0 * 7_919) % count }
        let get = try await median(of: 5) {
            try await seconds { for place in places { _ = try await router.get(place, in: notes) } } / Double(places.count)
        }
        let set = try await median(of: 5) {
            try await seconds { for place in places.prefix(300) { try await router.set(Note(id: place, text: "Note again"), in: notes) } }
                / 300
        }
        results.time("get of one", get, size: count)
        results.time("set of one (durable)", set, size: count)

        let before = peakMemory()
        let floor = try FloorDatabase(
            path: folder.appendingPathComponent("floor.sqlite").path,
            note: try JSONEncoder().encode(Note(id: count, text: "Note number \(count)")), rows: count)
        let openAndDecode = try timed(3) { try floor.each { _ = try JSONDecoder().decode(Note.self, from: $0) } }
        let enumerating = try await median(of: 3) {
            var met = 0
            let time = try await seconds { for try await _ in router.records(in: notes) { met += 1 } }
            precondition(met == count)
            return time
        }
        results.rate(
            "enumerated", count, in: enumerating, size: count,
            .init("open + decode of each row", enumerating / openAndDecode))
        results.number("more memory at its peak, enumerating", Double(peakMemory() - before) / 1024, "MiB")

        let titled: StorageCollection<Titled> = self.notes("Note")
        let chained = titled.evolving(
            Evolution.from(version: 1).to { $0.rename("text", to: "title") }.to { $0["isRead"] = false }.decoding(Titled.self))
        let evolving = try await seconds {
            try await router.registerCatalog(Catalog(allKeys: [.collection(chained)]), migrateImmediately: true).requireComplete()
        }
        let byHand = try timed(1) {
            try floor.updateEach(commits: max(1, count / 1_000)) { row in
                let note = try JSONDecoder().decode(Note.self, from: row)
                return try JSONEncoder().encode(Titled(id: note.id, title: note.text))
            }
        }
        results.rate(
            "chain of two described steps (durable)", count, in: evolving, size: count,
            .init("open + decode + encode + seal + update of each row", evolving / byHand))
        let memos: StorageCollection<Memo> = self.notes("Memo")
        results.rate(
            "migrateAll (durable)", count,
            in: try await seconds { try await router.migrateAll(from: "Note", to: memos.version(3)) }, size: count)
        let there = try await router.count(in: memos)
        precondition(there == count)
        results.number("more memory at its peak, all of it", Double(peakMemory() - before) / 1024, "MiB")
        try await router.shutdown()
        return (get, set)
    }

    private func timed(_ rounds: Int, _ work: () throws -> Void) throws -> Double {
        var times: [Double] = []
        for _ in 0..<rounds {
            let start = ContinuousClock.now
            try work()
            times.append((ContinuousClock.now - start).seconds)
        }
        return times.middle
    }
}

/// Returns the path of a file somewhere below a folder.
func find(_ name: String, below folder: URL) throws -> String {
    let all = FileManager.default.enumerator(atPath: folder.path)?.compactMap { $0 as? String } ?? []
    guard let found = all.first(where: { $0.hasSuffix("/" + name) }) else { throw CocoaError(.fileNoSuchFile) }
    return folder.appendingPathComponent(found).path
}
