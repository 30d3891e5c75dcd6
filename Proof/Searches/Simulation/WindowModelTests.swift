import Simulation
import TestSupport
import Testing

/// Tests of the model of release windows: which histories of calls it allows and which it refuses. The model follows
/// the table in "Release windows" in `Docs/Design.md`. A comment before a test names the rows of that table that it
/// covers. In a release window, version 2 of a program stores a value at a new location, the destination. For version 1
/// it keeps the legacy location up to date. A mirror is the copy that version 2 writes there. A mark is a record beside the mirror that
/// says what was mirrored. A sweep is a call that brings all keys into their final state.
@Suite struct WindowModelTests {
    private typealias Action = WindowModel.Action

    /// Returns whether the model allows these actions in this order.
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
    /// Begins a part of the history in which no running program knows the destination (`off`), or one does (`on`).
    private let off = Action.round(isActive: false)
    private let on = Action.round(isActive: true)

    // Rows 2 and 3.
    @Test func `a value that only the legacy location has is read`() {
        #expect(explains([read("val-#1")]))
        #expect(!explains([read(nil)]))
        #expect(explains([read(nil)], older: nil))
        #expect(!explains([.olderRead(nil)]))
    }

    // Rows 4 to 6.
    @Test func `a mirror may be late, but is up to date after an undisturbed call of version 2`() {
        #expect(explains([set("val-#2"), .olderRead("val-#1"), read("val-#2"), .olderRead("val-#2")]))
        #expect(explains([set("val-#2"), undisturbed, .olderRead("val-#2")]))
        #expect(!explains([set("val-#2"), undisturbed, .olderRead("val-#1")]))
        #expect(!explains([set("val-#2"), off, .olderRead("val-#1"), .olderRead("val-#2")]))
        #expect(explains([set(nil), undisturbed, .olderRead(nil), read(nil)]))
    }

    // Row 7.
    @Test func `if version 1 overwrites the mirror, the next read returns its value, which replaces the value of version 2`() {
        let begin = [set("val-#2"), undisturbed, writeOlder("val-#3")]
        #expect(explains(begin + [read("val-#3"), .end([3])]))
        #expect(!explains(begin + [read("val-#2")]))
        #expect(!explains(begin + [.settle(ends: false), read("val-#2")]))
        // Here, version 2 took its value from the legacy location and has not written a mirror. A later write of
        // version 1 wins all the same.
        #expect(!explains([read("val-#1"), off, writeOlder("val-#3"), on, read("val-#1")]))
    }

    // Row 8.
    @Test func `a value that version 1 removes is absent for version 2, and its content is in quarantine`() {
        let begin = [set("val-#2"), undisturbed, writeOlder(nil)]
        #expect(explains(begin + [read(nil), .end([2])]))
        #expect(!explains(begin + [read("val-#2")]))
        #expect(!explains(begin + [read(nil), .end([])]))
    }

    // Row 9.
    @Test(arguments: Policy.allCases)
    func `a sweep decides between conflicting values of versions 1 and 2, and a read does not`(_ policy: Policy) {
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

    @Test func `after a write by version 2 that may not have seen the value of version 1, the value of version 2 is read`() {
        let begin = [set("val-#2"), undisturbed, writeOlder("val-#3"), .write("val-#4", isBlind: true, isAcknowledged: true, ends: false)]
        // If version 2 had read the value of version 1, it replaced this value. If not, a sweep must decide between the
        // two values.
        #expect(explains(begin + [undisturbed, read("val-#4")]))
        #expect(explains(begin + [.settle(ends: false), read("val-#4"), .end([3, 4])]))
        #expect(!explains(begin + [read("val-#3")]))
    }

    // Row 9, between two stores without a common transaction.
    @Test func `a sweep may decide about a value that version 1 replaces during the sweep, but never about one that it removes`() {
        let begin = [set("val-#2"), off, writeOlder("val-#3"), on]
        func explains(_ actions: [Action], _ policy: Policy) -> Bool { self.explains(begin + actions, policy: policy) }
        let late = [Action.take, writeOlder("val-#4"), read("val-#2"), .settle(ends: false)]
        let both = [read("val-#2|val-#3"), .settle(ends: false), read("val-#2|val-#3|val-#4"), .end([2, 3, 4])]
        #expect(explains(late + both, .merge))
        #expect(!explains(late.dropFirst() + both, .merge))
        #expect(explains(late + [read("val-#3"), .settle(ends: false), read("val-#4"), .end([2, 3, 4])], .sourceWins))
        #expect(!explains(late + [read("val-#3")], .destinationWins))
        let removed = [Action.take, writeOlder(nil), read("val-#2"), .settle(ends: false)]
        #expect(!explains(removed + [read("val-#2|val-#3")], .merge))
    }

    @Test func `if mirror and mark are committed separately, a write of version 1 over a mirror without a mark is a conflict`() {
        let actions = [set("val-#2"), .olderRead("val-#2"), off, writeOlder("val-#3"), on, read("val-#2")]
        #expect(explains(actions, isApart: true))
        #expect(!explains(actions))
    }

    // Row 1.
    @Test func `after the end of the window the legacy location is not read, and a sweep empties it`() {
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
        // A power cut may undo a mirror, which is then written again. It cannot undo the value, because a mirror is
        // written only after the value is durable.
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
