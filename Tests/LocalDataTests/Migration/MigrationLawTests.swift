import LocalData
import TestSupport
import Testing

/// Laws (statements that are checked with random values) of the migration engine. The contents and states of all stores
/// of one key are random.
///
/// The real router runs on stores in memory. `MigrationReference` computes the expected results from the state table in
/// `Docs/Design.md`.
///
/// The destination is the slot of the key; earlier versions kept the value in legacy locations. A sweep migrates the
/// values of all keys of a catalog. A legacy copy is superseded once the destination has taken it over or has a newer
/// value. Any other legacy value is a conflict.
@Suite(.inTurn, .tags(.campaign)) struct MigrationLawTests {
    private let worlds = Arbitrary<World>.world
    private let deeds = zip(Arbitrary<World>.world, Arbitrary<Action>.action)

    private func spelling(_ world: World, _ action: Action) -> String { "\(action): \(world.spelledOut)" }

    @Test func `every call has the result that the state table defines, for random contents and states of the stores`() async {
        await forAll(deeds, count: 1_000, spelling: spelling) { world, action in
            let bench = try await MigrationBench(world)
            let found = try await bench.look(await bench.run(action))
            try same(found, MigrationReference.expected(action, in: world), "\(action)")
        }
    }

    @Test
    func `a second read, set or remove changes nothing, and after one sweep for each legacy location, a further sweep changes nothing`()
        async
    {
        await forAll(deeds, count: 500, spelling: spelling) { world, action in
            let bench = try await MigrationBench(world)
            var answer = await bench.run(action)
            // One sweep moves a value or resolves one conflict, so run one sweep for each legacy location.
            if action == .sweep || action == .force {
                for _ in world.places { answer = await bench.run(action) }
            }
            let once = try await bench.look()
            let again = await bench.run(action)
            try same(try await bench.look(), once, "the contents after the second call")
            switch (answer, again) {
            case (.row(_, code: nil), .row(let state, code: nil)):
                try hold([.unchanged, .absent, .removed].contains(state), "a repeated sweep still changed something: \(state)")
            default: try same(again, answer, "the second answer")
            }
        }
    }

    @Test func `reads and sweeps lose no content, except superseded legacy copies and values converted within their slot`() async {
        let moves = zip(worlds, Arbitrary<Action>.one(of: [.value, .sweep, .force]))
        await forAll(moves, count: 500, spelling: spelling) { world, action in
            let bench = try await MigrationBench(world)
            // The destination's record names the legacy copies that it superseded. These copies may disappear.
            var expected: [String] = []
            for (index, place) in world.places.enumerated() {
                guard let text = place.held.text, world.named[index] != text else { continue }
                expected.append(text)
            }
            let isConverted = if case .number = world.held { world.convertsInPlace && !world.keepsReplacedBytes } else { false }
            if let text = world.held.text, !isConverted { expected.append(text) }
            for _ in 0...world.places.count { _ = await bench.run(action) }
            let after = try await bench.look()
            let kept = after.quarantine.union((after.places + [after.held]).compactMap(\.text))
            for text in expected { try hold(kept.contains(text), "the content \(text) was lost: \(after)") }
        }
    }

    @Test func `a set replaces only the value of the key, a remove also deletes legacy copies, and damaged bytes are quarantined`() async {
        let changes = zip(worlds, Arbitrary<Action>.one(of: [.set("new"), .remove]))
        await forAll(changes, count: 300, spelling: spelling) { world, action in
            let bench = try await MigrationBench(world)
            let answer = await bench.run(action)
            let after = try await bench.look()
            let kept = after.quarantine.union((after.places + [after.held]).compactMap(\.text))
            let isRefused = if case .threw(_, applied: false) = answer { true } else { false }
            if case .corrupt = world.held, let bytes = world.held.text {
                try hold(kept.contains(bytes), "the damaged bytes were not quarantined")
            }
            if isRefused, let text = world.held.text { try hold(kept.contains(text), "a refused change displaced \(text)") }
            for (index, place) in world.places.enumerated()
            where isRefused || action != .remove || !place.held.isRecord || place.reach != .open {
                try same(after.places[index], place.held, "the older place \(index)")
            }
        }
    }
}
