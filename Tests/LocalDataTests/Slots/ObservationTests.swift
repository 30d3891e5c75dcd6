import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// CA6, and what else those who watch a value are told.
@Suite(.inTurn) struct ObservationTests {
    let machine = TestMachine()

    @Test(.timeLimit(.minutes(10))) func `CA6: set, set, remove are those events in that order`() async throws {
        let router = machine.launch()
        var values = router.values(for: Places.key).makeAsyncIterator()
        #expect(try await values.next() == .some(nil))
        try await router.set("1", for: Places.key)
        try await router.set("2", for: Places.key)
        try await router.remove(Places.key)
        #expect(try await values.next() == "1")
        #expect(try await values.next() == "2")
        #expect(try await values.next() == .some(nil))
    }

    @Test(.timeLimit(.minutes(10))) func `CA6: a migration is one event`() async throws {
        let router = machine.launch()
        var values = router.values(for: Places.key).makeAsyncIterator()
        #expect(try await values.next() == .some(nil))
        machine.seedUserDefaults(["old": .string("moved")], suite: "a")
        #expect(try await router.get(Places.key) == "moved")
        _ = await router.sweep(TestCatalog([.key(Places.key)]))
        try await router.set("last", for: Places.key)
        #expect(try await values.next() == "moved")
        #expect(try await values.next() == "last")
    }

    @Test(.timeLimit(.minutes(10))) func `a walk begins with the value of today, wherever it was`() async throws {
        machine.seedUserDefaults(["old": .string("moved")], suite: "a")
        var values = machine.launch().values(for: Places.key).makeAsyncIterator()
        #expect(try await values.next() == "moved")
    }

    @Test(.timeLimit(.minutes(10))) func `who does not listen finds the latest value, and no more than the bound before it`() async throws {
        let router = machine.launch()
        var values = router.values(for: Places.bare).makeAsyncIterator()
        _ = try await values.next()
        for number in 1...1_000 { try await router.set("\(number)", for: Places.bare) }
        var seen: [Int] = []
        while seen.last != 1_000 { seen.append(try await values.next().flatMap { $0 }.flatMap(Int.init) ?? -1) }
        #expect(seen == seen.sorted())
        #expect(seen.count <= 64)
    }

    @Test(.timeLimit(.minutes(10))) func `a read that fails ends the walk with its error`() async throws {
        let router = machine.launch()
        var values = router.values(for: Places.bare).makeAsyncIterator()
        _ = try await values.next()
        machine.lock(Places.modern)
        machine.writeForeign(.string("from outside"), to: Places.modern, name: "new")
        do {
            _ = try await values.next()
            Issue.record("nothing was thrown")
        } catch { #expect(StorageError.locked ~= error, "\(error)") }
        #expect(try await values.next() == nil)
    }

    @Test(.timeLimit(.minutes(10))) func `changes of another process never put an older value after a newer one`() async throws {
        let (router, other) = (machine.launch(), machine.launch())
        var values = router.values(for: Places.bare).makeAsyncIterator()
        _ = try await values.next()
        for round in 0..<50 {
            try await other.set("\(round * 3)", for: Places.bare)
            // Time for the news of it to arrive before the changes of this process.
            for _ in 0..<200 { await Task.yield() }
            try await router.set("\(round * 3 + 1)", for: Places.bare)
            try await router.set("\(round * 3 + 2)", for: Places.bare)
            if round % 3 == 0 { _ = try await values.next() }
        }
        var seen: [Int] = []
        while seen.last != 149 { seen.append(try await values.next().flatMap { $0 }.flatMap(Int.init) ?? -1) }
        #expect(seen == seen.sorted(), "\(seen)")
        #expect(Set(seen).count == seen.count, "\(seen)")
    }

    @Test(.timeLimit(.minutes(10))) func `a change of which nobody knows whether it happened is looked for`() async throws {
        let router = machine.launch()
        var values = router.values(for: Places.bare).makeAsyncIterator()
        _ = try await values.next()
        try #require(machine.backends(of: Places.modern).first).inject(.loseAnswer, of: .apply)
        await #expect(throws: StorageError.self) { try await router.set("perhaps", for: Places.bare) }
        #expect(try await values.next() == "perhaps")
    }

    @Test(.timeLimit(.minutes(10))) func `a change of another router on one property list is noticed`() async throws {
        let stage = try Stage()
        let key = textKey("watched", .userDefaults)
        let (router, other) = (stage.launch(), stage.launch())
        try await other.set("before", for: key)
        var values = router.values(for: key).makeAsyncIterator()
        #expect(try await values.next() == "before")
        try await other.set("after", for: key)
        #expect(try await values.next() == "after")
        try await other.remove(key)
        #expect(try await values.next() == .some(nil))
    }

    @Test(.timeLimit(.minutes(10))) func `a shutdown ends every walk`() async throws {
        let router = machine.launch()
        var values = router.values(for: Places.bare).makeAsyncIterator()
        _ = try await values.next()
        try await router.shutdown()
        #expect(try await values.next() == nil)
    }
}
