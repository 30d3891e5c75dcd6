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
        let store = store
        let listener = Task { for await _ in store.foreignChanges() {} }
        listener.cancel()
        await listener.value
    }
}
