import BackendContract
import BackendRuntime
import DefaultsBackend
import Foundation
import Synchronization
import TestSupport
import Testing

/// Tests of other programs that overwrite a property list with an older copy that they have in memory.
/// That discards later changes by this store, which therefore applies them again.
@Suite(.inTurn, .slow("starts programs"), .tags(.process)) struct OverwrittenTests {
    let scratch: Scratch
    let a = StorageAddress("a")
    let b = StorageAddress("b")

    init() throws { scratch = try Scratch() }

    /// Reads the current content of the file.
    private func bytes() throws -> [UInt8] { try #require(try PosixFileSystem().read(scratch.path())).bytes }

    /// Overwrites the existing file, as Foundation does, instead of replacing it with a new one.
    private func overwrite(with bytes: [UInt8]) throws {
        let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: scratch.path()))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: Data(bytes))
        try handle.close()
    }

    private func store(_ reports: Shared<[OverwrittenChanges]>, _ runtime: Runtime = .live) -> PropertyListStore {
        PropertyListStore(
            path: scratch.path(), lockPath: scratch.lockPath(), quarantineDirectory: scratch.quarantine, deadline: .seconds(30),
            runtime: runtime
        ) { report in reports.value.withLock { $0.append(report) } }
    }

    @Test func `changes that another program overwrote with an older copy are applied again and reported`() async throws {
        let reports = Shared<[OverwrittenChanges]>([])
        let store = store(reports)
        _ = try await store.apply([.put(.text("1"), at: a), .put(.text("kept"), at: b)])
        let older = try bytes()
        _ = try await store.apply([.put(.text("2"), at: a)])
        _ = try await store.apply([.put(.text("new"), at: StorageAddress("c"))])
        let revision = try await store.read(a).revision
        try overwrite(with: older)
        // A read is enough to restore the changes; no further write by this store is needed.
        #expect(try await store.read(a).text == "2")
        #expect(try await store.read(StorageAddress("c")).text == "new")
        let found = try await scratch.store().read([a, b, StorageAddress("c")], .fresh)
        #expect(found.map(\.text) == ["2", "kept", "new"], "the file, seen by another program")
        #expect(found[0].revision == revision)
        let report = reports.value.withLock(\.self)
        #expect(report.map(\.repeated) == [[a, StorageAddress("c")]] && report.map(\.lost) == [[]])
        #expect(report.first?.path == scratch.path())
        // The second overwrite is detected by a write of this store.
        try overwrite(with: older)
        _ = try await store.apply([.put(.text("3"), at: b)])
        #expect(try await scratch.store().read([a, b], .fresh).map(\.text) == ["2", "3"])
    }

    @Test(arguments: [true, false]) func `a removal that an older copy overwrites is applied again`(leavesTrace: Bool) async throws {
        let store = scratch.store()
        _ = try await store.apply([.put(.text("secret"), at: a)])
        let older = try bytes()
        _ = try await store.apply([leavesTrace ? .tombstone(at: a) : .delete(a)])
        try overwrite(with: older)
        #expect(try await store.read(a).text == nil)
        #expect(try await scratch.store().read(a, .fresh).text == nil, "the file, seen by another program")
    }

    @Test func `a value that another program sets or removes on purpose is left unchanged`() async throws {
        let reports = Shared<[OverwrittenChanges]>([])
        let store = store(reports)
        _ = try await store.apply([.put(.text("1"), at: a), .put(.text("1"), at: b)])
        _ = try await store.apply([.put(.text("2"), at: a), .put(.text("2"), at: b)])
        // Like Foundation, the other program keeps entries that it did not change, among them the metadata.
        var entries = try scratch.foundationEntries()
        entries["a"] = "1"
        entries["b"] = nil
        try overwrite(with: Scratch.propertyList(entries))
        #expect(try await store.read(a).text == "1")
        #expect(try await store.read(b) == .absent)
        _ = try await store.apply([.put(.text("x"), at: StorageAddress("c"))])
        #expect(try await scratch.store().read([a, b], .fresh).map(\.text) == ["1", nil])
        #expect(reports.value.withLock(\.self).isEmpty)
    }

    @Test func `a removal by another program that uses this library is not undone`() async throws {
        let store = scratch.store()
        _ = try await store.apply([.put(.text("1"), at: a)])
        _ = try await scratch.store().apply([.delete(a)])
        #expect(try await store.read(a) == .absent)
        // The removal is also kept if this store reads nothing between its write and the removal.
        _ = try await store.apply([.put(.text("1"), at: b)])
        _ = try await scratch.store().apply([.delete(b)])
        try overwrite(with: bytes())
        #expect(try await store.read(b) == .absent)
    }

    @Test func `changes that are lost when an older file replaces the list are reported once, and not applied again`() async throws {
        let reports = Shared<[OverwrittenChanges]>([])
        let store = store(reports)
        _ = try await store.apply([.put(.text("1"), at: a)])
        let older = try bytes()
        _ = try await store.apply([.put(.text("2"), at: a)])
        try Data(older).write(to: URL(fileURLWithPath: scratch.path()), options: .atomic)
        #expect(try await store.read(a).text == "1")
        #expect(try await store.read(a).text == "1")
        #expect(reports.value.withLock(\.self).map(\.lost) == [[a]], "reported once")
    }

    @Test func `a change older than a minute is not applied again, but reported as lost`() async throws {
        let clock = ManualClock(.inRealTime)
        let reports = Shared<[OverwrittenChanges]>([])
        let store = store(reports, .live(clock: clock))
        _ = try await store.apply([.put(.text("1"), at: a)])
        let older = try bytes()
        _ = try await store.apply([.put(.text("2"), at: a)])
        clock.advance(by: .seconds(61))
        try overwrite(with: older)
        #expect(try await store.read(a).text == "1")
        let report = reports.value.withLock(\.self)
        #expect(report.map(\.repeated) == [[]] && report.map(\.lost) == [[a]])
    }

    @Test func `observers are not notified of changes that were overwritten and applied again`() async throws {
        let store = scratch.store()
        _ = try await store.apply([.put(.text("1"), at: a)])
        let older = try bytes()
        _ = try await store.apply([.put(.text("2"), at: a)])
        var changes = store.foreignChanges().makeAsyncIterator()
        try overwrite(with: older)
        #expect(try await store.read(a).text == "2")
        _ = try await scratch.store().apply([.put(.text("theirs"), at: b)])
        #expect(await changes.next() == [b])
    }

    @Test(.timeLimit(.minutes(10)))
    func `no acknowledged write is lost while another program rewrites the list with Foundation`()
        async throws
    {
        let suite = "hammered"
        let scratch = scratch
        let reports = Shared<[OverwrittenChanges]>([])
        let store = PropertyListStore(
            path: scratch.path(suite), lockPath: scratch.lockPath(suite), quarantineDirectory: scratch.quarantine, deadline: .seconds(30),
            runtime: .live
        ) { report in reports.value.withLock { $0.append(report) } }
        _ = try await store.apply([.put(.text("first"), at: a)])
        var environment = ProcessInfo.processInfo.environment
        environment["XDG_CONFIG_HOME"] = "\(scratch.root)/config"
        let program = try RunningProgram(worker: "defaults", ["hammer-defaults", suite, "theirs"], environment: environment)
        #expect(try await program.line() == "started")
        var acknowledged: [(address: StorageAddress, at: ContinuousClock.Instant)] = []
        // The other program is so fast that the store refuses many changes. So the number of attempts is open.
        var number = 0
        while number < 200 || acknowledged.count <= 20 {
            let address = StorageAddress("ours \(number)")
            if try await store.apply([.put(.text("\(number)"), at: address)])[0].isApplied { acknowledged.append((address, .now)) }
            number += 1
        }
        _ = await program.end(input: "end\n")
        // The last write of the other program may have discarded changes. This read applies them again.
        _ = try await store.read(a)
        // A store makes the changes of the last minute again. On a slow machine, the test takes longer.
        let recent = acknowledged.filter { $0.at.duration(to: .now) < .seconds(50) }.map(\.address)
        let found = try await scratch.store(suite: suite).read(recent, .fresh)
        let lost = zip(recent, found).filter { $0.1.text == nil }.map(\.0.name)
        let again = reports.value.withLock { $0.reduce(0) { $0 + $1.repeated.count } }
        print("beside Foundation: \(acknowledged.count) of \(number) acknowledged, \(again) made again, \(lost.count) lost")
        #expect(lost.isEmpty)
    }
}
