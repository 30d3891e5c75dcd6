import Foundation
import LocalData

/// A collection of many records through the router: stored, gone through, brought to a new shape and to a new type, and read and written one by one.
struct Records {
    let root: URL
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
        print(
            "Records of a collection in encrypted SQLite, through the router: stored in commits of 1,000 (durable); everything else a record or a page at a time"
        )
        var single: [Int: (get: Double, set: Double)] = [:]
        for count in counts { single[count] = try await run(count) }
        if let least = counts.first, let most = counts.last, let few = single[least], let many = single[most], least != most {
            row("get with \(most) records against \(least)", ratio(many.get / few.get))
            row("set with \(most) records against \(least)", ratio(many.set / few.set))
        }
    }

    private func ratio(_ value: Double) -> String { value.formatted(.number.precision(.fractionLength(2))) + "x" }

    private func notes<Record: Identifiable>(_ typeTag: String) -> StorageCollection<Record> where Record.ID: Sendable {
        StorageCollection(
            "notes", domain: .encryptedSQLite(database: "records"), owner: "Bench", description: "Notes", typeTag: typeTag)
    }

    private func run(_ count: Int) async throws -> (get: Double, set: Double) {
        var configuration = configuration(root.appendingPathComponent("\(count)"))
        configuration.deadlines.files = .seconds(120)
        let router = StorageRouter(configuration: configuration)
        let notes: StorageCollection<Note> = notes("Note")
        func rate(_ seconds: Double) -> String { "\(Int(Double(count) / seconds)) records/s" }
        let storing = try await seconds {
            for start in stride(from: 0, to: count, by: 1_000) {
                try await router.set((start..<min(start + 1_000, count)).map { Note(id: $0, text: "Note number \($0)") }, in: notes)
            }
        }
        row("\(count): store", rate(storing))

        var get = 0.0
        var set = 0.0
        let places = (0..<1_000).map { ($0 * 7_919) % count }
        get = try await median(of: 5) {
            try await seconds { for place in places { _ = try await router.get(place, in: notes) } } / Double(places.count)
        }
        set = try await median(of: 5) {
            try await seconds { for place in places.prefix(300) { try await router.set(Note(id: place, text: "Note again"), in: notes) } }
                / 300
        }
        row("\(count): get", "\((get * 1e6).formatted(.number.precision(.fractionLength(1)))) µs")
        row("\(count): set (durable)", "\((set * 1e6).formatted(.number.precision(.fractionLength(0)))) µs")

        let before = peakMemory()
        var met = 0
        row("\(count): enumerate", rate(try await seconds { for try await _ in router.allRecords(in: notes) { met += 1 } }))
        precondition(met == count)
        row("\(count): more memory at its peak", "\((peakMemory() - before) >> 10) MiB")

        let titled: StorageCollection<Titled> = self.notes("Note")
        let chained = titled.evolving(
            Evolution.from(version: 1).to { $0.rename("text", to: "title") }.to { $0["isRead"] = false }.decoding(Titled.self))
        let evolving = try await seconds {
            try await router.registerCatalog(Catalog(allKeys: [.collection(chained)]), migrateImmediately: true).requireComplete()
        }
        row("\(count): chain of two described steps", rate(evolving))
        row("\(count): more memory at its peak", "\((peakMemory() - before) >> 10) MiB")
        let memos: StorageCollection<Memo> = self.notes("Memo")
        row("\(count): migrateAll", rate(try await seconds { try await router.migrateAll(from: "Note", to: memos.version(3)) }))
        row("\(count): more memory at its peak", "\((peakMemory() - before) >> 10) MiB")
        let there = try await router.count(in: memos)
        precondition(there == count)
        try await router.shutdown()
        print()
        return (get, set)
    }
}

/// The process's largest resident set so far, in KiB.
func peakMemory() -> Int {
    let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") } ?? ""
    return Int(line.split(separator: " ").dropFirst().first ?? "") ?? 0
}
