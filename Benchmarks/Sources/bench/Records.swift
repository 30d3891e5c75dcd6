import Foundation
import LocalData

/// Measures a large collection of records. It stores and enumerates the records, converts them to a new schema version,
/// and moves them to a collection of another type. It also reads and writes single records. Every operation calls the
/// library's `StorageRouter`. Memory is measured in a new process for each operation and number of records.
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

    private static func notes<Record: Identifiable>(_ typeTag: String) -> StorageCollection<Record> where Record.ID: Sendable {
        StorageCollection(
            "notes", domain: .encryptedSQLite(database: "records"), owner: "Bench", description: "Notes", typeTag: typeTag)
    }

    private static func router(_ folder: URL) -> StorageRouter {
        var configuration = configuration(folder)
        configuration.deadlines.files = .seconds(120)
        return StorageRouter(configuration: configuration)
    }

    /// Does the work of one process.
    /// - Parameter arguments: The operation, how many records there are, and the folder.
    static func work(_ arguments: [String]) async throws {
        guard arguments.count == 3, let count = Int(arguments[1]) else { fatalError("usage: bench records-once operation number folder") }
        try await WorkInNewProcess.report {
            let router = Self.router(URL(fileURLWithPath: arguments[2]))
            switch arguments[0] {
            case "enumerate":
                let met = try await Self.enumerate(router)
                precondition(met == count)
            case "chain":
                let titled: StorageCollection<Titled> = Self.notes("Note")
                let chained = titled.evolving(
                    Evolution.from(version: 1).to { $0.rename("text", to: "title") }.to { $0["isRead"] = false }.decoding(Titled.self))
                try await router.registerCatalog(Catalog(allKeys: [.collection(chained)]), migrateImmediately: true).requireComplete()
            case "migrateAll":
                let memos: StorageCollection<Memo> = Self.notes("Memo")
                try await router.migrateAll(from: "Note", to: memos.version(3))
                let there = try await router.count(in: memos)
                precondition(there == count)
            default: fatalError("There is no operation \(arguments[0]).")
            }
            try await router.shutdown()
        }
    }

    private static func enumerate(_ router: StorageRouter) async throws -> Int {
        let notes: StorageCollection<Note> = Self.notes("Note")
        var met = 0
        for try await _ in router.records(in: notes) { met += 1 }
        return met
    }

    private func run(_ count: Int) async throws -> (get: Double, set: Double) {
        let folder = root.appendingPathComponent("\(count)")
        let router = Self.router(folder)
        let notes: StorageCollection<Note> = Self.notes("Note")
        results.begin("\(count) records of a collection in encrypted SQLite")
        let storing = try await seconds {
            for start in stride(from: 0, to: count, by: 1_000) {
                try await router.set((start..<min(start + 1_000, count)).map { Note(id: $0, text: "Note number \($0)") }, in: notes)
            }
        }
        let rows = try RowCopy(of: try find("records.sqlite", below: folder))
        func raw(_ rows: RowCopy) throws -> Double {
            try timed(3) {
                try rows.write(to: folder.appendingPathComponent("raw-\(UUID().uuidString).sqlite").path, commits: max(1, count / 1_000))
            }
        }
        let (ascending, random) = (try raw(rows), try raw(rows.shuffled()))
        results.rate(
            "stored in commits of 1,000 (durable)", count, in: storing, size: count,
            .init("raw SQLite writing these rows by ascending id", storing / ascending),
            .init("raw SQLite writing them by random id", storing / random))

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

        let note = try JSONEncoder().encode(Note(id: count, text: "Note number \(count)"))
        let floor = try FloorDatabase(path: folder.appendingPathComponent("floor.sqlite").path, note: note, rows: count)
        let openAndDecode = try timed(3) { try floor.each { _ = try JSONDecoder().decode(Note.self, from: $0) } }
        let decoder = JSONDecoder()
        let openAndDecodeWithCare = try timed(3) { try floor.each(.careful) { _ = try decoder.decode(Note.self, from: $0) } }
        let enumerating = try await median(of: 3) {
            try await seconds {
                let met = try await Self.enumerate(router)
                precondition(met == count)
            }
        }
        try await router.shutdown()
        results.rate(
            "enumerated", count, in: enumerating, size: count,
            .init("open + decode of each row, by hand, as most would write it", enumerating / openAndDecode),
            .init("the same by a careful hand", enumerating / openAndDecodeWithCare))
        func inNewProcess(_ operation: String) throws -> WorkInNewProcess {
            try WorkInNewProcess(["records-once", operation, "\(count)", folder.path])
        }
        func memory(_ name: String, _ work: WorkInNewProcess) {
            let goal: Results.Goal? = count == 100_000 ? .atMost(40) : nil
            results.number("memory at its peak above the start of a new process, \(name)", work.moreMemory, "MiB", goal: goal)
        }
        memory("enumerated", try inNewProcess("enumerate"))

        let chain = try inNewProcess("chain")
        func converting(_ hand: FloorDatabase.Hand) throws -> Double {
            let floor = try FloorDatabase(path: folder.appendingPathComponent("floor-\(hand).sqlite").path, note: note, rows: count)
            return try timed(1) {
                try floor.updateEach(commits: max(1, count / 1_000), hand) { row in
                    let note = try JSONDecoder().decode(Note.self, from: row)
                    return try JSONEncoder().encode(Titled(id: note.id, title: note.text))
                }
            }
        }
        let (usual, careful) = (try converting(.usual), try converting(.careful))
        results.rate(
            "chain of two described steps (durable)", count, in: chain.time, size: count,
            .init("open + decode + encode + seal + update of each row, by hand, as most would write it", chain.time / usual),
            .init("the same by a careful hand", chain.time / careful))
        memory("chain", chain)
        let all = try inNewProcess("migrateAll")
        results.rate("migrateAll (durable)", count, in: all.time, size: count)
        memory("migrateAll", all)
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
