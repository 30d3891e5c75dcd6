import Foundation
import Glibc
import LocalData
import TestSupport
import Testing

/// Several processes that use the same two property lists, and processes that are killed during a sweep, which moves
/// all values of a catalog.
@Suite(.inTurn, .serialized, .slow("kills processes at many places"), .tags(.process)) struct ProcessTests {
    func seed(_ stage: Stage, _ count: Int) throws {
        try stage.writePropertyList(Dictionary(uniqueKeysWithValues: (0..<count).map { ("old-\($0)", "value \($0)") }), suite: "legacy")
    }

    /// Returns the numbers of the values in the legacy property list and in the new one.
    ///
    /// Expects that each value is correct. A value can be in both lists while it moves.
    func inventory(_ stage: Stage) throws -> (old: Set<Int>, new: Set<Int>) {
        func numbers(_ suite: String, _ prefix: String) throws -> Set<Int> {
            Set(
                try stage.propertyList(suite: suite).compactMap { name, value in
                    guard name.hasPrefix(prefix), let number = Int(name.dropFirst(prefix.count)) else { return nil }
                    #expect(value as? String == "value \(number)")
                    return number
                })
        }
        return (try numbers("legacy", "old-"), try numbers("modern", "key-"))
    }

    @Test func `two processes that migrate one catalog at once move every value exactly once`() async throws {
        let stage = try Stage()
        let count = 3_000
        try seed(stage, count)
        let workers = [try stage.worker(), try stage.worker()]
        // Both processes are ready before either starts, and they start at opposite ends of the catalog.
        #expect(try await workers[0].run("register", "\(count)") == "done")
        #expect(try await workers[1].run("register", "\(count)", "reversed") == "done")
        async let first = workers[0].ask(untilAnswer: "sweep")
        async let second = workers[1].ask(untilAnswer: "sweep")
        let answers = try await [first, second]
        let moved = answers.map { Int($0.split(separator: " ").last ?? "") ?? 0 }
        #expect(moved.allSatisfy { $0 > 0 }, "\(answers)")
        #expect(moved.reduce(0, +) == count, "\(answers)")
        let (old, new) = try inventory(stage)
        #expect(old.isEmpty)
        #expect(new.count == count)
        print("two processes moved \(moved[0]) and \(moved[1]) of \(count) values")
    }

    @Test func `kill -9 during a sweep loses and duplicates no value`() async throws {
        let rounds = 2
        let count = 3_100
        var landed = 0
        var histogram: [Int: Int] = [:]
        for round in 0..<rounds {
            let stage = try Stage()
            try seed(stage, count)
            let worker = try stage.worker()
            #expect(try await worker.run("register", "\(count)") == "done")
            // A sweep moves pages of 1,024 keys, and reports each page when it is moved. So when the worker is killed after
            // its first lines of progress, the last page is not moved.
            try await worker.kill(during: "sweep", after: 1 + (round * 97) % 500)
            let (old, new) = try inventory(stage)
            #expect(old.union(new) == Set(0..<count), "round \(round): lost \(Set(0..<count).subtracting(old).subtracting(new).count)")
            if !new.isEmpty && !old.isEmpty { landed += 1 }
            histogram[new.count * 10 / count, default: 0] += 1

            let next = try stage.worker()
            #expect(try await next.run("register", "\(count)") == "done")
            let answer = try await next.ask(untilAnswer: "sweep")
            #expect(answer.hasPrefix("moved"), "\(answer)")
            let (rest, all) = try inventory(stage)
            #expect(rest.isEmpty, "round \(round)")
            #expect(all == Set(0..<count), "round \(round)")
        }
        #expect(landed == rounds)
        print("kill -9 during a sweep, \(rounds) rounds of \(count) keys; \(landed) landed with a key moved and a key pending")
        print("moved by the time of the kill: " + (0...10).map { "\($0 * 10)%: \(histogram[$0] ?? 0)" }.joined(separator: "  "))
    }

    @Test func `updates in two processes lose no increment`() async throws {
        let stage = try Stage()
        let workers = [try stage.worker(), try stage.worker()]
        async let first = workers[0].run("increment", "200")
        async let second = workers[1].run("increment", "200")
        #expect(try await [first, second] == ["done", "done"])
        let counter = StorageKey<Int>(name: "counter", domain: .userDefaults, owner: "Worker", description: "A counter")
        #expect(try await stage.launch().get(counter) == 400)
    }
}
