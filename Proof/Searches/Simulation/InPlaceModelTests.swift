import Simulation
import TestSupport
import Testing

/// What the model of shapes in place allows and what it refuses, by the table of `Docs/Design.md` ("Several shapes in a release window").
@Suite struct InPlaceModelTests {
    private typealias Action = InPlaceModel.Action
    private typealias Reader = InPlaceModel.Reader

    private static let one = Reader(newest: 1)
    private static let two = Reader(newest: 2, keepsOlder: true, merges: true)
    private static let three = Reader(newest: 3, keepsOlder: true, merges: true)
    private static let over = Reader(newest: 2, merges: true)
    private static let dropped = Reader(newest: 2, isBlind: true)

    /// Whether actions can have come one after the other.
    private func explains(_ actions: [Action], keepsBeside: Bool = true, value: String? = nil) -> Bool {
        var begin = InPlaceModel(keepsBeside: keepsBeside, value: value)
        begin.cutsLeft = 1
        var history = CallHistory<InPlaceModel>()
        for (moment, action) in actions.enumerated() { history.add(action, moment, moment) }
        return history.isLinearizable(from: begin)
    }

    private func set(_ text: String?, _ reader: Reader, isAcknowledged: Bool = true) -> Action {
        .write(text, reader, isAcknowledged: isAcknowledged)
    }
    private func sweep(_ reader: Reader, ends: Bool = false) -> Action { .settle(reader, ends: ends, isRead: false) }

    @Test func `each version reads its own shape of what another one wrote`() {
        let begin = [set("val-#1/val-#2/val-#3", Self.three)]
        #expect(explains(begin + [.read("val-#1", Self.one), .read("val-#1/val-#2", Self.two), .read("val-#1/val-#2/val-#3", Self.three)]))
        #expect(!explains(begin + [.read("val-#1/-", Self.two)]))
        #expect(!explains(begin + [.refusedVersion(Self.one)]))
        #expect(explains([.read("val-#1/-", Self.two), sweep(Self.two), .read("val-#1", Self.one)], value: "val-#1"))
    }

    @Test func `what version 1 wrote is merged with the newer shape, and never hidden by it`() {
        let begin = [set("val-#1/val-#2", Self.two), set("val-#3", Self.one)]
        #expect(explains(begin + [.read("val-#3/val-#2", Self.two), sweep(Self.two), .read("val-#3/val-#2", Self.two)]))
        #expect(!explains(begin + [.read("val-#1/val-#2", Self.two)]))
        #expect(!explains(begin + [.read("val-#3/-", Self.two)]))
        #expect(!explains(begin + [sweep(Self.two), .read("val-#3/-", Self.two)]))
    }

    @Test func `version 3 keeps what only it knows when versions 1 and 2 have written`() {
        let begin = [set("val-#1/val-#2/val-#3", Self.three), set("val-#4/val-#5", Self.two), set("val-#6", Self.one)]
        #expect(explains(begin + [.read("val-#6/val-#5", Self.two), .read("val-#6/val-#5/val-#3", Self.three)]))
        #expect(!explains(begin + [.read("val-#6/val-#2/val-#3", Self.three)]))
    }

    @Test func `what version 1 removed is gone, and its newer shape is in quarantine after a sweep`() {
        let begin = [set("val-#1/val-#2", Self.two), set(nil, Self.one)]
        #expect(explains(begin + [.read(nil, Self.two), sweep(Self.two), .end([1, 2])]))
        #expect(!explains(begin + [.read("val-#1/val-#2", Self.two)]))
        #expect(!explains(begin + [sweep(Self.two), .end([1])]))
        #expect(explains(begin + [sweep(Self.two), set("val-#3", Self.one), .read("val-#3/-", Self.two)]))
        #expect(!explains(begin + [sweep(Self.two), set("val-#3", Self.one), .read("val-#3/val-#2", Self.two)]))
    }

    @Test func `what is written after a removal has nothing of the value before, unless nothing tells of the removal`() {
        let begin = [set("val-#1/val-#2/val-#3", Self.three)]
        for reader in [Self.one, Self.two] {
            let again = begin + [set(nil, reader), set("val-#4", Self.one)]
            #expect(explains(again + [.read("val-#4/-/-", Self.three), sweep(Self.three), .end([1, 2, 3])]))
            #expect(!explains(again + [.read("val-#4/-/val-#3", Self.three)]))
            #expect(!explains(again + [sweep(Self.three), .end([1, 2])]))
        }
        let again = begin + [set(nil, Self.two), set("val-#4/val-#5", Self.two)]
        #expect(explains(again + [set("val-#6", Self.one), .read("val-#6/val-#5/-", Self.three)]))
        // What a program that knows nothing of LocalData does is not told apart.
        #expect(explains(begin + [.foreign(nil), .foreign("val-#4"), .read("val-#4/val-#2/val-#3", Self.three)]))
    }

    @Test func `the end of the window refuses version 1, and takes all that was beside the value`() {
        let begin = [set("val-#1/val-#2", Self.two), set("val-#3", Self.one), sweep(Self.two, ends: true)]
        #expect(explains(begin + [.refusedVersion(Self.one), .read("val-#3/val-#2", Self.two), .read("val-#3/val-#2", Self.over)]))
        #expect(!explains(begin + [.read("val-#3", Self.one)]))
        #expect(!explains(begin + [set("val-#4", Self.one)]))
        // The version of the slot never goes back.
        #expect(!explains(begin + [set("val-#4/val-#5", Self.two), .read("val-#4", Self.one)]))
    }

    @Test func `without a merge, what version 1 wrote over is in quarantine`() {
        let begin = [set("val-#1/val-#2", Self.two), set("val-#3", Self.one), .read("val-#3/-", Self.dropped), sweep(Self.dropped)]
        #expect(explains(begin + [.end([1, 2])]))
        #expect(!explains(begin + [.end([1])]))
        #expect(!explains([set("val-#1/val-#2", Self.two), set("val-#3", Self.one), .read("val-#3/val-#2", Self.dropped)]))
    }

    @Test func `where nothing is kept beside a value, its older shape tells everything`() {
        #expect(!explains([set("val-#1/val-#2", Self.two)], keepsBeside: false))
        #expect(
            explains([.refusedShape("val-#1/val-#2", Self.two), set("val-#1/-", Self.two), .read("val-#1", Self.one)], keepsBeside: false))
        #expect(!explains([.refusedShape("val-#1/-", Self.two)], keepsBeside: false))
        #expect(!explains([.refusedShape("val-#1/val-#2", Self.two)]))
    }

    @Test func `a power cut takes all shapes of a commit that was not acknowledged, or none`() {
        let begin = [set("val-#1/val-#2", Self.two), set("val-#3/val-#4", Self.two, isAcknowledged: false), .powerCut]
        #expect(explains(begin + [.read("val-#1/val-#2", Self.two)]))
        #expect(explains(begin + [.read("val-#3/val-#4", Self.two)]))
        #expect(!explains(begin + [.read("val-#3/val-#2", Self.two)]))
        #expect(!explains([set("val-#1/val-#2", Self.two), .powerCut, .read(nil, Self.two)]))
    }
}
