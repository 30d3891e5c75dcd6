import BackendRuntime
import DefaultsBackend
import Foundation
import LocalData
import TestSupport
import Testing

/// A read that migrates a value while another process holds the lock of the legacy location. There, an earlier version
/// of the program stored the value. A sweep migrates the values of all keys of a catalog.
@Suite(.inTurn) struct BusySourceTests {
    @Test
    func `a read waits only briefly for the lock of the legacy location and returns the value, and a later sweep deletes the legacy copy`()
        async throws
    {
        let stage = try Stage()
        let old = textKey("old", .userDefaults(suite: "older"))
        let new = textKey("new", .userDefaults(suite: "newer")).moved(from: old)
        let first = stage.launch()
        try await first.set("kept", for: old)
        try await first.shutdown()

        // While the read runs, the loop below advances this clock, to at most 100 seconds.
        // A read that waited for the lock until its deadline, 120 seconds, would still run at 100 seconds.
        let clock = ManualClock()
        let router = stage.launch {
            $0.runtime.clock = clock
            $0.runtime.isPatient = false
        }
        let path = PropertyListStore.lockPath(
            forPropertyListAt: stage.root.path + "/preferences/older.plist", in: stage.root.path + "/locks", files: PosixFileSystem())
        let lock = try PosixFileSystem().lock(path) { true }
        let done = Shared(0)
        let reading = Task {
            defer { done.count() }
            return try await router.get(new)
        }
        while done.number == 0, clock.now < .seconds(100) {
            try await Task.sleep(for: .milliseconds(5))
            clock.advance(by: .milliseconds(20))
        }
        let (waited, copy) = (clock.now, try stage.propertyList(suite: "older")["old"])
        lock.release()
        #expect(try await reading.value == "kept")
        #expect(waited < .seconds(60), "the read waited for the lock")
        #expect(copy != nil)

        #expect(await router.sweep(TestCatalog(.key(new))).isComplete)
        #expect(try stage.propertyList(suite: "older")["old"] == nil)
        try await router.shutdown()
    }
}
