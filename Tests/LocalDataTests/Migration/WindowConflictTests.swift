import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Conflicts in a release window, and windows beside other migrations.
///
/// In a window, version 1 of a program uses the legacy location of a value while version 2 uses the destination. A conflict
/// exists if version 1 changes the value without having read the change by version 2. A sweep resolves it.
@Suite(.inTurn) struct WindowConflictTests {
    private func makeConflict(
        _ world: WindowWorld, _ change: (StorageRouter) async throws -> Void
    ) async throws -> (v1: StorageRouter, v2: StorageRouter) {
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v1.set("one", for: world.old)
        #expect(try await v2.get(world.key) == "one")
        for backend in world.machine.backends(of: world.way.old) {
            backend.inject(.fail(BackendError(.failed, "The store failed. Nothing was changed.")), of: .apply)
        }
        try await v2.set("mine", for: world.key)
        for backend in world.machine.backends(of: world.way.old) { backend.removeFaults() }
        try await change(v1)
        return (v1, v2)
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `a merge that returns nil removes the value for both releases, and both values are in quarantine`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way, .merge { _, _ in nil })
        let (v1, v2) = try await makeConflict(world) { try await $0.set("theirs", for: world.old) }
        #expect(try await v2.row(of: world.key).state == .resolved)
        #expect(try await v2.value(for: world.key) == nil)
        #expect(try await v1.value(for: world.old) == nil)
        #expect(try await world.quarantine(v2) == ["mine", "theirs"])
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `with destinationWins, a value survives a removal by a release that had not read it`(_ way: WindowWorld.Way) async throws {
        let world = WindowWorld(way)
        let (v1, v2) = try await makeConflict(world) { try await $0.remove(world.old) }
        #expect(try await v2.row(of: world.key).state == .resolved)
        #expect(try await v2.get(world.key) == "mine")
        #expect(try await v1.get(world.old) == "mine")
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `with sourceWins, a removal by a release that had not read the value removes it, and it is in quarantine`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way, .sourceWins)
        let (v1, v2) = try await makeConflict(world) { try await $0.remove(world.old) }
        #expect(try await v2.row(of: world.key).state == .resolved)
        #expect(try await v2.value(for: world.key) == nil)
        #expect(try await v1.value(for: world.old) == nil)
        #expect(try await world.quarantine(v2) == ["mine"])
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `with sourceWins, a value of a release that had not read the destination replaces it`(_ way: WindowWorld.Way) async throws {
        let world = WindowWorld(way, .sourceWins)
        let (v1, v2) = try await makeConflict(world) { try await $0.set("theirs", for: world.old) }
        #expect(try await v2.row(of: world.key).state == .resolved)
        #expect(try await v2.get(world.key) == "theirs")
        #expect(try await v1.get(world.old) == "theirs")
        #expect(try await world.quarantine(v2) == ["mine"])
    }

    @Test func `a merge fails if the legacy value cannot be decoded, and both values are unchanged`() async throws {
        let world = WindowWorld(.listToList, .merge { mine, theirs in "\(mine ?? "-")|\(theirs)" })
        let (_, v2) = try await makeConflict(world) { _ in
            world.machine.writeForeign(.integer(7), to: world.way.old, name: "token")
        }
        let row = try await v2.row(of: world.key)
        #expect(row.state == .failed && row.errorCode == StorageError.migrationFailed, "\(row)")
        #expect(try await world.machine.launch().get(testKey("token", world.way.old, of: Int.self)) == 7)
        #expect(try await v2.value(for: textKey("modern token", world.way.new)) == "mine")
    }

    // MARK: Windows beside other migrations

    @Test func `in a window whose legacy location has a migration too, releases that take turns read the latest value`() async throws {
        let machine = TestMachine()
        let oldest = textKey("oldest", .userDefaults(suite: "oldest"))
        let old = textKey("old", .userDefaults(suite: "old")).moved(from: oldest)
        let key = textKey("new", .userDefaults(suite: "new")).moved(from: old, keeping: .untilReleased)
        let (v1, v2) = (machine.launch(), machine.launch())
        try await v1.set("zero", for: oldest)
        #expect(try await v2.get(key) == "zero")
        #expect(try await v1.get(old) == "zero")
        try await v1.set("one", for: old)
        #expect(try await v2.get(key) == "one")
        try await v2.set("two", for: key)
        #expect(try await v1.get(old) == "two")
        #expect(try await v2.row(of: key).state == .mirrored)
        try await v1.remove(old)
        #expect(try await v2.value(for: key) == nil)
        #expect(try await machine.quarantine(v2) == ["two"])
    }

    @Test func `a sweep mirrors a value that another program wrote to the destination`() async throws {
        let world = WindowWorld(.listToList)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v2.set("one", for: world.key)
        world.machine.writeForeign(.string("foreign"), to: world.way.new, name: "modern token")
        #expect(try await v2.get(world.key) == "foreign")
        try await world.settle(v2)
        #expect(try await v2.get(world.key) == "foreign")
        #expect(try await v1.get(world.old) == "foreign")
        #expect(try await v2.row(of: world.key).state == .mirrored)
    }

    @Test func `with whenSourceUnavailable skip, an unavailable legacy location stops no read and no change`() async throws {
        let machine = TestMachine()
        let old = textKey("old", .userDefaults(suite: "old"))
        let key = textKey("new", .userDefaults(suite: "new"))
            .moved(from: old, keeping: .untilReleased, options: MigrationOptions(whenSourceUnavailable: .skip))
        let v2 = machine.launch()
        try await v2.set("one", for: key)
        machine.makeUnavailable(.userDefaults(suite: "old"))
        #expect(try await v2.get(key) == "one")
        try await v2.set("two", for: key)
        #expect(try await v2.get(key) == "two")
        _ = try await v2.row(of: key)
        await expectRefusal(StorageError.residueRemains) { try await v2.remove(key) }
        #expect(try await v2.value(for: key) == nil)
        machine.makeAvailable(.userDefaults(suite: "old"))
        for _ in 0..<2 { _ = try await v2.row(of: key) }
        #expect(try await v2.value(for: key) == nil)
        #expect(try await machine.launch().value(for: old) == nil)
    }

    @Test func `an update in a window does not depend on a legacy value that has expired`() async throws {
        let clock = TestClock()
        let machine = TestMachine { $0.use(clock) }
        let old = textKey("code", .userDefaults(suite: "old")).expiring(after: .seconds(60))
        let key = textKey("modern code", .userDefaults(suite: "new")).moved(from: old, keeping: .untilReleased)
        try await machine.launch().set("one", for: old)
        clock.advance(by: .seconds(61))
        try await machine.launch().update(key, default: "none") { $0 = "two" }
        #expect(try await machine.launch().get(key) == "two")
        #expect(try await machine.launch().get(old) == "two")
    }
}
