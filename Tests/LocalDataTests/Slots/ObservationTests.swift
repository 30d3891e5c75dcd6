import BackendContract
import BackendRuntime
import Foundation
import LocalData
import LocalDataTesting
import MemoryBackend
import Synchronization
import TestSupport
import Testing

/// The values and errors that observers of a value receive.
@Suite(.inTurn) struct ObservationTests {
    let machine = TestMachine()

    @Test(.timeLimit(.minutes(10))) func `observers receive two sets and a removal as three events in that order`() async throws {
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

    @Test(.timeLimit(.minutes(10))) func `observers receive a migrated value once`() async throws {
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

    @Test(.timeLimit(.minutes(10))) func `an observation begins with the current value, also from a legacy location`() async throws {
        machine.seedUserDefaults(["old": .string("moved")], suite: "a")
        var values = machine.launch().values(for: Places.key).makeAsyncIterator()
        #expect(try await values.next() == "moved")
    }

    @Test(.timeLimit(.minutes(10)))
    func `a change by another process that is reported before a change of this process is published is received`() async throws {
        let (router, other) = (machine.launch(), machine.launch())
        var values = router.values(for: Places.key).makeAsyncIterator()
        _ = try await values.next()
        machine.seedUserDefaults(["old": .string("moved")], suite: "a")
        // The second read of the destination is the one that verifies the moved value. Its change is published after that read.
        let gate = FaultGate()
        try #require(machine.backends(of: Places.modern).first).inject(.hold(gate), at: 2, of: .read)
        let get = Task { try await router.get(Places.key) }
        await gate.untilArrivals(1)
        try await other.set("newer", for: Places.key)
        for _ in 0..<1_000 { await Task.yield() }
        gate.open()
        _ = try await get.value
        var last = try await values.next()
        while last != "newer" { last = try await values.next() }
        #expect(last == "newer")
    }

    @Test(.timeLimit(.minutes(10))) func `a value that has expired before it is delivered is delivered as absent`() async throws {
        let router = machine.launch()
        var values = router.values(for: Places.bare).makeAsyncIterator()
        _ = try await values.next()
        try await router.set("x", for: Places.bare, expiresAt: Date(timeIntervalSince1970: 1))
        #expect(try await values.next() == .some(nil))
    }

    @Test(.timeLimit(.minutes(10))) func `a slow observer receives the latest value, after at most 63 earlier ones`() async throws {
        let router = machine.launch()
        var values = router.values(for: Places.bare).makeAsyncIterator()
        _ = try await values.next()
        for number in 1...1_000 { try await router.set("\(number)", for: Places.bare) }
        var seen: [Int] = []
        while seen.last != 1_000 { seen.append(try await values.next().flatMap { $0 }.flatMap(Int.init) ?? -1) }
        #expect(seen == seen.sorted())
        #expect(seen.count <= 64)
    }

    @Test(.timeLimit(.minutes(10)))
    func `if the value cannot be read after a change, the observation ends with the error of that read`() async throws {
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

    @Test(.timeLimit(.minutes(10)))
    func `an observer never receives an older value after a newer one, also if another router changes the value`() async throws {
        let (router, other) = (machine.launch(), machine.launch())
        var values = router.values(for: Places.bare).makeAsyncIterator()
        _ = try await values.next()
        for round in 0..<50 {
            try await other.set("\(round * 3)", for: Places.bare)
            // Give the notification of this change time to arrive before the next changes.
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

    @Test(.timeLimit(.minutes(10)))
    func `after a change with an unknown outcome, the value is re-read and delivered to observers`() async throws {
        let router = machine.launch()
        var values = router.values(for: Places.bare).makeAsyncIterator()
        _ = try await values.next()
        try #require(machine.backends(of: Places.modern).first).inject(.loseAnswer, of: .apply)
        await #expect(throws: StorageError.self) { try await router.set("perhaps", for: Places.bare) }
        #expect(try await values.next() == "perhaps")
    }

    @Test(.timeLimit(.minutes(10))) func `observers receive changes of another router on the same property list`() async throws {
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

    @Test(.timeLimit(.minutes(10)))
    func `if a store stops reporting changes of other processes, it is watched again, and missed changes are delivered`()
        async throws
    {
        let clock = ManualClock()
        let store = DeafStore()
        var configuration = StorageConfiguration.inMemory()
        configuration.runtime.clock = clock
        configuration.useBackend(for: .userDefaults) { _ in store }
        let router = StorageRouter(configuration: configuration)
        var values = router.values(for: textKey("watched", .userDefaults)).makeAsyncIterator()
        #expect(try await values.next() == .some(nil))
        for round in 1...3 {
            let (watches, scheduled) = (store.watches, clock.scheduled)
            store.endWatches()
            await clock.untilScheduled(scheduled + 1)
            try await store.writeElsewhere("\(round)")
            #expect(store.watches == watches)
            // The pause before each new watch is twice the previous pause, because no watch reported a change in between.
            clock.advance(by: .seconds(1 << (round - 1)))
            #expect(try await values.next() == "\(round)")
            #expect(store.watches == watches + 1)
        }
        // After a watch that reported a change, the next pause is one second again.
        try await store.writeElsewhere("told")
        #expect(try await values.next() == "told")
        let scheduled = clock.scheduled
        store.endWatches()
        await clock.untilScheduled(scheduled + 1)
        try await store.writeElsewhere("missed")
        clock.advance(by: .seconds(1))
        #expect(try await values.next() == "missed")
        // After the shutdown, no new watch is scheduled.
        try await router.shutdown()
        #expect(clock.pending == 0)
    }

    @Test(.timeLimit(.minutes(10))) func `a temporarily unavailable store does not end the observation`() async throws {
        let clock = ManualClock()
        let store = DeafStore()
        var configuration = StorageConfiguration.inMemory()
        configuration.runtime.clock = clock
        configuration.useBackend(for: .userDefaults) { _ in store }
        let router = StorageRouter(configuration: configuration)
        let isWatching = Shared(false)
        let reader = Task {
            var values = router.values(for: textKey("watched", .userDefaults)).makeAsyncIterator()
            _ = try await values.next()
            isWatching.value.withLock { $0 = true }
            return try await values.next()
        }
        while !isWatching.value.withLock(\.self) { await Task.yield() }
        store.isAway = true
        for round in 0..<3 {
            let scheduled = clock.scheduled
            store.endWatches()
            await clock.untilScheduled(scheduled + 1)
            if round == 2 { store.isAway = false }
            try await store.writeElsewhere("\(round)")
            let asked = store.statusCalls
            clock.advance(by: .seconds(1 << round))
            while store.statusCalls == asked { await Task.yield() }
            // Give the re-read time to fail.
            for _ in 0..<1_000 { await Task.yield() }
        }
        #expect(try await reader.value == "2")
    }

    @Test(.timeLimit(.minutes(10))) func `a shutdown ends every observation`() async throws {
        let router = machine.launch()
        var values = router.values(for: Places.bare).makeAsyncIterator()
        _ = try await values.next()
        try await router.shutdown()
        #expect(try await values.next() == nil)
    }
}

/// A store in memory whose notifications about changes of other processes can end.
private final class DeafStore: WrappingBackend, ObservableBackend {
    let base: any StorageBackend
    private let other: InMemoryStore
    private struct State {
        var watches = 0
        var continuations: [AsyncStream<Set<StorageAddress>?>.Continuation] = []
        var isAway = false
        var statusCalls = 0
    }

    private let state = Mutex(State())

    init() {
        let medium = MemoryMedium()
        base = InMemoryStore(medium: medium)
        other = InMemoryStore(medium: medium, runtime: .live)
    }

    /// The number of watches that were started.
    var watches: Int { state.withLock(\.watches) }

    /// The number of calls of `status()`.
    var statusCalls: Int { state.withLock(\.statusCalls) }
    /// Whether the store is unavailable.
    var isAway: Bool {
        get { state.withLock(\.isAway) }
        set { state.withLock { $0.isAway = newValue } }
    }

    func endWatches() {
        for continuation in state.withLock({ state in
            defer { state.continuations = [] }
            return state.continuations
        }) { continuation.finish() }
    }

    func writeElsewhere(_ text: String) async throws {
        _ = try await other.apply([.put(.native(.string(text)), at: StorageAddress("watched"))])
        for continuation in state.withLock(\.continuations) { continuation.yield(nil) }
    }

    func foreignChanges() -> AsyncStream<Set<StorageAddress>?> {
        let (stream, continuation) = AsyncStream.makeStream(of: Set<StorageAddress>?.self)
        state.withLock { state in
            state.watches += 1
            state.continuations.append(continuation)
        }
        return stream
    }

    func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        isAway ? addresses.map { _ in .unavailable(Self.away) } : try await base.read(addresses, freshness)
    }

    func status() async -> BackendStatus {
        state.withLock { state in
            state.statusCalls += 1
            return state.isAway ? .unavailable(Self.away) : .ready
        }
    }

    private static let away = BackendError(.unavailable, "The store is away.")
}
