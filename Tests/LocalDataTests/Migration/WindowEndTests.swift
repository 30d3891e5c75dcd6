import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// The end of a release window, the time in which two releases of a program may run on one machine. During the window,
/// version 1 uses the legacy location of a value. Version 2 stores the value at its destination, and also writes a copy
/// to the legacy location.
///
/// The end of the window empties the legacy location. A release that still declares the window then stops writing
/// there. A sweep, which migrates the values of all keys of a catalog, also ends windows whose time is over.
@Suite struct WindowEndTests {
    /// Returns what is left in the legacy store: values, tombstones (the records of removals) and window marks.
    ///
    /// A window mark is a tombstone in the namespace `window:`. It names the record whose copy version 2 wrote.
    private func left(_ world: WindowWorld) async throws -> [String] {
        let v1 = world.machine.launch()
        _ = try await v1.exists(world.old)
        var found: [String] = []
        for backend in world.machine.backends(of: world.way.old).suffix(1) {
            for namespace in [StorageNamespace.values, StorageNamespace("window:")] {
                found += try await backend.addresses(in: namespace).map { "\(namespace): \($0.name)" }
            }
        }
        return found.filter { !$0.contains("sealing") }
    }

    @Test(arguments: WindowWorld.Way.allCases) func `endReleaseWindow ends the window, also for a release that still declares the window`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way)
        let (v2, other) = (world.machine.launch(), world.machine.launch())
        try await v2.set("one", for: world.key)
        #expect(try await left(world) == ["values: token", "window:: token"])
        try await v2.endReleaseWindow(for: world.key)
        #expect(try await left(world) == [])
        // After the end, an empty legacy location no longer counts as a removal by version 1.
        #expect(try await other.get(world.key) == "one")
        try await other.set("two", for: world.key)
        #expect(try await world.settle(other).state == .unchanged)
        #expect(try await left(world) == [])
        #expect(try await v2.get(world.key) == "two")
        #expect(try await world.quarantine(v2) == [])
    }

    @Test(arguments: WindowWorld.Way.allCases) func `the end of a window moves the last value of version 1 to the destination`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v2.set("one", for: world.key)
        try await v1.set("two", for: world.old)
        try await v2.endReleaseWindow(for: world.key)
        #expect(try await v2.get(world.key) == "two")
        #expect(try await left(world) == [])
        // After the end, a write of version 1 is a conflict, as for a key without a window.
        try await v1.set("three", for: world.old)
        #expect(try await v2.get(world.key) == "two")
        #expect(try await v2.row(of: world.key).state == .resolved)
        #expect(try await world.quarantine(v2) == ["three"])
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `a window that is declared until version 3 ends with the first sweep of version 3`(_ way: WindowWorld.Way) async throws {
        let world = WindowWorld(way, keeping: .until(version: "3.0"))
        let v2 = world.machine.launch(version: "2.9.1")
        try await v2.set("one", for: world.key)
        #expect(try await world.settle(v2).state == .mirrored)
        try await world.machine.launch().set("two", for: world.old)
        let v3 = world.machine.launch(version: "3")
        #expect(try await v3.get(world.key) == "two")
        let report = try await v3.registerCatalog(TestCatalog(.key(world.key)), migrateImmediately: true)
        #expect(report.problems.map(\.kind) == [.endedWindow])
        #expect(report.rows.map(\.state) == [.purged])
        #expect(try await left(world) == [])
        #expect(try await v2.get(world.key) == "two")
        #expect(try await world.settle(v3).state == .unchanged)
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `version 3, for which the window is over, reads the latest value of versions 1 and 2 and then ends the window`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way, keeping: .until(version: "3.0"))
        let (v1, v2, v3) = (world.machine.launch(), world.machine.launch(version: "2.0"), world.machine.launch(version: "3.0"))
        try await v1.set("one", for: world.old)
        // A read moves the value but does not end the window. Changes of earlier releases count until a sweep ends it.
        #expect(try await v3.get(world.key) == "one")
        try await v1.set("two", for: world.old)
        #expect(try await v2.get(world.key) == "two")
        try await v1.remove(world.old)
        #expect(try await v3.value(for: world.key) == nil)
        try await v1.set("three", for: world.old)
        #expect(try await v3.row(of: world.key).state == .moved)
        #expect(try await left(world) == [])
        #expect(try await v2.get(world.key) == "three")
        #expect(try await world.settle(v2).state == .unchanged)
        // A machine can also skip version 2. Then the window is over before a release has written to the legacy location.
        let fresh = WindowWorld(way, keeping: .until(version: "3.0"))
        try await fresh.machine.launch().set("one", for: fresh.old)
        #expect(try await fresh.machine.launch(version: "3.0").row(of: fresh.key).state == .moved)
        #expect(try await left(fresh) == [])
        #expect(try await fresh.machine.launch(version: "2.0").get(fresh.key) == "one")
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `damaged bytes in the legacy location are quarantined when the window ends, and the value stays`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way)
        let v2 = world.machine.launch()
        try await v2.set("one", for: world.key)
        world.machine.corrupt(way.old, name: "token", bytes: Array("?!".utf8))
        try await v2.endReleaseWindow(for: world.key)
        #expect(try await left(world) == [])
        #expect(try await v2.get(world.key) == "one")
        #expect(try await world.quarantine(v2) == ["?!"])
    }

    @Test(arguments: WindowWorld.Way.allCases) func `a set by version 2 while version 3 ends the window is not lost`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way, .sourceWins, keeping: .until(version: "3.0"))
        let (v2, v3) = (world.machine.launch(version: "2.0"), world.machine.launch(version: "3.0"))
        try await removeUnseen(world, v3)
        _ = try await v2.exists(textKey("another", way.new))
        let (emptying, writing) = (FaultGate(), FaultGate())
        try #require(world.machine.backends(of: way.old).first).inject(.hold(emptying), of: .apply)
        try #require(world.machine.backends(of: way.new).last).inject(.hold(writing), of: .apply)
        // Version 3 has moved the legacy value over the tombstone, and waits before it empties the legacy location.
        // Version 2 has read the legacy location, and waits before it writes the destination.
        async let row = v3.row(of: world.key)
        await emptying.untilArrivals()
        async let change: Void = v2.set("two", for: world.key)
        await writing.untilArrivals()
        emptying.open()
        _ = try await row
        writing.open()
        try await change
        for router in [v2, v3, v2] { try await world.settle(router) }
        #expect(try await v2.get(world.key) == "two")
        #expect(try await v3.get(world.key) == "two")
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `a set of a key with a window is not lost if a key with the same name and no window is being swept`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way, .sourceWins)
        let (v2, v3) = (world.machine.launch(), world.machine.launch())
        try await removeUnseen(world, v3)
        let plain = textKey("modern token", way.new).moved(from: world.old).resolvingConflicts(.sourceWins)
        // The sweep has read the tombstone, and waits before it reads the legacy location.
        let gate = FaultGate()
        try #require(world.machine.backends(of: way.old).first).inject(.hold(gate), of: .read)
        async let row = v3.row(of: plain)
        await gate.untilArrivals()
        try await v2.set("two", for: world.key)
        gate.open()
        _ = try await row
        for router in [v2, v3, v2] { try await world.settle(router) }
        #expect(try await v2.get(world.key) == "two")
        #expect(try await v3.get(world.key) == "two")
    }

    /// Removes the value through a key without a window, which leaves a tombstone. Then sets a legacy value as version 1.
    private func removeUnseen(_ world: WindowWorld, _ router: StorageRouter) async throws {
        try await router.remove(textKey("modern token", world.way.new).moved(from: world.old))
        try await world.machine.launch().set("one", for: world.old)
    }

    @Test func `a window of 30 days ends one day after a sweep finds that the 30 days are over`() async throws {
        let clock = TestClock()
        let world = WindowWorld(.listToList, .destinationWins, keeping: .for(days: 30), clock)
        let v2 = world.machine.launch()
        try await v2.set("one", for: world.key)
        clock.pass(.seconds(29 * 86_400))
        try await v2.set("two", for: world.key)
        #expect(try await world.settle(v2).state == .mirrored)
        clock.pass(.seconds(2 * 86_400))
        #expect(try await world.settle(v2).state == .mirrored)
        // A clock that is wrong for an hour does not end the window.
        clock.pass(.seconds(3_600))
        #expect(try await world.settle(v2).state == .mirrored)
        clock.pass(.seconds(86_400))
        #expect(try await v2.row(of: world.key).state == .purged)
        #expect(try await left(world) == [])
        #expect(try await v2.get(world.key) == "two")
    }

    @Test(arguments: WindowWorld.Way.allCases) func `a window that the key no longer declares ends with the next sweep`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way, .sourceWins)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        let without = textKey("modern token", way.new).moved(from: world.old).resolvingConflicts(.sourceWins)
        try await v2.set("one", for: world.key)
        try await v2.set("two", for: world.key)
        #expect(try await v2.row(of: without).state == .purged)
        #expect(try await left(world) == [])
        try await v2.set("three", for: without)
        #expect(try await v2.row(of: without).state == .unchanged)
        #expect(try await v2.get(without) == "three")
        // If version 1 wrote the latest value, the sweep first moves that value to the destination.
        let again = WindowWorld(way)
        let (before, now) = (again.machine.launch(), again.machine.launch())
        try await now.set("one", for: again.key)
        try await before.set("two", for: again.old)
        #expect(try await now.row(of: textKey("modern token", way.new).moved(from: again.old)).state == .moved)
        #expect(try await now.get(again.key) == "two")
        #expect(try await v1.value(for: world.old) == nil)
    }

    @Test(arguments: WindowWorld.Way.allCases) func `if endReleaseWindow is interrupted, the next call ends the window completely`(
        _ way: WindowWorld.Way
    ) async throws {
        let faults: [StorageFault] = [.stop, .stopAfterwards, .loseAnswer]
        for (place, number, fault) in [way.new, way.old].flatMap({ place in (1...3).flatMap { number in faults.map { (place, number, $0) } }
        }) {
            let world = WindowWorld(way)
            let v2 = world.machine.launch()
            try await v2.set("one", for: world.key)
            try #require(world.machine.backends(of: place).first).inject(fault, at: number, of: .apply)
            _ = try? await v2.endReleaseWindow(for: world.key)
            world.machine.cut()
            let next = world.machine.launch()
            try await next.endReleaseWindow(for: world.key)
            #expect(try await next.get(world.key) == "one")
            #expect(try await left(world) == [], "\(fault) at \(number) in \(place)")
            #expect(try await world.quarantine(next) == [])
        }
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `if endReleaseWindow is interrupted for a removed value, later sweeps and the next call end the window completely`(
        _ way: WindowWorld.Way
    ) async throws {
        for number in 1...2 {
            let world = WindowWorld(way)
            let v2 = world.machine.launch()
            try await v2.set("one", for: world.key)
            try await v2.remove(world.key)
            try #require(world.machine.backends(of: way.old).first).inject(.stop, at: number, of: .apply)
            _ = try? await v2.endReleaseWindow(for: world.key)
            world.machine.cut()
            let next = world.machine.launch()
            try await world.settle(next)
            try await next.endReleaseWindow(for: world.key)
            #expect(try await left(world) == [], "stopped at \(number)")
            #expect(try await next.value(for: world.key) == nil)
        }
    }

    @Test(arguments: WindowWorld.Way.allCases)
    func `a window also ends completely for a value that was set or removed before the window began`(
        _ way: WindowWorld.Way
    ) async throws {
        for isRemoved in [false, true] {
            let world = WindowWorld(way, keeping: .until(version: "3.0"))
            let v2 = world.machine.launch(version: "2")
            let without = textKey("modern token", way.new).moved(from: world.old)
            try await v2.set("one", for: without)
            if isRemoved { try await v2.remove(without) }
            #expect(try await world.settle(v2).state == (isRemoved ? .removed : .mirrored))
            try await world.settle(world.machine.launch(version: "3"))
            #expect(try await left(world) == [], "removed: \(isRemoved)")
            #expect(try await v2.value(for: world.key) == (isRemoved ? nil : "one"))
        }
    }

    @Test(arguments: WindowWorld.Way.allCases) func `endReleaseWindow moves a legacy value that was not moved before`(
        _ way: WindowWorld.Way
    ) async throws {
        let world = WindowWorld(way)
        try await world.machine.launch().set("one", for: world.old)
        let (v2, other) = (world.machine.launch(), world.machine.launch())
        try await v2.endReleaseWindow(for: world.key)
        #expect(try await left(world) == [])
        #expect(try await other.get(world.key) == "one")
        #expect(try await world.settle(other).state == .unchanged)
        #expect(try await left(world) == [])
    }

    @Test func `a window that begins after a move without a window writes the value to the legacy location again`() async throws {
        let world = WindowWorld(.listToList)
        let v2 = world.machine.launch()
        try await world.machine.launch().set("one", for: world.old)
        let without = textKey("modern token", world.way.new).moved(from: world.old).resolvingConflicts(.sourceWins)
        #expect(try await v2.row(of: without).state == .moved)
        #expect(try await v2.get(without) == "one")
        #expect(try await v2.value(for: world.old) == nil)
        let later = world.machine.launch()
        #expect(try await later.get(world.key) == "one")
        #expect(try await world.settle(later).state == .mirrored)
        #expect(try await world.machine.launch().get(world.old) == "one")
    }
}
