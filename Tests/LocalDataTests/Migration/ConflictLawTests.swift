import LocalData
import TestSupport
import Testing

/// Laws of the conflict policies: what stands in the end, and what is in quarantine, as a fold over the older places in their order.
@Suite(.inTurn, .tags(.campaign)) struct ConflictLawTests {
    /// A value or a removal, and older places that hold values.
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

    /// Sweeps until nothing is left, and compares with a fold over what is neither named nor the same value as what stands there by then.
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
        try same(after.held, mine.map(Held.value) ?? .tombstone, "what stands")
        try same(after.quarantine, kept, "the quarantine")
        try same(after.places, world.places.map { _ in .absent }, "the older places")
        let again = await bench.run(.sweep)
        try same(again, .row(mine == nil ? .removed : .unchanged, code: nil), "one more sweep")
        try same(try await bench.look(), after, "after one more sweep")
    }

    @Test func `where the destination wins, it stands, and every older value that is another one is quarantined`() async {
        await forAll(Self.worlds([.destinationWins]), count: 150, spelling: \.spelledOut) { world in
            try await check(world) { mine, theirs in (mine, [theirs]) }
        }
    }

    @Test func `where the source wins, the last older value that is another one stands, and what it replaced is quarantined`() async {
        await forAll(Self.worlds([.sourceWins]), count: 150, spelling: \.spelledOut) { world in
            try await check(world) { mine, theirs in (theirs, [mine].compactMap(\.self)) }
        }
    }

    @Test func `where a closure decides, its result stands, and all that it was made of is quarantined`() async {
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

    @Test func `where the closure throws, everything stays where it is`() async {
        await forAll(Self.worlds([.refuse]), count: 100, spelling: \.spelledOut) { world in
            let bench = try await MigrationBench(world)
            _ = await bench.run(.sweep)
            let after = try await bench.look()
            try same(after.held, world.held, "what stands")
            try same(after.quarantine, [], "the quarantine")
            // Copies that the value names go at any time, and so do equal values before the first conflict.
            for (index, place) in world.places.enumerated() where after.places[index] != place.held {
                let text = place.held.text
                try hold(world.named[index] == text || world.held.text == text, "\(place.held) is gone from place \(index)")
            }
        }
    }

    @Test func `a read applies no policy`() async {
        await forAll(Self.worlds([.destinationWins, .sourceWins, .join, .writeTombstone, .refuse]), count: 100, spelling: \.spelledOut) {
            world in
            let bench = try await MigrationBench(world)
            let before = try await bench.look()
            try same(await bench.run(.value), .value(world.held.text), "the value")
            try same(try await bench.look(), before, "what is there")
        }
    }
}
