import TestSupport
import Testing

/// Tests of the two checkers of linearizability, which decide whether one order of overlapping calls explains all results.
/// `isLinearizable(from:)` tries orders of up to 64 calls. `firstUnexplained(from:)` goes from moment to moment, with any number of calls.
@Suite struct CallHistoryTests {
    /// Makes a random history of a register with a few overlapping calls.
    /// Most calls see and leave the value that a real register would have. Some deliberately do not.
    private func history(_ generator: inout SeededGenerator) -> RegisterHistory {
        var history = RegisterHistory()
        var value: String?
        for _ in 0..<Int.random(in: 1...9, using: &generator) {
            let moment = Int.random(in: 0..<20, using: &generator)
            let text = Bool.random(using: &generator) ? value : ["a", "b", nil][Int.random(in: 0..<3, using: &generator)]
            let action: Register.Action =
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: .read(text)
                case 1: .write(text)
                default: .swap(value, text)
                }
            if case .read = action {} else { value = text }
            let isEndless = Int.random(in: 0..<6, using: &generator) == 0
            history.add(
                action, moment, isEndless ? .max : moment + Int.random(in: 0..<6, using: &generator),
                isOptional: Int.random(in: 0..<6, using: &generator) == 0)
        }
        return history
    }

    @Test func `both checkers accept the same histories`() {
        var (explained, refused) = (0, 0)
        for seed in 0..<UInt64(20_000) {
            var generator = SeededGenerator(seed)
            let history = history(&generator)
            let isLinearizable = history.isLinearizable(from: nil)
            #expect((history.firstUnexplained(from: Register(value: nil)) == nil) == isLinearizable, "seed \(seed): \(history.calls)")
            if isLinearizable { explained += 1 } else { refused += 1 }
        }
        // The test is meaningful only if it generates many linearizable and many other histories.
        #expect(explained > 2_000 && refused > 2_000, "\(explained) explained, \(refused) refused")
    }

    @Test func `the checker without a limit accepts thousands of calls, and returns the call that no order explains`() {
        var history = RegisterHistory()
        for number in 0..<5_000 {
            history.add(.write("\(number)"), number * 10, number * 10 + 14)
            history.add(.read("\(number)"), number * 10 + 15, number * 10 + 18)
        }
        #expect(history.firstUnexplained(from: Register(value: nil)) == nil)
        history.add(.read("4000"), 42_000, 42_001)
        #expect(history.firstUnexplained(from: Register(value: nil))?.begin == 42_000)
    }
}
