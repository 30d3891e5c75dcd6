import Simulation
import TestSupport
import Testing

/// Tests of the model of release windows: which histories it allows and refuses, by the table of `Docs/Windows.md`.
@Suite struct WindowModelTests {
    private typealias Action = WindowModel.Action

    /// Whether the model allows the actions one after the other.
    private func explains(
        _ actions: [Action], policy: Policy = .destinationWins, isApart: Bool = false, value: String? = nil, older: String? = "val-#1"
    ) -> Bool {
        var begin = WindowModel(
            WindowModel.Rules(policy: policy, isApart: isApart), isActive: true, value: value, isSettled: value != nil, older: older)
        begin.cutsLeft = 1
        var history = CallHistory<WindowModel>()
        for (moment, action) in actions.enumerated() { history.add(action, moment, moment) }
        return history.isLinearizable(from: begin)
    }

    private func set(_ text: String?, isAcknowledged: Bool = true) -> Action {
        .write(text, isBlind: false, isAcknowledged: isAcknowledged, ends: false)
    }
    private func writeOlder(_ text: String?) -> Action { .older(text, isAcknowledged: true, isBare: false, isRepeated: false) }
    private func read(_ text: String?) -> Action { .read(text, ends: false) }
    private let undisturbed = Action.inStep(ends: false, sweeps: false)
    /// A round in which no program knows the destination, and a round in which one does.
    private let off = Action.round(isActive: false)
    private let on = Action.round(isActive: true)

    @Test func `rows 2 and 3, a value that only the legacy location has is read`() {
        #expect(explains([read("val-#1")]))
        #expect(!explains([read(nil)]))
        #expect(explains([read(nil)], older: nil))
        #expect(!explains([.olderRead(nil)]))
    }

    @Test func `rows 4 to 6, a mirror may be late, but is written after an undisturbed call`() {
        #expect(explains([set("val-#2"), .olderRead("val-#1"), read("val-#2"), .olderRead("val-#2")]))
        #expect(explains([set("val-#2"), undisturbed, .olderRead("val-#2")]))
        #expect(!explains([set("val-#2"), undisturbed, .olderRead("val-#1")]))
        #expect(!explains([set("val-#2"), off, .olderRead("val-#1"), .olderRead("val-#2")]))
        #expect(explains([set(nil), undisturbed, .olderRead(nil), read(nil)]))
    }

    @Test func `row 7, a value that version 1 writes over the mirror is read next and replaces the old one`() {
        let begin = [set("val-#2"), undisturbed, writeOlder("val-#3")]
        #expect(explains(begin + [read("val-#3"), .end([3])]))
        #expect(!explains(begin + [read("val-#2")]))
        #expect(!explains(begin + [.settle(ends: false), read("val-#2")]))
        // Without a mirror, the value was made from the legacy location, so version 1's write wins as well.
        #expect(!explains([read("val-#1"), off, writeOlder("val-#3"), on, read("val-#1")]))
    }

    @Test func `row 8, a value that version 1 removes is absent and quarantined`() {
        let begin = [set("val-#2"), undisturbed, writeOlder(nil)]
        #expect(explains(begin + [read(nil), .end([2])]))
        #expect(!explains(begin + [read("val-#2")]))
        #expect(!explains(begin + [read(nil), .end([])]))
    }

    @Test(arguments: Policy.allCases)
    func `row 9, a sweep decides a conflict, and a read does not`(_ policy: Policy) {
        let begin = [set("val-#2"), off, .olderRead("val-#1"), writeOlder("val-#3"), on]
        func explains(_ actions: [Action]) -> Bool { self.explains(begin + actions, policy: policy) }
        #expect(explains([read("val-#2"), .olderRead("val-#3"), read("val-#2")]))
        #expect(!explains([read("val-#3")]))
        let (winner, loser) = policy == .sourceWins ? ("val-#3", 2) : ("val-#2", 3)
        let merged = "val-#2|val-#3"
        let swept = [Action.settle(ends: false), .inStep(ends: false, sweeps: true)]
        #expect(explains(swept + [read(policy == .merge ? merged : winner), .end([2, 3])]))
        #expect(!explains(swept + [read(policy == .sourceWins ? "val-#2" : "val-#3")]))
        if policy != .merge { #expect(!explains(swept + [read(winner), .end([5 - loser])])) }
    }

    @Test func `after a write that may not have seen the value of version 1, the written value is read`() {
        let begin = [set("val-#2"), undisturbed, writeOlder("val-#3"), .write("val-#4", isBlind: true, isAcknowledged: true, ends: false)]
        // The write replaced the value of version 1 knowingly, or a sweep must decide.
        #expect(explains(begin + [undisturbed, read("val-#4")]))
        #expect(explains(begin + [.settle(ends: false), read("val-#4"), .end([3, 4])]))
        #expect(!explains(begin + [read("val-#3")]))
    }

    @Test func `in a store that commits marks separately, a write over an unmarked mirror is a conflict`() {
        let actions = [set("val-#2"), .olderRead("val-#2"), off, writeOlder("val-#3"), on, read("val-#2")]
        #expect(explains(actions, isApart: true))
        #expect(!explains(actions))
    }

    @Test func `row 1, after the end of the window the legacy location is not read, and a sweep empties it`() {
        let begin = [set("val-#2"), undisturbed, .settle(ends: true), .inStep(ends: true, sweeps: true)]
        #expect(explains(begin + [.olderRead(nil), read("val-#2")]))
        #expect(!explains(begin + [.olderRead("val-#2")]))
        let late = begin + [writeOlder("val-#3")]
        #expect(explains(late + [read("val-#2"), .olderRead("val-#3")]))
        #expect(!explains(late + [read("val-#3")]))
        #expect(explains(late + [.settle(ends: false), .olderRead(nil), .end([2, 3])]))
        #expect(!explains(late + [.settle(ends: false), .olderRead(nil), .end([2])]))
    }

    @Test func `a power cut loses only changes that were not acknowledged`() {
        #expect(explains([read("val-#1"), set("val-#2", isAcknowledged: false), read("val-#2"), .powerCut, on, read("val-#1")]))
        #expect(!explains([set("val-#2"), .powerCut, on, read("val-#1")]))
        // A power cut may undo a mirror, which is then written again. The mirror existed only because the value was
        // durable.
        let mirrored = [set("val-#2", isAcknowledged: false), .olderRead("val-#2"), .powerCut]
        #expect(explains(mirrored + [.olderRead("val-#1"), on, read("val-#2")]))
        #expect(!explains(mirrored + [on, read("val-#1")]))
    }

    @Test func `a legacy value that a power cut brings back is not a write of version 1`() {
        let begin = [read("val-#1"), set("val-#2"), .olderRead("val-#2"), .powerCut, .olderRead("val-#1"), on]
        #expect(explains(begin + [.settle(ends: false), read("val-#2")], policy: .sourceWins))
        #expect(!explains(begin + [.settle(ends: false), read("val-#1")], policy: .sourceWins))
    }
}
