import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Tests of release windows. A release window is the time in which two releases of a program may run on one machine.
/// Version 1 still uses the legacy location of a value.
///
/// Version 2 stores the value at its destination and also writes a copy, the mirror, to the legacy location.
///
/// A sweep migrates the values of all keys of a catalog. A conflict exists if both versions set the value without
/// having seen the other's value.
@Suite struct ReleaseWindowTests {
    @Test(arguments: WindowWorld.Way.allCases) func `two releases that take turns always read the latest value`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v1.set("one", for: world.old)
        #expect(try await v2.get(world.key) == "one")
        #expect(try await v1.get(world.old) == "one")
        try await v2.set("two", for: world.key)
        #expect(try await v1.get(world.old) == "two")
        try await v1.set("three", for: world.old)
        #expect(try await v2.get(world.key) == "three")
        try await v1.set("four", for: world.old)
        #expect(
            try await v2.update(world.key) { value in
                value = (value ?? "") + "!"; return value
            } == "four!")
        #expect(try await v1.get(world.old) == "four!")
        try await v1.remove(world.old)
        #expect(try await v2.value(for: world.key) == nil)
        #expect(try await world.quarantine(v2) == ["four!"])
        try await v2.set("five", for: world.key)
        #expect(try await v1.get(world.old) == "five")
        try await v2.remove(world.key)
        #expect(try await v1.value(for: world.old) == nil)
        try await v1.set("six", for: world.old)
        #expect(try await v2.get(world.key) == "six")
        #expect(try await world.settle(v2).state == .mirrored)
        #expect(try await v1.get(world.old) == "six")
        #expect(try await world.quarantine(v2) == ["four!"])
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `a rollback to version 1 and a second upgrade to version 2 lose no value`(_ way: WindowWorld.Way) async throws {
        let world = WindowWorld(way)
        try await world.machine.launch().set("written by 1", for: world.old)
        let first = world.machine.launch()
        try await first.registerCatalog(TestCatalog(.key(world.key)), migrateImmediately: true).requireComplete()
        try await first.set("written by 2", for: world.key)
        world.machine.cut()
        let back = world.machine.launch()
        #expect(try await back.get(world.old) == "written by 2")
        try await back.set("written by 1 again", for: world.old)
        world.machine.cut()
        let second = world.machine.launch()
        let report = try await second.registerCatalog(TestCatalog(.key(world.key)), migrateImmediately: true)
        #expect(report.rows.map(\.state) == [.moved])
        #expect(try await second.get(world.key) == "written by 1 again")
        #expect(await second.sweep().rows.map(\.state) == [.mirrored])
        #expect(try await world.quarantine(second) == [])
    }

    /// Version 2 applies the removal by version 1 at the destination, and then cannot update the legacy location.
    @Test(arguments: WindowWorld.Way.allCases)
    func `version 2 reads a value that version 1 sets after a removal, even if version 2 could not update the legacy location`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way)
        let v2 = world.machine.launch()
        try await v2.set("one", for: world.key)
        let older = try #require(world.machine.backends(of: way.old).first)
        let v1 = world.machine.launch()
        try await v1.remove(world.old)
        older.inject(.fail(BackendError(.failed, "The store failed. Nothing was changed.")), of: .apply)
        #expect(try await v2.value(for: world.key) == nil)
        try await v1.set("two", for: world.old)
        #expect(try await v2.get(world.key) == "two")
        try await world.settle(v2)
        #expect(try await v2.get(world.key) == "two")
        #expect(try await v1.get(world.old) == "two")
        #expect(try await world.quarantine(v2) == ["one"])
    }

    /// A Boolean has only two values, so nearly every write of an earlier release repeats a value that was moved.
    @Test(arguments: [true, false])
    func `in a window, content that version 1 writes again after it was moved is a new value and no conflict`(isForeign: Bool) async throws
    {
        let machine = TestMachine()
        let old = testKey("flag", .userDefaults(suite: "old"), of: Bool.self)
        let key = testKey("new flag", .userDefaults(suite: "new"), of: Bool.self).moved(from: old, keeping: .untilReleased)
        let (v1, v2) = (machine.launch(), machine.launch())
        func write(_ value: Bool) async throws {
            if isForeign { machine.seedUserDefaults(["flag": .boolean(value)], suite: "old") } else { try await v1.set(value, for: old) }
        }
        try await write(true)
        #expect(try await v2.get(key))
        try await v2.set(false, for: key)
        #expect(try await v1.get(old) == false)
        try await write(true)
        #expect(try await v2.get(key))
        try await write(false)
        #expect(try await v2.get(key) == false)
        #expect(try await machine.quarantine(v2) == [])
    }

    @Test(arguments: [WindowWorld.Way.listToList, .listToDatabase])
    func `earlier content that a program without LocalData writes again before the mirror is a new value`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way)
        func write(_ text: String) { world.machine.seedUserDefaults(["token": .string(text)], suite: "old") }
        let v2 = world.machine.launch()
        write("one")
        #expect(try await v2.get(world.key) == "one")
        write("two")
        let older = try #require(world.machine.backends(of: way.old).first)
        older.inject(.fail(BackendError(.failed, "The store failed. Nothing was changed.")), of: .apply)
        #expect(try await v2.get(world.key) == "two")
        write("one")
        #expect(try await world.settle(v2).state == .mirrored)
        #expect(try await v2.get(world.key) == "one")
        #expect(try await world.machine.launch().get(world.old) == "one")
    }

    @Test(arguments: WindowWorld.Way.allCases) func `a sweep writes the mirror to a legacy location that was unavailable during the set`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v1.set("one", for: world.old)
        #expect(try await v2.get(world.key) == "one")
        world.machine.makeUnavailable(way.old)
        try await v2.set("two", for: world.key)
        await expectRefusal(StorageError.unavailable) { _ = try await v2.get(world.key) }
        #expect(try await v2.row(of: world.key).state == .blocked)
        world.machine.makeAvailable(way.old)
        #expect(try await v1.get(world.old) == "one")
        #expect(try await v2.get(world.key) == "two")
        let row = try await v2.row(of: world.key)
        #expect(row.state == .mirrored && row.steps.map(\.action) == [.write])
        #expect(try await v1.get(world.old) == "two")
        #expect(try await world.quarantine(v2) == [])
    }

    @Test func `while the legacy location is locked, a read throws locked and a set succeeds`() async throws {
        let world = WindowWorld(.keyringToKeyring)
        let v2 = world.machine.launch()
        try await v2.set("one", for: world.key)
        world.machine.lock(world.way.old)
        await expectRefusal(StorageError.locked) { _ = try await v2.get(world.key) }
        try await v2.set("two", for: world.key)
        world.machine.unlock(world.way.old)
        #expect(try await v2.get(world.key) == "two")
        try await world.settle(v2)
        #expect(try await world.machine.launch().get(world.old) == "two")
    }

    @Test(arguments: WindowWorld.Way.allCases) func `a delayed write of a mirror does not overwrite a later value in the legacy location`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way)
        let (v1, late, v2) = (world.machine.launch(), world.machine.launch(), world.machine.launch())
        try await v1.set("one", for: world.old)
        _ = try await late.exists(world.old)
        // The router `late` has moved the value.
        // Before it writes the mirror, it waits in its second read of the legacy location.
        let gate = FaultGate()
        let backend = try #require(world.machine.backends(of: way.old).last)
        backend.inject(.hold(gate), at: 2, of: .read)
        async let first = late.get(world.key)
        await gate.untilArrivals()
        try await v1.set("two", for: world.old)
        #expect(try await v2.get(world.key) == "two")
        gate.open()
        _ = try await first
        #expect(try await v1.get(world.old) == "two")
        #expect(try await v2.get(world.key) == "two")
        try await v1.remove(world.old)
        #expect(try await v2.value(for: world.key) == nil)
    }

    @Test(arguments: WindowWorld.Way.allCases, [true, false])
    func `a read that waits between its reads of the destination and the legacy location returns the latest value`(
        _ way: WindowWorld.Way, ends: Bool
    ) async throws {
        let world = WindowWorld(way)
        let (v1, v2, reader) = (world.machine.launch(), world.machine.launch(), world.machine.launch())
        try await v2.set("one", for: world.key)
        _ = try await reader.exists(world.old)
        try await v1.set("two", for: world.old)
        // The reader has read the destination, and waits before it reads the legacy location.
        let gate = FaultGate()
        try #require(world.machine.backends(of: way.old).dropLast().last).inject(.hold(gate), of: .read)
        async let value = reader.get(world.key)
        await gate.untilArrivals()
        if ends { try await v2.endReleaseWindow(for: world.key) } else { try await world.settle(v2) }
        gate.open()
        #expect(try await value == "two")
    }

    @Test(arguments: WindowWorld.Way.allCases, [true, false])
    func `an update does not overwrite a value of version 1 that the update has not read`(
        _ way: WindowWorld.Way, removes: Bool
    ) async throws {
        let world = WindowWorld(way)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v2.set("one", for: world.key)
        _ = try await v2.get(world.key)
        // A first update shows how often an update reads the destination. The second update waits before the last of these reads.
        let gate = FaultGate()
        let backend = try #require(world.machine.backends(of: way.new).last)
        let before = backend.log.filter { $0.kind == .read }.count
        async let quiet = v2.update(world.key) { value in value.map { $0 + "?" } }
        _ = try await quiet
        let looks = backend.log.filter { $0.kind == .read }.count - before
        try await v2.set("one", for: world.key)
        backend.inject(.hold(gate), at: looks, of: .read)
        async let answer = v2.update(world.key) { value -> String? in
            defer { value = removes ? nil : (value ?? "") + "!" }
            return value
        }
        await gate.untilArrivals()
        try await v1.set("two", for: world.old)
        gate.open()
        let seen = try await answer
        let value = try await v2.value(for: world.key)
        // The update took effect before the write of version 1, or it used the value that version 1 wrote.
        #expect(seen == "two" ? value == (removes ? nil : "two!") : value == "two")
        #expect(try await v1.value(for: world.old) == value)
    }

    // MARK: Conflicts

    struct Case: Sendable, CustomTestStringConvertible {
        let way: WindowWorld.Way
        let name: String
        let policy: ConflictPolicy<String>
        var testDescription: String { "\(way.rawValue), \(name)" }

        static let all = WindowWorld.Way.allCases.flatMap { way in
            [
                Case(way: way, name: "destination wins", policy: .destinationWins),
                Case(way: way, name: "merge", policy: .merge { mine, theirs in "\(mine ?? "-")|\(theirs)" }),
            ]
        }
    }

    /// Version 2 sets a value but cannot write its mirror. Version 1 then writes without having read that value.
    @Test(arguments: Case.all) func `a sweep resolves a conflict between the values of two releases, and a read does not`(
        _ test: Case
    ) async throws {
        let world = WindowWorld(test.way, test.policy)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v1.set("one", for: world.old)
        #expect(try await v2.get(world.key) == "one")
        world.machine.makeUnavailable(test.way.old)
        try await v2.set("mine", for: world.key)
        world.machine.makeAvailable(test.way.old)
        try await v1.set("theirs", for: world.old)
        for _ in 0..<2 { #expect(try await v2.get(world.key) == "mine") }
        #expect(try await v1.get(world.old) == "theirs")
        #expect(try await v2.row(of: world.key).state == .resolved)
        let result = if case .merge = test.policy { "mine|theirs" } else { "mine" }
        #expect(try await v2.get(world.key) == result)
        #expect(try await v1.get(world.old) == result)
        let quarantined = if case .merge = test.policy { ["mine", "theirs"] } else { ["theirs"] }
        #expect(try await world.quarantine(v2) == quarantined)
        #expect(try await v2.row(of: world.key).state == .mirrored)
    }

    @Test(arguments: WindowWorld.Way.allCases) func `with sourceWins, a set fails while the legacy location is unavailable`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way, .sourceWins)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v1.set("one", for: world.old)
        #expect(try await v2.get(world.key) == "one")
        world.machine.makeUnavailable(way.old)
        await expectRefusal(StorageError.unavailable) { _ = try await v2.set("mine", for: world.key) }
        world.machine.makeAvailable(way.old)
        #expect(try await v2.get(world.key) == "one")
    }

    // MARK: Other verbs

    @Test func `exists, storedValue, batches and observers in version 2 see the changes by version 1`() async throws {
        let world = WindowWorld(.listToList)
        let other = textKey("other", world.way.new).moved(from: textKey("old other", world.way.old), keeping: .untilReleased)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v2.batch { batch in
            batch.set("one", for: world.key)
            batch.set("uno", for: other)
        }
        #expect(try await v1.get(world.old) == "one")
        #expect(try await v1.get(textKey("old other", world.way.old)) == "uno")
        try await v1.set("two", for: world.old)
        #expect(try await v2.storedValue(for: world.key)?.value == "two")
        try await v1.remove(world.old)
        #expect(try await !v2.exists(world.key))
        try await v2.batch { batch in
            batch.set("three", for: world.key)
            batch.remove(other)
        }
        #expect(try await v1.get(world.old) == "three")
        #expect(try await v1.value(for: textKey("old other", world.way.old)) == nil)
        var values = v2.values(for: world.key).makeAsyncIterator()
        #expect(try await values.next() == "three")
        try await v1.set("four", for: world.old)
        #expect(try await v2.get(world.key) == "four")
        #expect(try await values.next() == "four")
    }

    @Test func `a value with a lifetime expires at the destination and in the legacy location`() async throws {
        let clock = TestClock()
        let world = WindowWorld(.listToList, .destinationWins, keeping: .untilReleased, clock)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v2.set("code", for: world.key, lifetime: .seconds(60))
        #expect(try await v1.get(world.old) == "code")
        clock.pass(.seconds(61))
        #expect(try await v1.value(for: world.old) == nil)
        #expect(try await v2.value(for: world.key) == nil)
        await v2.sweep(TestCatalog(.key(world.key)))
        clock.pass(.seconds(86_400))
        await v2.sweep(TestCatalog(.key(world.key)))
        #expect(try await world.settle(v2).state == .removed)
        try await v1.set("again", for: world.old)
        #expect(try await v2.get(world.key) == "again")
    }

    @Test
    func `a value that a program without LocalData wrote expires at the destination and in the legacy location at the same time`()
        async throws
    {
        let clock = TestClock()
        let machine = TestMachine { $0.use(clock) }
        let old = textKey("code", .userDefaults(suite: "old"))
        let key = textKey("code", .userDefaults(suite: "new")).moved(from: old, keeping: .untilReleased).expiring(after: .seconds(60))
        let (v1, v2) = (machine.launch(), machine.launch())
        for text in ["moved", "written over the mirror"] {
            machine.seedUserDefaults(["code": .string(text)], suite: "old")
            #expect(try await v2.get(key) == text)
            #expect(try await v1.get(old) == text)
            clock.pass(.seconds(61))
            #expect(try await v2.value(for: key) == nil)
            #expect(try await v1.value(for: old) == nil)
        }
    }

    @Test func `a set succeeds while the legacy location can be neither flushed nor written`() async throws {
        let world = WindowWorld(.listToList)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v1.set("one", for: world.old)
        #expect(try await v2.get(world.key) == "one")
        try await v1.set("two", for: world.old)
        let backend = try #require(world.machine.backends(of: world.way.old).last)
        backend.inject(.fail(BackendError(.accessDenied, "It is read-only.")), of: .synchronize, repeats: true)
        backend.inject(.fail(BackendError(.accessDenied, "It is read-only.")), of: .apply, repeats: true)
        try await v2.set("three", for: world.key)
        backend.removeFaults()
        #expect(try await v2.get(world.key) == "three")
        try await world.settle(v2)
        #expect(try await v1.get(world.old) == "three")
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `damaged bytes in the legacy location do not change the value, and a sweep quarantines them`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way)
        let v2 = world.machine.launch()
        try await v2.set("one", for: world.key)
        world.machine.corrupt(way.old, name: "token", bytes: Array("?!".utf8))
        #expect(try await v2.get(world.key) == "one")
        try await world.settle(v2)
        #expect(try await world.machine.launch().get(world.old) == "one")
        #expect(try await world.quarantine(v2) == ["?!"])
    }

    @Test func `a read without an open window does not read the legacy location`() async throws {
        let world = WindowWorld(.listToList)
        let without = textKey("plain", world.way.new).moved(from: textKey("old plain", world.way.old))
        let router = world.machine.launch()
        func looks(_ body: () async throws -> Void) async throws -> Int {
            func count() -> Int { world.machine.backends(of: world.way.old).map(\.log.count).reduce(0, +) }
            let before = count()
            try await body()
            return count() - before
        }
        try await router.set("one", for: without)
        #expect(try await looks { _ = try await router.get(without) } == 0)
        try await router.set("one", for: world.key)
        #expect(try await looks { _ = try await router.get(world.key) } == 1)
        try await router.endReleaseWindow(for: world.key)
        #expect(try await looks { _ = try await router.get(world.key) } == 0)
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `a plan predicts the report of a sweep for a key with a release window`(_ way: WindowWorld.Way) async throws {
        let world = WindowWorld(way)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v2.registerCatalog(TestCatalog(.key(world.key)))
        func check(_ state: MigrationReport.State) async throws {
            var plan = await v2.planSweep()
            var report = await v2.sweep()
            (plan.duration, report.duration) = (.zero, .zero)
            for index in plan.rows.indices { plan.rows[index].duration = .zero }
            for index in report.rows.indices { report.rows[index].duration = .zero }
            #expect(plan.rows == report.rows)
            #expect(report.rows.map(\.state) == [state])
        }
        try await v1.set("one", for: world.old)
        try await check(.moved)
        try await check(.mirrored)
        try await v1.set("two", for: world.old)
        try await check(.moved)
        try await v1.remove(world.old)
        try await check(.removed)
        try await v2.set("three", for: world.key)
        try await check(.mirrored)
    }
}
