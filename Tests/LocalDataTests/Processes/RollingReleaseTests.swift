import Foundation
import LocalData
import TestSupport
import Testing

/// Two releases of one program that run at the same time, as processes that are killed.
///
/// Release 2 keeps the legacy location of a value up to date.
@Suite(.inTurn, .serialized, .slow("starts programs"), .tags(.process)) struct RollingReleaseTests {
    /// Lets a program write values and returns the number of the last acknowledged one. Kills the program after `kill`
    /// writes.
    private func write(_ program: RunningProgram, _ release: String, _ tag: String, count: Int, killAfter kill: Int?) async throws -> Int {
        var line = try await program.ask("\(release) \(tag) \(count)")
        var seen = 0
        while line.hasPrefix("progress") {
            seen = Int(line.split(separator: " ").last ?? "") ?? seen
            if let kill, seen >= kill {
                await program.kill()
                return seen
            }
            line = try await program.ask("")
        }
        #expect(line == "done", "\(line)")
        return seen
    }

    @Test func `after concurrent writes and a kill, both releases read a value that one of them wrote last`() async throws {
        let stage = try Stage()
        for round in 0..<3 {
            let programs = [try stage.worker(), try stage.worker()]
            let killed = round % 3
            let kill = 3 + (round * 7) % 25
            async let first = write(programs[0], "release1", "a\(round)", count: 40, killAfter: killed == 0 ? kill : nil)
            async let second = write(programs[1], "release2", "b\(round)", count: 40, killAfter: killed == 1 ? kill : nil)
            let last = (try await first, try await second)
            // A program prints a line for each value that it has written. The killed program may have written more
            // values after the last line that the test has read.
            let possible = Set((last.0...40).map { "value a\(round)-\($0)" } + (last.1...40).map { "value b\(round)-\($0)" })
            let (release1, release2) = (try stage.worker(), try stage.worker())
            #expect(try await release2.run("release2", "sweep") == "true")
            let value = try await release2.run("release2", "get")
            #expect(possible.contains(value), "round \(round): \(value) after \(last)")
            #expect(try await release1.run("release1", "get") == value, "round \(round)")
            // From here on, each release reads the writes of the other one at once.
            #expect(try await write(release1, "release1", "c\(round)", count: 1, killAfter: nil) == 1)
            #expect(try await release2.run("release2", "get") == "value c\(round)-1")
            #expect(try await write(release2, "release2", "d\(round)", count: 1, killAfter: nil) == 1)
            #expect(try await release1.run("release1", "get") == "value d\(round)-1")
        }
        let last = try stage.worker()
        #expect(try await last.run("release2", "end") == "done")
        #expect(try await last.run("release2", "get") == "value d2-1")
        #expect(try await last.run("release1", "get") == "value none")
    }
}
