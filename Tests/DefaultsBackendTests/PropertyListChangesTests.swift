import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import TestSupport
import Testing

/// Tests that a property list store notices changes by other programs and reports them to a listener.
/// A slot is a place for one value. Its address is a name in a namespace.
@Suite(.inTurn) struct PropertyListChangesTests {
    let scratch: Scratch
    let store: PropertyListStore

    init() throws {
        scratch = try Scratch()
        store = scratch.store()
    }

    @Test(.timeLimit(.minutes(10))) func `only changes by other programs are reported, with their addresses`() async throws {
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

    @Test(.timeLimit(.minutes(10))) func `an in-place rewrite by Foundation is noticed`() async throws {
        try scratch.writeForeign(["a": "1", "b": "1"])
        _ = try await store.read(StorageAddress("a"))
        var changes = store.foreignChanges().makeAsyncIterator()
        try scratch.writeForeign(["a": "1", "b": "2", "c": "1"])
        #expect(await changes.next() == [StorageAddress("b"), StorageAddress("c")])
    }

    @Test(.timeLimit(.minutes(10))) func `removing the file is reported as a change of every entry that it had`() async throws {
        try scratch.writeForeign(["a": "1"])
        _ = try await store.read(StorageAddress("a"))
        var changes = store.foreignChanges().makeAsyncIterator()
        try FileManager.default.removeItem(atPath: scratch.path())
        #expect(await changes.next() == [StorageAddress("a")])
    }

    @Test(.timeLimit(.minutes(10))) func `damage of the file is reported as a possible change of every slot`() async throws {
        try scratch.writeForeign(["a": "1"])
        _ = try await store.read(StorageAddress("a"))
        var changes = store.foreignChanges().makeAsyncIterator()
        try scratch.write([1, 2, 3], to: scratch.path())
        #expect(await changes.next() == .some(nil))
    }

    @Test(.timeLimit(.minutes(10))) func `a missing directory is watched once it exists, and watching does not create it`() async throws {
        #expect(try await store.read(StorageAddress("a"), .fresh) == .absent)
        var changes = store.foreignChanges().makeAsyncIterator()
        #expect(try scratch.names(in: scratch.root).isEmpty)
        _ = try await scratch.store().apply(.put(.text("1"), at: StorageAddress("a")))
        #expect(await changes.next() == [StorageAddress("a")])
    }

    @Test(.timeLimit(.minutes(10))) func `a store stops watching its file when the only listener is cancelled`() async throws {
        let tasks = CountingSpawner()
        var runtime = Runtime.live
        runtime.tasks = tasks
        let store = scratch.store(runtime)
        let (changes, continuation) = AsyncStream.makeStream(of: Set<StorageAddress>?.self)
        let listener = Task { for await change in store.foreignChanges() { continuation.yield(change) } }
        // A reported change proves that the directory is watched.
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
        // Watching is the only task of the store that outlives a call. When it ends, no task is running.
        var running: Int?
        for await count in tasks.counts {
            running = count
            if count == 0 { break }
        }
        #expect(running == 0)
    }
}

/// Starts tasks on the cooperative pool, and yields the number of running tasks whenever one ends.
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
