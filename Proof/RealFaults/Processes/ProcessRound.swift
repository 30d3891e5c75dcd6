import Foundation
import TestSupport

/// Several processes use the same stores for a while. At random moments, a process is stopped for some time, or killed
/// and replaced by a new process. The processes run two releases of one program.
package struct ProcessRound: Sendable {
    /// A planted mistake of a worker, which the history must reveal.
    package enum Planted: String, CaseIterable, Sendable {
        /// Acknowledges a fourth of the writes without making them.
        case forgetful
        /// Makes a fourth of the increments twice.
        case twice
    }

    package private(set) var kills = 0
    package private(set) var stops = 0
    package private(set) var history = ProcessHistory()
    package private(set) var violations: [String] = []

    private let place: Workplace
    private let planted: Planted?
    private var dice: SeededGenerator
    private let folder: TemporaryDirectory
    private var root: String { folder.file("root") }
    /// The workers end when this file exists.
    private var end: String { folder.file("end") }

    /// The least numbers of kills, stops and calls. On a slow machine, the round (this run of all processes) continues
    /// until it has reached them.
    private static let least = (kills: 10, stops: 10, calls: 1_000, callsOfPlanted: 200)
    /// The limit of a round in seconds, in case no calls are made.
    private static let longest = 300

    /// A worker and its log.
    private struct Worker {
        let role: String
        let log: String
        let program: RunningProgram
        /// The time at which the stopped program continues; nil if it is not stopped.
        var wakes: Int?
    }
    private var workers: [Worker] = []
    private var logs: [String] = []

    /// Runs a round.
    /// - Parameters:
    ///   - seconds: The least duration. The round continues until it has the least numbers of calls, kills and stops.
    ///   - seed: The seed of the kills and stops.
    ///   - planted: The mistake of one worker. That worker is stopped at random, but never killed.
    package init(_ place: Workplace, seconds: Int, seed: UInt64, planted: Planted? = nil) async throws {
        (self.place, self.planted) = (place, planted)
        dice = SeededGenerator(seed)
        folder = try place.makeRoot()
        try FileManager.default.createDirectory(
            atPath: folder.file("root"), withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        try await Self.plant(ConversingWorker(place, root: folder.file("root")), &history)
        try await disturb(for: seconds)
        try await settle()
        violations += history.violations(expected: ["timedOut", "conflict", "residueRemains"])
    }

    static func now() -> Int { Int(DispatchTime.now().uptimeNanoseconds) }

    /// Stores values in the legacy locations, which the older release uses.
    private static func plant(_ worker: ConversingWorker, _ history: inout ProcessHistory) async throws {
        var log = ""
        for (number, name) in movingNames.enumerated() {
            let value = name.contains("count") ? "0" : "first"
            guard try await worker.ask("set older-\(name) \(value)").isDone else {
                throw ProgramFailure("A value cannot be put into its older place")
            }
            log += "begin \(number) \(number) set \(name) \(value)\nend \(number) \(number) ok\n"
        }
        guard try await worker.ask("set older-rolling first").isDone else {
            throw ProgramFailure("A value cannot be put into its older place")
        }
        log += "begin 1000 1000 set older-rolling first\nend 1000 1000 ok\n"
        history.add(log)
        try await worker.end()
    }

    static let movingNames = (0..<48).flatMap { ["moving-\($0)", "moving-count-\($0)"] }

    // MARK: Kills and stops

    private mutating func start(_ role: String) throws {
        let log = folder.file("log-\(logs.count)")
        logs.append(log)
        let program = try place.liveWorker(root: root, log: log, tag: "\(logs.count)", role: role, end: end)
        workers.append(Worker(role: role, log: log, program: program))
    }

    /// Whether there were enough kills, stops and calls. The calls are estimated from the sizes of the logs: the two
    /// lines of a call have about eighty bytes.
    private var isEnough: Bool {
        func calls(_ logs: [String]) -> Int {
            logs.map { ((try? FileManager.default.attributesOfItem(atPath: $0)[.size]) as? NSNumber)?.intValue ?? 0 }.reduce(0, +) / 80
        }
        return kills >= Self.least.kills && stops >= Self.least.stops && calls(logs) >= Self.least.calls
            && (planted == nil || calls([logs[0]]) >= Self.least.callsOfPlanted)
    }

    private mutating func disturb(for seconds: Int) async throws {
        let begin = Self.now()
        func isOver(after seconds: Int) -> Bool { Self.now() > begin + seconds * 1_000_000_000 }
        for role in [planted?.rawValue ?? "newer", "newer", "newer", "newer", "older", "older"] { try start(role) }
        while !isOver(after: Self.longest), !(isOver(after: seconds) && isEnough) {
            try await Task.sleep(for: .milliseconds(Int.random(in: 20...250, using: &dice)))
            wake(before: Self.now())
            let index = Int.random(in: 0..<workers.count, using: &dice)
            if Int.random(in: 0..<2, using: &dice) == 0, workers[index].role != planted?.rawValue {
                let worker = workers.remove(at: index)
                guard await worker.program.kill(isExpected: { $0 == SIGKILL }) else {
                    violations.append("a worker (\(worker.role)) had ended by itself: \(await worker.program.end().stderr.suffix(500))")
                    continue
                }
                kills += 1
                try start(worker.role)
            } else if workers[index].wakes == nil {
                workers[index].program.signal(SIGSTOP)
                stops += 1
                // One stop in ten takes 2.5 seconds. Calls of other workers then time out, because they wait for
                // a lock at most 1.5 seconds.
                let milliseconds = Int.random(in: 0..<10, using: &dice) == 0 ? 2_500 : Int.random(in: 1...300, using: &dice)
                workers[index].wakes = Self.now() + milliseconds * 1_000_000
            }
        }
        if !isEnough { violations.append("too little was done within \(Self.longest) seconds") }
        try Data().write(to: URL(fileURLWithPath: end))
        wake(before: .max)
        for worker in workers {
            let result = await worker.program.end(within: 30)
            if result.status != 0 {
                violations.append("a worker (\(worker.role)) ended with \(result.status): \(result.stderr.suffix(500))")
            }
        }
        workers = []
    }

    private mutating func wake(before time: Int) {
        for index in workers.indices {
            guard let wakes = workers[index].wakes, wakes <= time else { continue }
            workers[index].program.signal(SIGCONT)
            workers[index].wakes = nil
        }
    }

    // MARK: Afterwards

    /// Checks all values with a new process. Its sweeps, which migrate all keys, must finish. The legacy locations must
    /// then be empty. The values that the process reads become part of the history.
    private mutating func settle() async throws {
        for log in logs { history.add((try? String(contentsOfFile: log, encoding: .utf8)) ?? "") }
        let worker = try ConversingWorker(place, root: root)
        // The round displaces more values than the quarantine holds, and a sweep fails if the quarantine is full.
        let purge = try await worker.ask("purge").text
        if !purge.hasPrefix("ok") { violations.append("the quarantine cannot be purged: \(purge)") }
        var sweeps: [String] = []
        for _ in 0..<2 { sweeps.append(try await worker.ask("sweep").text) }
        if sweeps.last != "ok complete" { violations.append("the sweeps afterwards: \(sweeps)") }
        var log = ""
        let names = Set(history.calls.map(\.key)).subtracting(["-"]).union(["rolling", "older-rolling"])
        for (number, name) in names.sorted().enumerated() {
            let begin = Self.now()
            let answer = try await worker.ask("get \(name)")
            log += "begin \(begin) \(number) get \(name)\nend \(Self.now()) \(number) \(answer.text)\n"
            if !answer.isDone { violations.append("\(name) cannot be read afterwards: \(answer.text)") }
        }
        history.add(log)
        for name in Self.movingNames {
            let answer = try await worker.ask("get older-\(name)").text
            if answer != "ok -" { violations.append("\(name) is still in its older place: \(answer)") }
        }
        try await worker.end()
    }
}

extension ProcessRound {
    /// The losses that are caused by a Foundation program that writes the same property list as LocalData.
    package struct Foreign: Sendable {
        package let fates: (acknowledged: Int, lost: Int, replaced: Int)
        package let errors: [String: Int]
        package let writes: Int
        /// How often the library's log reported lost changes.
        package let reports: Int
    }

    /// Runs two workers and a Foundation program on one list for some seconds.
    package static func besideFoundation(_ place: Workplace, seconds: Int) async throws -> Foreign {
        let folder = try place.makeRoot()
        let root = try folder.folder("root")
        let end = folder.file("end")
        let foreign = try place.foreignWriter(root: root, tags: ["1", "2"], end: end)
        let workers = try ["1", "2"].map {
            try place.liveWorker(root: root, log: folder.file("log-\($0)"), tag: $0, role: "beside", end: end)
        }
        try await Task.sleep(for: .seconds(seconds))
        try Data().write(to: URL(fileURLWithPath: end))
        var history = ProcessHistory()
        var reports = 0
        for (index, worker) in workers.enumerated() {
            let result = await worker.end(within: 30)
            reports += (result.stdout + result.stderr).split(separator: "\n").count { $0.contains("The changes are lost.") }
            history.add(try String(contentsOfFile: folder.file("log-\(index + 1)"), encoding: .utf8))
        }
        let writes = await foreign.end(within: 30).lines.first.flatMap { Int($0) } ?? 0
        return Foreign(fates: history.fates(foreignPrefix: "foreign-"), errors: history.errors, writes: writes, reports: reports)
    }
}
