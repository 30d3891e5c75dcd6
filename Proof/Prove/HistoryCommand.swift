import ArgumentParser
import Foundation
import RealFaults
import Simulation
import TestSupport

/// The command that lets another program judge histories that our judges have judged.
///
/// Each history is a JSON object in a line of the standard output, with the answers of our judges. The other program then
/// asks about the model: `2 5` on the standard input asks for the states after the call 5 in the state 2. The answer is a
/// list of their numbers, such as `[3, 4]`. The state 0 is the first one. An empty line asks for the next history.
struct Histories: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Offers histories, and copies with a mistake, to a judge that others wrote. Proof/Judge/porcupine.py runs it.")

    @Option(help: "How many seeds of each simulation.") var seeds: UInt64 = 500
    @Option(help: "The first seed.") var first: UInt64 = 0
    @Option(help: "How many seconds the real processes run; 0 for no processes.") var seconds = 6
    @Option(help: "How many copies of each history get a mistake.") var copies = 2
    @Flag(help: "Plants a mistake in our judge: it ignores when a call ended that may have had no effect.") var planted = false

    /// A history as the other program reads it.
    private struct Line: Encodable {
        struct Call: Encodable {
            let action: String
            let begin: Int
            /// Nil for a call that may take effect at any later time, or never.
            let end: Int?
            let isOptional: Bool
        }
        let source: String
        let answers: [String: Bool]
        let calls: [Call]
    }

    func run() async throws {
        _ = JudgedHistories.take()
        try simulate(MovingValues.self, "values")
        try simulate(StoredRecords.self, "records")
        try simulate(ReleaseWindows.self, "windows")
        if seconds == 0 { return }
        let place = try await Workplace()
        for planted: ProcessRound.Planted? in [nil, .forgetful, .twice] {
            _ = try await ProcessRound(place, seconds: seconds, seed: first, planted: planted)
            try offer("processes", seed: first)
        }
    }

    /// Runs the seeds of a simulation. Every fourth run has a faulty store.
    private func simulate<S: Subject>(_ subject: S.Type, _ source: String) throws {
        let mutants = S.mutants.filter(\.isAvailable)
        for seed in first..<first + seeds {
            let mutant = seed % 4 == 0 && !mutants.isEmpty ? mutants[Int(seed / 4) % mutants.count] : nil
            // The histories of a run that breaks a rule are judged too.
            _ = try? Campaign<S>(seed: seed).run(mutant)
            try offer(source, seed: seed)
        }
    }

    private func offer(_ source: String, seed: UInt64) throws {
        var dice = SeededGenerator(seed)
        for judged in JudgedHistories.take() { try offer(judged, source, &dice) }
    }

    private func offer(_ judged: some JudgedHistory, _ source: String, _ dice: inout SeededGenerator) throws {
        if judged.history.calls.isEmpty { return }
        try offer(judged.history, from: judged.start, source)
        for _ in 0..<copies { try offer(judged.history.spoilt(using: &dice), from: judged.start, "\(source) spoilt") }
    }

    private func offer<Model>(_ history: CallHistory<Model>, from start: Model, _ source: String) throws where Model.Action: Hashable {
        var answers: [String: Bool] = [:]
        // This search keeps all ways to explain the calls. In the simulations, ten calls can have very many.
        if source.hasPrefix("processes") || history.calls.count < 10 {
            answers["firstUnexplained"] = history.firstUnexplained(from: start) == nil
        }
        if history.calls.count <= 64 {
            answers["isLinearizable"] = (planted ? history.withoutOptionalEnds : history).isLinearizable(from: start)
        }
        let calls = history.calls.map {
            Line.Call(action: "\($0.action)", begin: $0.begin, end: $0.end == .max ? nil : $0.end, isOptional: $0.isOptional)
        }
        let line = Line(source: source, answers: answers, calls: calls)
        try write(String(decoding: JSONEncoder().encode(line), as: UTF8.self))
        var (states, numbers) = ([start], [start: 0])
        while let words = readLine()?.split(separator: " "), words.count == 2, let state = Int(words[0]), let call = Int(words[1]) {
            let next = states[state].after(history.calls[call].action)
            for state in next where numbers[state] == nil {
                numbers[state] = states.count
                states.append(state)
            }
            try write("\(next.compactMap { numbers[$0] })")
        }
    }

    private func write(_ line: String) throws { try FileHandle.standardOutput.write(contentsOf: Data("\(line)\n".utf8)) }
}

extension CallHistory {
    /// Returns a copy with a random mistake. One order of the calls may still explain it.
    fileprivate func spoilt(using dice: inout SeededGenerator) -> CallHistory {
        // There is a moment between any two times.
        var all = calls.map { (action: $0.action, begin: $0.begin * 2, end: $0.end == .max ? .max : $0.end * 2, isOptional: $0.isOptional) }
        let (one, other) = (Int.random(in: all.indices, using: &dice), Int.random(in: all.indices, using: &dice))
        switch Int.random(in: 0..<7, using: &dice) {
        case 0: all.remove(at: one)
        case 1: all[one].action = all[other].action
        case 2: (all[one].action, all[other].action) = (all[other].action, all[one].action)
        case 3 where all[one].begin < all[other].begin: all[one].end = min(all[one].end, all[other].begin - 1)
        case 4 where all[one].end > all[other].end: all[one].begin = max(all[one].begin, all[other].end + 1)
        case 5 where all[one].end == .max: (all[one].end, all[one].isOptional) = (max(all[one].begin, all[other].begin), false)
        default: all[one].isOptional.toggle()
        }
        var copy = CallHistory()
        for call in all { copy.add(call.action, call.begin, call.end, isOptional: call.isOptional) }
        return copy
    }

    /// A copy in which the calls that may have had no effect never end.
    fileprivate var withoutOptionalEnds: CallHistory {
        var copy = CallHistory()
        for call in calls { copy.add(call.action, call.begin, call.isOptional ? .max : call.end, isOptional: call.isOptional) }
        return copy
    }
}
