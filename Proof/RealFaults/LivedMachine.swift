import Foundation
import TestSupport

/// A machine that `FaultWorker age` has used for many days, and the instructions of single calls on it.
package struct LivedMachine: Sendable {
    /// The days of the machine, and the calls of each.
    package struct Life: Sendable {
        package var days: Int
        /// How many records the older release stored, which the first day moves.
        package var records: Int
        /// How many values each day sets.
        package var sets: Int
        /// A day is killed and repeated each time after this number of days; 0 for never.
        package var killsEvery: Int
        /// Decides when a day is killed.
        package var seed: UInt64

        /// Whether each day leaves something in the ledger.
        package var isPlanted: Bool

        package init(days: Int, records: Int, sets: Int, killsEvery: Int, seed: UInt64, isPlanted: Bool = false) {
            (self.days, self.records, self.sets, self.killsEvery, self.seed) = (days, records, sets, killsEvery, seed)
            self.isPlanted = isPlanted
        }
    }

    /// The calls that are counted: their names as `FaultWorker age` has them.
    package static let calls = ["get", "move", "sweep", "doctor"]

    private let worker: String
    private let folder: TemporaryDirectory
    private let life: Life
    /// How many days were killed.
    package private(set) var kills = 0

    /// Lives through all days.
    package init(_ life: Life) async throws {
        (folder, self.life) = (try TemporaryDirectory(), life)
        // valgrind 3.19 cannot read the debug information of Swift's programs.
        worker = folder.file("FaultWorker")
        let result = try await run("strip", ["-o", worker, try Program.built("FaultWorker")])
        guard result.status == 0 else { throw ProgramFailure("The worker was not copied: \(result.stderr)") }
        var numbers = SeededGenerator(life.seed)
        try await work("first", day: 0, life.records)
        for day in 1..<max(2, life.days) {
            if life.killsEvery > 0, day % life.killsEvery == 0 {
                let killed = try RunningProgram(worker, ["age", "day", folder.path, "\(day)", "\(life.sets)"])
                try await Task.sleep(for: .milliseconds(Int.random(in: 20...900, using: &numbers)))
                killed.signal(SIGKILL)
                _ = await killed.end()
                kills += 1
            }
            try await work("day", day: day, life.sets)
        }
        try await work("last", day: life.days, life.records)
    }

    private func work(_ verb: String, day: Int, _ count: Int, in path: String? = nil) async throws {
        let planted = life.isPlanted && verb == "day" ? ["planted"] : []
        let result = try await run(worker, ["age", verb, path ?? folder.path, "\(day)", "\(count)"] + planted)
        guard result.status == 0 else { throw ProgramFailure("Day \(day): \(result.stderr)") }
    }

    /// Requires that nothing was lost.
    package func check() async throws {
        let copy = try await self.copy()
        try await work("check", day: life.days, life.records, in: copy.path)
    }

    /// Returns the instructions of each of some calls on a copy of the machine, without those of the program's start.
    package func instructions(of calls: [String]) async throws -> [String: Int] {
        let start = try await count("nothing")
        var counts: [String: Int] = [:]
        for call in calls { counts[call] = try await count(call) - start }
        return counts
    }

    private func copy() async throws -> TemporaryDirectory {
        let copy = try TemporaryDirectory()
        let result = try await run("cp", ["-a", "\(folder.path)/root", copy.path])
        guard result.status == 0 else { throw ProgramFailure("The machine was not copied: \(result.stderr)") }
        return copy
    }

    private func count(_ call: String) async throws -> Int {
        let options = ["--tool=callgrind", "--fair-sched=yes", "--callgrind-out-file=/dev/null"]
        var failure = ""
        // valgrind 3.19 sometimes crashes with a program that has several threads.
        for _ in 0..<3 {
            let copy = try await self.copy()
            let result = try await run("valgrind", options + [worker, "age", call, copy.path, "\(life.days)"])
            let text = result.stderr.split(separator: "\n").last { $0.contains("Collected : ") }?.split(separator: " ").last
            if let count = text.flatMap({ Int($0) }) { return count }
            failure = "status \(result.status), \(result.stderr.suffix(500))"
        }
        throw ProgramFailure("\(call) was not counted: \(failure)")
    }

    // MARK: Files

    /// Returns the size of each file, by its path.
    package func sizes() throws -> [String: Int] {
        var sizes: [String: Int] = [:]
        let root = "\(folder.path)/root"
        let paths = FileManager.default.enumerator(atPath: root)
        while let path = paths?.nextObject() as? String {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(root)/\(path)")
            if attributes[.type] as? FileAttributeType == .typeRegular { sizes[path] = attributes[.size] as? Int ?? 0 }
        }
        return sizes
    }

    /// Returns by how many bytes a file may be larger than on a machine that has lived for a day: the table "What grows" of
    /// `Docs/Formats.md`.
    package func allowed(_ path: String) -> Int {
        switch path {
        // Two displaced values each day, up to the bound for a location.
        case "data/quarantine/quarantine.plist": min(2 * life.days + kills, 256 + 64) * 1_100
        // A key for each rotation of a data key. The rows fill the pages of the file better or worse.
        case "data/databases/main.sqlite": life.days * 30 + 24_576 + life.records * 40
        case "state/history.log": 1 << 20
        case _ where path.hasSuffix("-wal"): 4 << 20
        default: 2_048
        }
    }
}
