import Foundation
import LocalData

/// Prints the times of operations on encrypted SQLite in microseconds, one operation a line. `Scripts/bench against`
/// builds this code with two revisions of the library and runs both programs alternately. So it uses only declarations
/// that both revisions have.
struct Figures {
    let root: URL

    private struct Note: Codable, Identifiable {
        var id = 0
        var title = "A note of some size"
        var body = String(repeating: "text ", count: 12)
    }

    private let notes = StorageCollection<Note>(
        "notes", domain: .encryptedSQLite(database: "records"), owner: "Bench", description: "Notes")

    private func key(_ index: Int) -> StorageKey<Note> {
        StorageKey<Note>(name: "note-\(index)", domain: .encryptedSQLite(database: "bench"), owner: "Bench", description: "A note")
    }

    func run() async throws {
        let rows = 2_000
        let router = StorageRouter(configuration: configuration(root))
        for start in stride(from: 0, to: rows, by: 500) {
            try await router.batch { batch in for index in start..<start + 500 { batch.set(Note(), for: key(index)) } }
            try await router.set((start..<start + 500).map { Note(id: $0) }, in: notes)
        }
        let order = (0..<rows).map { $0 * 7_919 % rows }
        try await figure("get", 30, rows) { for index in order { _ = try await router.get(key(index)) } }
        try await figure("put", 20, 100) { for index in order.prefix(100) { try await router.set(Note(), for: key(index)) } }
        try await figure("put, 64 tasks", 12, rows) {
            try await withThrowingTaskGroup { group in
                for task in 0..<64 {
                    group.addTask {
                        for index in stride(from: task, to: rows, by: 64) { try await router.set(Note(), for: key(index)) }
                    }
                }
                try await group.waitForAll()
            }
        }
        try await figure("record of a page", 20, rows) {
            var met = 0
            for try await _ in router.records(in: notes) { met += 1 }
            guard met == rows else { fatalError("records are missing") }
        }
        try await router.shutdown()
        try await figure("open, get, close", 41, 1) {
            let router = StorageRouter(configuration: configuration(root))
            _ = try await router.get(key(7))
            try await router.shutdown()
        }
    }

    /// Prints the time and the processor time of one operation. Each is the minimum of several rounds, because other
    /// work of the machine can only add time.
    private func figure(_ name: String, _ rounds: Int, _ count: Int, _ work: () async throws -> Void) async throws {
        var best: (time: Double, processor: Double)?
        for _ in 0..<rounds {
            let before = processorTime()
            let time = try await seconds(work)
            let processor = processorTime() - before
            best = (min(best?.time ?? time, time), min(best?.processor ?? processor, processor))
        }
        guard let best else { return }
        func each(_ time: Double) -> String { String(format: "%.2f", time / Double(count) * 1e6) }
        print("\(name)\t\(each(best.time))\t\(each(best.processor))")
    }

    /// Returns the processor time that the process has used, in seconds.
    private func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }
}
