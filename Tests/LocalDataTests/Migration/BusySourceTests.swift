import BackendRuntime
import DefaultsBackend
import Foundation
import LocalData
import TestSupport
import Testing

/// A migration while another process holds the lock of the legacy location.
@Suite(.inTurn) struct BusySourceTests {
    @Test func `a read does not wait for the lock of the legacy location, and a later sweep deletes the copy`() async throws {
        let stage = try Stage()
        let old = textKey("old", .userDefaults(suite: "older"))
        let new = textKey("new", .userDefaults(suite: "newer")).moved(from: old)
        let first = stage.launch()
        try await first.set("kept", for: old)
        try await first.shutdown()

        // The loop below advances this clock while the read runs, up to 100 seconds.
        // A read that waits for the lock until its deadline of 120 seconds would reach that limit.
        let clock = ManualClock()
        let router = stage.launch { $0.runtime.clock = clock }
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

        #expect(try await router.sweep(TestCatalog(.key(new))).isComplete)
        #expect(try stage.propertyList(suite: "older")["old"] == nil)
        try await router.shutdown()
    }
}
