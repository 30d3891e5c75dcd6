import Foundation
import TestSupport
import Testing

/// Runs every known input through its fuzz target, so that a failure does not come back. A target gives inputs to a
/// reader of the library, and checks the result. The known inputs are the committed ones and the seeds, from which the
/// fuzzer starts.
@Suite(.inTurn, .slow("tries every known input without optimisation"), .tags(.campaign)) struct CorpusTests {
    @Test(arguments: FuzzTarget.all.map(\.name))
    func `every target keeps its promises for every known input`(_ name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let inputs = try corpus(of: name)
        #expect(inputs.count > 5, "there is no corpus")
        for (file, input) in inputs + target.seeds().enumerated().map({ ("seed \($0)", $1) }) { check(target, input, file) }
    }

    @Test(arguments: FuzzTarget.all.map(\.name))
    func `an input of 64 KiB takes less than a second of processor time`(_ name: String) throws {
        let target = try #require(FuzzTarget.all.first { $0.name == name })
        let size = 1 << 16
        for (number, seed) in (target.seeds() + [[0], [255], Array("<dict>".utf8)]).enumerated() where !seed.isEmpty {
            let repeated = Array(repeatElement(seed, count: size / seed.count + 1).joined().prefix(size))
            check(target, repeated, "repeated seed \(number)")
            check(target, seed + Array(repeating: 0, count: size - min(size, seed.count)), "seed \(number) and zeros")
        }
    }

    @Test func `every target has a folder of inputs, and every folder a target`() throws {
        let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
        #if SQLite
            #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
        #else
            #expect(Set(folders).isSuperset(of: FuzzTarget.all.map(\.name)))
        #endif
    }

    /// Checks one input. It measures the processor time of this thread, so that a busy machine makes no difference. The
    /// limit is generous, because a target reads its input several times, and the build is not optimised.
    private func check(_ target: FuzzTarget, _ input: [UInt8], _ name: String) {
        let started = processorTime()
        do throws(BrokenPromise) { try target.run(input) } catch { Issue.record("\(target.name), \(name): \(error)") }
        let seconds = processorTime() - started
        #expect(seconds < 1, "\(target.name), \(name): \(seconds) s")
    }

    private func processorTime() -> Double {
        var time = timespec()
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    private static let corpus = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Corpus")

    private func corpus(of target: String) throws -> [(String, [UInt8])] {
        let folder = Self.corpus.appending(path: target)
        return try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted().map { file in
            (file, [UInt8](try Data(contentsOf: folder.appending(path: file))))
        }
    }
}
