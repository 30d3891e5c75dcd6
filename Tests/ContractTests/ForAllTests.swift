import BackendContract
import TestSupport
import Testing

/// Tests of the property-based testing that other suites use.
/// A false property must be reported with its smallest counterexample, a value for which the property does not hold.
@Suite(.inTurn) struct ForAllTests {
    private func smallest<Value: Equatable>(
        _ values: Arbitrary<Value>, breaking holds: @escaping (Value) -> Bool, count: UInt64 = 2_000
    ) async -> Counterexample<Value>? {
        await counterexample(values, seeds: 0..<count) { value in try hold(holds(value), "too large") }
    }

    @Test func `a counterexample that is a number shrinks to the smallest number that breaks the property`() async {
        let up = await smallest(Arbitrary<Int64>.number) { $0 < 1_000 }
        #expect(up?.value == 1_000)
        let down = await smallest(Arbitrary<Int64>.number) { $0 > -77 }
        #expect(down?.value == -77)
        let ranged = await smallest(Arbitrary<UInt8>.number(in: 20...200)) { $0 < 20 }
        #expect(ranged?.value == 20)
    }

    @Test func `a counterexample that is a list or a text shrinks to a shortest one with the smallest elements`() async {
        let list = await smallest(Arbitrary<Int>.number(in: 0...1_000).list()) { $0.count < 3 || $0.allSatisfy { $0 < 700 } }
        #expect(list?.value.sorted() == [0, 0, 700])
        let text = await smallest(Arbitrary<String>.text()) { !$0.unicodeScalars.contains("<") }
        #expect(text?.value == "<")
        let bounded = await smallest(Arbitrary<[UInt8]>.bytes(3...9)) { _ in false }
        #expect(bounded?.value == [0, 0, 0])
    }

    @Test func `a counterexample shrinks if it is one of several kinds, an optional, or generated from another value`() async {
        let kinds = Arbitrary<NativeValue>.native()
        let choice = await smallest(kinds) { if case .dictionary(let entries) = $0 { entries.isEmpty } else { true } }
        #expect(choice?.value == .dictionary(["": .string("")]))
        let some = await smallest(Arbitrary<Int>.number(in: 0...9).optional) { $0 == nil }
        #expect(some?.value == 0)
        let lists = Arbitrary<Int>.number(in: 0...20).flatMap { Arbitrary<[Bool]>.always(Array(repeating: true, count: $0)) }
        let list = await smallest(lists) { $0.count < 7 }
        #expect(list?.value == Array(repeating: true, count: 7))
    }

    @Test func `a counterexample of two values shrinks in each of them`() async {
        let pairs = zip(Arbitrary<Int>.number, Arbitrary<Int>.number)
        let found = await counterexample(pairs, seeds: 0..<2_000 as Range<UInt64>) { left, right in
            try hold(left < 5 || right > -3, "both")
        }
        #expect(found?.value.0 == 5)
        #expect(found?.value.1 == -3)
        #expect((found?.shrinks ?? 0) > 0)
    }

    @Test func `shrinking stops at the limit of checks, and a property that always holds has no counterexample`() async {
        let all = await smallest(Arbitrary<NativeValue>.native()) { _ in false }
        #expect(all?.value == .string(""))
        // The property fails only for the first value, so every shrunk value satisfies it.
        // The search tries them until none is left or the limit is reached.
        var asked = 0
        let found = await counterexample(Arbitrary<NativeValue>.native(), seeds: 3..<4 as Range<UInt64>, limit: 500) { _ in
            asked += 1
            try hold(asked > 1, "only the first")
        }
        #expect(found?.shrinks == 0)
        #expect(asked <= 501)
        #expect(await smallest(Arbitrary<NativeValue>.native()) { $0 == $0 } == nil)
    }

    @Test func `a seed generates the same values each time, and finds the same counterexample again`() async {
        func values(_ seeds: Range<UInt64>) -> [[UInt8]] {
            seeds.map { RecordCodec.encode(Arbitrary<StorageRecord>.record.tree(seed: $0).value) }
        }
        #expect(values(0..<40) == values(0..<40))
        #expect(Set(values(0..<40)).count > 35)
        let numbers = Arbitrary<Int>.number
        let found = await smallest(numbers) { $0 < 1_000 }
        let replayed = await counterexample(numbers, seeds: LawSettings(["LOCALDATA_SEED": "\(found?.seed ?? 0)"]).seeds(count: 9, from: 0))
        {
            try hold($0 < 1_000, "too large")
        }
        #expect(replayed?.value == 1_000)
        #expect(replayed?.seed == found?.seed)
        #expect(replayed?.shrinks == found?.shrinks)
    }

    @Test func `environment variables can multiply the number of values, or set a single seed`() {
        #expect(LawSettings([:]).seeds(count: 3, from: 5) == [5, 6, 7])
        #expect(LawSettings(["LOCALDATA_LAWS": "2"]).seeds(count: 3, from: 0) == [0, 1, 2, 3, 4, 5])
        #expect(LawSettings(["LOCALDATA_LAWS": "0.01"]).seeds(count: 3, from: 0) == [0])
        #expect(LawSettings(["LOCALDATA_LAWS": "2", "LOCALDATA_SEED": "9"]).seeds(count: 3, from: 0) == [9])
    }

    @Test func `a false property is reported once, with its smallest counterexample and the seed that replays it`() async {
        await withKnownIssue {
            await forAll(Arbitrary<Int>.number, count: 200) { try hold($0 < 1_000, "not below a thousand") }
        } matching: { issue in
            let text = issue.comments.map(\.rawValue).joined()
            return text.contains("not below a thousand") && text.contains("for 1000\n") && text.contains("LOCALDATA_SEED=")
        }
    }

    @Test func `the generated doubles include negative zero, the least positive number, infinity and a NaN`() {
        let drawn = Set((0..<2_000 as Range<UInt64>).map { Arbitrary<Double>.number.tree(seed: $0).value.bitPattern })
        for number in [-0.0, .leastNonzeroMagnitude, .infinity, Double(bitPattern: 0x7FF8_0000_0000_0001)] {
            #expect(drawn.contains(number.bitPattern))
        }
    }
}
