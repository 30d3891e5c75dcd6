import LocalDataObservation
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// Followers of one value, while an older program writes and removes it at its legacy location.
@Suite(.inTurn) struct OlderProgramsTests {
    /// In a window, without the conflicts of two programs: each program has seen the value that it replaces.
    @Test(.timeLimit(.minutes(10)), arguments: WindowWorld.Way.allCases)
    func `in a release window, a sequence of values delivers what an older program writes and removes`(_ way: WindowWorld.Way) async throws
    {
        let world = WindowWorld(way)
        let (older, router) = (world.machine.launch(), world.machine.launch())
        try await router.set("one", for: world.key)
        var values = router.values(for: world.key).makeAsyncIterator()
        #expect(try await values.next() == "one")
        try await older.set("two", for: world.old)
        #expect(try await values.next() == "two")
        try await older.remove(world.old)
        #expect(try await values.next() == .some(nil))
        try await older.set("three", for: world.old)
        #expect(try await values.next() == "three")
        try await router.set("four", for: world.key)
        #expect(try await values.next() == "four")
    }

    @Test(.timeLimit(.minutes(10)), arguments: WindowWorld.Way.allCases) @MainActor
    func `in a release window, an observable value shows what an older program writes and removes`(_ way: WindowWorld.Way) async throws {
        let world = WindowWorld(way)
        let (older, router) = (world.machine.launch(), world.machine.launch())
        try await router.set("one", for: world.key)
        let stored = Stored(world.key, in: router)
        #expect(await until { stored.value } == "one")
        try await older.set("two", for: world.old)
        #expect(await until { stored.value == "two" ? true : nil } == true)
        try await older.remove(world.old)
        #expect(await until { stored.value == nil ? true : nil } == true)
    }

    @Test(.timeLimit(.minutes(10)), arguments: WindowWorld.Way.allCases)
    func `without a window, a sequence of values delivers the first value of an older program`(_ way: WindowWorld.Way) async throws {
        let world = WindowWorld(way)
        let (older, router) = (world.machine.launch(), world.machine.launch())
        let key = textKey("modern token", way.new).moved(from: world.old, options: MigrationOptions(allowsWeakerProtection: true))
        var values = router.values(for: key).makeAsyncIterator()
        #expect(try await values.next() == .some(nil))
        try await older.set("one", for: world.old)
        #expect(try await values.next() == "one")
        #expect(try await older.value(for: world.old) == nil)
    }

    @Test(.timeLimit(.minutes(10))) func `in a release window, real files report what an older program writes and removes`() async throws {
        let stage = try Stage()
        let old = textKey("token", .userDefaults(suite: "old"))
        let key = textKey("modern token", .userDefaults(suite: "new")).moved(from: old, keeping: .untilReleased)
        let (older, router) = (stage.launch(), stage.launch())
        try await router.set("one", for: key)
        var values = router.values(for: key).makeAsyncIterator()
        #expect(try await values.next() == "one")
        try await older.set("two", for: old)
        #expect(try await values.next() == "two")
        try await older.remove(old)
        #expect(try await values.next() == .some(nil))
    }
}
