import BackendContract
import BackendRuntime
import Foundation
import LocalData
import TestSupport
import Testing

/// The use of lanes by calls. A lane is a serial queue for work that may block.
@Suite(.inTurn) struct LatencyTests {
    @Test func `a repeated get from a property list uses no lane`() async throws {
        let stage = try Stage()
        let lane = TestLane()
        let router = stage.launch { $0.runtime.makeLane = { lane.named($0) } }
        let key = textKey("hot", .userDefaults)
        let moved = textKey("moved", .userDefaults).moved(from: key)
        try await router.set("v", for: key)
        #expect(lane.count > 0)
        // The first reads go to the disk.
        // The store reads from memory once the file's time stamp is old enough to show any later change.
        var quiet = 0
        var looks = 0
        while quiet < 1_000 {
            let before = lane.count
            #expect(try await router.get(key) == "v")
            quiet = lane.count == before ? quiet + 1 : 0
            looks += 1
            try #require(looks < 5_000_000)
        }
        let before = lane.count
        for _ in 0..<10_000 { _ = try await router.get(key) }
        #expect(lane.count - before <= 1)
        #expect(try await router.exists(moved) == false)
    }
}
