import LocalData
import TestSupport
import Testing

/// Laws (statements that are checked with random values) of the conflict policies.
///
/// A sweep migrates the values of all keys. The destination is the slot where a key stores its value now. In its legacy
/// locations, earlier versions of the program stored the value.
///
/// A legacy value conflicts if it differs from the value of the key and is not recorded as superseded by that value.
/// The test applies the policy to one legacy value after another, in order. This gives the expected value, and
/// the expected content of the quarantine, the store for displaced values.
@Suite(.inTurn, .tags(.campaign)) struct ConflictLawTests {
    /// Generates states with a value or a tombstone (the record of a removal) at the destination, and a value in each legacy location.
    private static func worlds(_ policies: [Policy]) -> Arbitrary<World> {
        let place = zip(
            Arbitrary<Held>.one(of: [.value("a"), .value("b"), .value("c")]), Arbitrary<Naming>.one(of: [.none, .former, .current])
        ).map { held, naming in
            OlderPlace(held: held, reach: .open, isStrong: false, isForeign: false, naming: naming, skips: false, allowsWeaker: false)
        }
        return zip(
            Arbitrary<Held>.one(of: [.value("a"), .value("b"), .tombstone]), Arbitrary<Policy>.one(of: policies), place.list(1...3)
        ).map { held, policy, places in
            World(
                held: held, reach: .open, isStrong: false, policy: policy, convertsInPlace: false, keepsReplacedBytes: false,
                places: places)
        }
    }

    /// Sweeps once for each legacy location, and compares the result with the expected value and quarantine.
    ///
    /// `step` applies the policy to the current value and one conflicting legacy value.
    private func check(
        _ world: World, _ step: (_ mine: String?, _ theirs: String) -> (stands: String?, kept: [String])
    ) async throws {
        let bench = try await MigrationBench(world)
        for _ in world.places { _ = await bench.run(.sweep) }
        let after = try await bench.look()
        var mine = world.held.text
        var kept: Set<String> = []
        for (index, place) in world.places.enumerated() {
            guard let theirs = place.held.text, world.named[index] != theirs, mine != theirs else { continue }
            let result = step(mine, theirs)
            mine = result.stands
            kept.formUnion(result.kept)
        }
        try same(after.held, mine.map(Held.value) ?? .tombstone, "the content of the destination")
        try same(after.quarantine, kept, "the quarantined texts")
        try same(after.places, world.places.map { _ in .absent }, "the older places")
        let again = await bench.run(.sweep)
        try same(again, .row(mine == nil ? .removed : .unchanged, code: nil), "one more sweep")
        try same(try await bench.look(), after, "after one more sweep")
    }

    @Test func `with destinationWins, the key keeps its value, and every conflicting legacy value is quarantined`() async {
        await forAll(Self.worlds([.destinationWins]), count: 150, spelling: \.spelledOut) { world in
            try await check(world) { mine, theirs in (mine, [theirs]) }
        }
    }

    @Test
    func `with sourceWins, the last conflicting legacy value becomes the value of the key, and each replaced value is quarantined`() async {
        await forAll(Self.worlds([.sourceWins]), count: 150, spelling: \.spelledOut) { world in
            try await check(world) { mine, theirs in (theirs, [mine].compactMap(\.self)) }
        }
    }

    @Test func `with merge, the result of the closure becomes the value of the key, and the merged values are quarantined`() async {
        await forAll(Self.worlds([.join, .keep, .writeTombstone]), count: 250, spelling: \.spelledOut) { world in
            try await check(world) { mine, theirs in
                let kept = [mine, theirs].compactMap(\.self)
                return switch world.policy {
                case .join: ("\(mine ?? "-")+\(theirs)", kept)
                case .keep: (mine, kept)
                default: (nil, kept)
                }
            }
        }
    }

    @Test func `a merge closure that throws leaves the value of the key and every conflicting legacy value unchanged`() async {
        await forAll(Self.worlds([.refuse]), count: 100, spelling: \.spelledOut) { world in
            let bench = try await MigrationBench(world)
            _ = await bench.run(.sweep)
            let after = try await bench.look()
            try same(after.held, world.held, "the content of the destination")
            try same(after.quarantine, [], "the quarantined texts")
            // The sweep may still delete legacy values that are superseded or that equal the value of the key.
            for (index, place) in world.places.enumerated() where after.places[index] != place.held {
                let text = place.held.text
                try hold(world.named[index] == text || world.held.text == text, "\(place.held) is gone from place \(index)")
            }
        }
    }

    @Test func `a read returns the value of the key and resolves no conflict`() async {
        await forAll(Self.worlds([.destinationWins, .sourceWins, .join, .writeTombstone, .refuse]), count: 100, spelling: \.spelledOut) {
            world in
            let bench = try await MigrationBench(world)
            let before = try await bench.look()
            try same(await bench.run(.value), .value(world.held.text), "the value")
            try same(try await bench.look(), before, "the contents after the read")
        }
    }
}
