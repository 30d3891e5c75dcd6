import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import TestSupport
import Testing

@Suite(.inTurn) struct PropertyListChangesTests {
    let scratch: Scratch
    let store: PropertyListStore

    init() throws {
        scratch = try Scratch()
        store = scratch.store()
    }

    @Test(.timeLimit(.minutes(10))) func `changes of other programs are named, our own are not`() async throws {
        _ = try await store.apply([.put(.text("1"), at: StorageAddress("mine")), .put(.text("1"), at: StorageAddress("shared"))])
        var changes = store.foreignChanges().makeAsyncIterator()
        let other = scratch.store()
        _ = try await store.apply(.put(.text("2"), at: StorageAddress("mine")))
        _ = try await other.apply(.put(.text("2"), at: StorageAddress("shared")))
        #expect(await changes.next() == [StorageAddress("shared")])
        _ = try await store.apply(.put(.text("3"), at: StorageAddress("mine")))
        _ = try await other.apply([.delete(StorageAddress("shared")), .tombstone(at: StorageAddress("gone"))])
        #expect(await changes.next() == [StorageAddress("shared"), StorageAddress("gone")])
    }

    @Test(.timeLimit(.minutes(10))) func `Foundation's rewriting in place is noticed`() async throws {
        try scratch.writeForeign(["a": "1", "b": "1"])
        _ = try await store.read(StorageAddress("a"))
        var changes = store.foreignChanges().makeAsyncIterator()
        try scratch.writeForeign(["a": "1", "b": "2", "c": "1"])
        #expect(await changes.next() == [StorageAddress("b"), StorageAddress("c")])
    }

    @Test(.timeLimit(.minutes(10))) func `the removal of the file is a change of everything in it`() async throws {
        try scratch.writeForeign(["a": "1"])
        _ = try await store.read(StorageAddress("a"))
        var changes = store.foreignChanges().makeAsyncIterator()
        try FileManager.default.removeItem(atPath: scratch.path())
        #expect(await changes.next() == [StorageAddress("a")])
    }

    @Test(.timeLimit(.minutes(10))) func `damage may concern any slot`() async throws {
        try scratch.writeForeign(["a": "1"])
        _ = try await store.read(StorageAddress("a"))
        var changes = store.foreignChanges().makeAsyncIterator()
        try scratch.write([1, 2, 3], to: scratch.path())
        #expect(await changes.next() == .some(nil))
    }

    @Test(.timeLimit(.minutes(10))) func `a directory that is not there yet is watched once it is, and watching makes none`() async throws {
        #expect(try await store.read(StorageAddress("a"), .fresh) == .absent)
        var changes = store.foreignChanges().makeAsyncIterator()
        #expect(try scratch.names(in: scratch.root).isEmpty)
        _ = try await scratch.store().apply(.put(.text("1"), at: StorageAddress("a")))
        #expect(await changes.next() == [StorageAddress("a")])
    }

    @Test(.timeLimit(.minutes(10))) func `a watch ends with its listener`() async throws {
        let tasks = CountingSpawner()
        var runtime = Runtime.live
        runtime.tasks = tasks
        let store = scratch.store(runtime)
        let (changes, continuation) = AsyncStream.makeStream(of: Set<StorageAddress>?.self)
        let listener = Task { for await change in store.foreignChanges() { continuation.yield(change) } }
        // The directory is watched as soon as a change was reported.
        let other = scratch.store()
        let writer = Task {
            var number = 0
            while !Task.isCancelled {
                number += 1
                _ = try await other.apply(.put(.text("\(number)"), at: StorageAddress("a")))
            }
        }
        for await change in changes {
            #expect(change == [StorageAddress("a")])
            break
        }
        writer.cancel()
        listener.cancel()
        await listener.value
        // The watch is a task of the store. Every other task ends with its call.
        var running: Int?
        for await count in tasks.counts {
            running = count
            if count == 0 { break }
        }
        #expect(running == 0)
    }
}

/// Starts tasks on the pool, and reports how many of them run whenever one has ended.
private final class CountingSpawner: TaskSpawner {
    let counts: AsyncStream<Int>
    private let continuation: AsyncStream<Int>.Continuation
    private let running = Shared(0)

    init() { (counts, continuation) = AsyncStream.makeStream(of: Int.self) }

    func spawn(_ operation: @escaping @Sendable () async -> Void) -> ScheduledAction {
        running.count()
        return PoolSpawner().spawn { [self] in
            await operation()
            continuation.yield(running.count(by: -1))
        }
    }
}
