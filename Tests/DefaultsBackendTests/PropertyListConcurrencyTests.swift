import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import Synchronization
import TestSupport
import Testing

/// Tests of concurrent calls. A store runs its file operations on a lane, a serial queue for work that may block.
/// Changes that wait for the lane at the same time form a group, which rewrites the file once.
/// A slot is a named place for one value.
@Suite(.inTurn) struct PropertyListConcurrencyTests {
    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    @Test func `a read of a value that is still current in memory does not use the lane`() async throws {
        let (lane, clock) = (TestLane(), ManualClock(.inRealTime))
        let store = scratch.store(.live(clock: clock, lane: lane))
        let address = StorageAddress("a")
        _ = try await store.apply(.put(.text("x"), at: address))
        #expect(lane.count == 1)
        for _ in 0..<1_000 { #expect(try await store.read(address).text == "x") }
        #expect(lane.count == 1, "what was just written is in memory")
        clock.advance(by: .seconds(1))
        for _ in 0..<1_000 { #expect(try await store.read(address).text == "x") }
        #expect(lane.count == 2, "one re-read once the modification time cannot hide a change")
        clock.advance(by: .seconds(1_000))
        let begin = ContinuousClock.now
        for _ in 0..<10_000 { #expect(try await store.read(address).text == "x") }
        print("hot read: \((ContinuousClock.now - begin) / 10_000) each")
        #expect(lane.count == 2)
        for _ in 0..<10 { _ = try await store.read(address, .fresh) }
        #expect(lane.count == 12, "a fresh read always looks at the disk")
    }

    @Test func `a value that is too large for the disk does not fail other calls of its group`() async throws {
        let (lane, clock) = (TestLane(), ManualClock())
        let files = HookedFiles(largest: 100_000)
        let store = scratch.store(.live(files: files, clock: clock, lane: lane))
        lane.hold()
        var tasks: [Task<[MutationResult], any Error>] = []
        for number in 0..<6 {
            let text = number == 3 ? String(repeating: "x", count: 200_000) : "\(number)"
            tasks.append(Task { try await store.apply([.put(.text(text), at: StorageAddress("value \(number)"))]) })
            await clock.untilScheduled(number + 1)
        }
        #expect(lane.held == 1)
        lane.release()
        for (number, task) in tasks.enumerated() {
            let result = try await task.value[0]
            #expect(number == 3 ? result.error?.code == .noSpace : result.isApplied, "\(number): \(result)")
        }
        let names = Set(try await scratch.store().addresses(in: .values).map(\.name))
        #expect(names == ["value 0", "value 1", "value 2", "value 4", "value 5"])
    }

    @Test(.slow("goes through real files many times"))
    func `programs with different lock folders write one list without failures or lost writes`() async throws {
        let stores = ["one", "two", "three"].map { scratch.store(locks: $0) }
        try await withThrowingTaskGroup { group in
            for (number, store) in stores.enumerated() {
                group.addTask {
                    for write in 0..<100 {
                        let result = try await store.apply([.put(.text("x"), at: StorageAddress("\(number).\(write)"))])[0]
                        #expect(result.isApplied, "\(number).\(write): \(result)")
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await scratch.store().addresses(in: .values).count == 300)
    }

    @Test func `reads of a missing file use the lane only once`() async throws {
        let lane = TestLane()
        let store = scratch.store(.live(lane: lane))
        for _ in 0..<100 { #expect(try await store.read(StorageAddress("a")) == .absent) }
        #expect(lane.count == 1)
        try scratch.writeForeign(["a": "x"])
        #expect(try await store.read(StorageAddress("a")).text == "x")
    }

    @Test func `a later read finds a change that left the inode, the size and the modification time of the file unchanged`() async throws {
        let clock = ManualClock(.inRealTime)
        let store = scratch.store(.live(clock: clock))
        try scratch.writeForeign(["a": "1"])
        #expect(try await store.read(StorageAddress("a")).text == "1")
        // The hook freezes the modification time, to simulate a rewrite within one tick of the file system's clock.
        // The file keeps its inode and its size, so only the modification time could show the change.
        let files = HookedFiles(frozen: scratch.path())
        let blind = scratch.store(.live(files: files, clock: clock))
        #expect(try await blind.read(StorageAddress("a")).text == "1")
        try scratch.writeForeign(["a": "2"])
        clock.advance(by: .milliseconds(60))
        #expect(try await blind.read(StorageAddress("a")).text == "2")
    }

    @Test func `a write keeps a change by another program that left the modification time unchanged`() async throws {
        try scratch.writeForeign(["a": "1"])
        let store = scratch.store(.live(files: HookedFiles(frozen: scratch.path()), clock: ManualClock(.inRealTime)))
        #expect(try await store.read(StorageAddress("a")).text == "1")
        try scratch.writeForeign(["a": "2"])
        _ = try await store.apply(.put(.text("x"), at: StorageAddress("b")))
        #expect(try scratch.foundationEntries()["a"] as? String == "2")
    }

    @Test func `a store keeps what another program writes after the store has read the file and before it renames the new file`()
        async throws
    {
        try scratch.writeForeign(["a": "1"])
        let scratch = scratch
        let writes = Mutex(0)
        let folder = scratch.root + "/config"
        let files = HookedFiles { operation, path in
            guard operation == "createDirectory", path == folder else { return }
            let write = writes.withLock { count in
                count += 1
                return count
            }
            if write <= 2 { try? scratch.writeForeign(["a": "2", "theirs": write]) }
        }
        #expect(try await scratch.store(.live(files: files)).apply(.put(.text("x"), at: StorageAddress("b"))).isApplied)
        let entries = try scratch.foundationEntries()
        #expect(entries["a"] as? String == "2")
        #expect(entries["theirs"] as? Int == 2)
        #expect(entries["b"] as? String == "x")
        #expect(files.count("rename") == 1)
    }

    @Test func `concurrent writes share few rewrites of the file, and only one of the writes that require an empty slot is applied`()
        async throws
    {
        let files = HookedFiles()
        let lane = TestLane(isHeld: true)
        let store = scratch.store(.live(files: files, lane: lane))
        let results = try await withThrowingTaskGroup(of: MutationResult.self) { group in
            for number in 0..<64 {
                group.addTask { try await store.apply(.put(.native(.integer(Int64(number))), at: StorageAddress("slot \(number)"))) }
            }
            for _ in 0..<16 { group.addTask { try await store.apply(.put(.text("winner"), at: StorageAddress("one"), if: .absent)) } }
            await lane.untilHeld(1)
            lane.release()
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(results.count(where: \.isApplied) == 65, "64 puts and exactly one of the 16 that wanted an empty slot")
        let rewrites = files.count("rename")
        print("80 calls shared \(rewrites) rewrites")
        #expect(rewrites < 40)
        let other = scratch.store()
        for number in 0..<64 { #expect(try await other.read(StorageAddress("slot \(number)")).native == .integer(Int64(number))) }
    }

    @Test func `changes that arrive while the store waits for the lock share one rewrite`() async throws {
        let (clock, gate) = (ManualClock(), Gate())
        let lockPath = scratch.lockPath()
        let files = HookedFiles { operation, path in if operation == "lock", path == lockPath { gate.block() } }
        let store = scratch.store(.live(files: files, clock: clock))
        var tasks: [Task<MutationResult, any Error>] = []
        for number in 0..<10 {
            tasks.append(Task { try await store.apply(.put(.native(.integer(Int64(number))), at: StorageAddress("slot \(number)"))) })
            await clock.untilScheduled(number + 1)
            // The first change waits on the lane, as if another process held the lock.
            if number == 0 { await gate.arrived() }
        }
        gate.open()
        for task in tasks { #expect(try await task.value.isApplied) }
        #expect(files.count("rename") == 1)
        #expect(files.locks("suite.lock") == 1)
    }

    @Test func `concurrent calls of synchronize share one flush`() async throws {
        try scratch.writeForeign(["a": 1])
        let (clock, lane, files) = (ManualClock(), TestLane(isHeld: true), HookedFiles())
        let store = scratch.store(.live(files: files, clock: clock, lane: lane))
        var tasks: [Task<StorageDurability, any Error>] = []
        for number in 0..<10 {
            tasks.append(Task { try await store.synchronize() })
            await clock.untilScheduled(number + 1)
        }
        lane.release()
        for task in tasks { #expect(try await task.value == .durable) }
        #expect(files.count("synchronizeFile") == 1)
        #expect(files.locks("suite.lock") == 1)
    }

    @Test func `of 100 tasks that change the same revision through two stores, exactly one is applied in each round`() async throws {
        let stores = [scratch.store(), scratch.store()]
        let address = StorageAddress("contended")
        var revision: StorageRevision?
        for round in 0..<10 {
            let condition = revision.map(StorageMutation.Precondition.revision) ?? .absent
            let winners = try await withThrowingTaskGroup(of: StorageRevision?.self) { group in
                for task in 0..<100 {
                    let store = stores[task % 2]
                    group.addTask { try await store.apply(.put(.native(.integer(Int64(task))), at: address, if: condition)).revision }
                }
                return try await group.reduce(into: [StorageRevision]()) { if let revision = $1 { $0.append(revision) } }
            }
            #expect(winners.count == 1, "round \(round)")
            revision = winners.first
            for store in stores { #expect(try await store.read(address).revision == revision) }
        }
    }

    @Test func `two processes lose no increment of a shared counter`() async throws {
        let path = scratch.path("shared")
        async let first = scratch.probe("count", path, "number", "60")
        async let second = scratch.probe("count", path, "number", "60")
        let runs = try await [first, second]
        #expect(runs.map(\.status) == [0, 0])
        let entries = try scratch.foundationEntries("shared")
        #expect(entries["number"] as? Int == 120, "\(runs.map(\.output))")
    }

    @Test(.slow("goes through real files many times")) func `a write by one instance is seen by the next read of another`() async throws {
        let (one, two) = (scratch.store(), scratch.store())
        for number in 0..<50 {
            _ = try await one.apply(.put(.native(.integer(Int64(number))), at: StorageAddress("n")))
            #expect(try await two.read(StorageAddress("n")).native == .integer(Int64(number)))
        }
    }

    @Test func `the cost of durable writes and large files is printed`() async throws {
        let store = scratch.store()
        let names = (0..<1_000).map { StorageAddress("com.example.setting.\($0)") }
        _ = try await store.apply(names.map { .put(.text("some ordinary text"), StorageMetadata(serializer: "json"), at: $0) })
        let begin = ContinuousClock.now
        for number in 0..<50 { _ = try await store.apply(.put(.native(.integer(Int64(number))), at: names[number])) }
        print("durable put into 1,000 entries: \((ContinuousClock.now - begin) / 50) each")
        let opening = ContinuousClock.now
        #expect(try await scratch.store().addresses(in: .values).count == 1_000)
        print("opening 1,000 entries: \(ContinuousClock.now - opening)")
    }
}
