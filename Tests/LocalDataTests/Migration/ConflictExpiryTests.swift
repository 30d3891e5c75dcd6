import BackendContract
import Foundation
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// The time of expiry of a value that a conflict policy stores.
///
/// A conflict exists if a legacy location has another value than the destination. A sweep applies the policy. The new
/// value must not live longer than the values from which it comes: a value with a lifetime, such as a session token,
/// would otherwise outlive its session.
@Suite(.inTurn) struct ConflictExpiryTests {
    /// The lifetimes of the two values in seconds, and the expected remaining lifetime. Nil for a value that never expires.
    struct Case: Sendable, CustomTestStringConvertible {
        let mine: Double?
        let theirs: Double?
        let winning: Double?
        let merged: Double?

        var testDescription: String { "\(mine ?? 0) and \(theirs ?? 0) seconds" }

        static let all = [
            Case(mine: 600, theirs: nil, winning: 600, merged: 600), Case(mine: 600, theirs: 300, winning: 300, merged: 300),
            Case(mine: 300, theirs: 600, winning: 600, merged: 300), Case(mine: nil, theirs: 600, winning: 600, merged: 600),
            Case(mine: nil, theirs: nil, winning: nil, merged: nil),
        ]
    }

    private let clock = TestClock()
    private let machine: TestMachine
    private let source = textKey("old", .userDefaults(suite: "a"))

    init() { machine = TestMachine { [clock] in $0.use(clock) } }

    private func key(isMerged: Bool) -> StorageKey<String> {
        textKey("new", .userDefaults(suite: "b")).moved(from: source)
            .resolvingConflicts(isMerged ? .merge { mine, theirs in "\(mine ?? "-")|\(theirs)" } : .sourceWins)
    }

    private func set(_ value: String, for key: StorageKey<String>, lifetime: Double?) async throws {
        try await machine.launch().set(value, for: key, lifetime: lifetime.map { .seconds($0) })
    }

    private func remaining(_ key: StorageKey<String>, since start: Double) async throws -> Double? {
        let expiry = try await machine.launch().storedValue(for: key)?.expiresAt
        return expiry.map { ($0.timeIntervalSince1970 - start).rounded() }
    }

    @Test(arguments: Case.all, [false, true])
    func `a sweep that resolves a conflict keeps the remaining time`(_ test: Case, isMerged: Bool) async throws {
        let key = key(isMerged: isMerged)
        let start = clock.shifted.wallSeconds
        try await set("mine", for: key, lifetime: test.mine)
        try await set("theirs", for: source, lifetime: test.theirs)
        clock.advance(by: .seconds(60))
        let row = try await machine.launch().row(of: key)
        #expect(row.state == .resolved)
        #expect(try await machine.launch().value(for: key) == (isMerged ? "mine|theirs" : "theirs"))
        #expect(try await remaining(key, since: start) == (isMerged ? test.merged : test.winning))
    }

    @Test(arguments: [false, true])
    func `a value of another program gets the remaining time of the value with which it conflicts, not a new lifetime`(
        isMerged: Bool
    ) async throws {
        let key = key(isMerged: isMerged).expiring(after: .seconds(600))
        let start = clock.shifted.wallSeconds
        try await machine.launch().set("mine", for: key)
        clock.advance(by: .seconds(60))
        machine.seedUserDefaults(["old": .string("theirs")], suite: "a")
        #expect(try await machine.launch().row(of: key).state == .resolved)
        #expect(try await remaining(key, since: start) == 600)
    }

    @Test func `a merged value never expires if the value in the destination was set without a lifetime`() async throws {
        let key = key(isMerged: true).expiring(after: .seconds(600))
        try await machine.launch().set("mine", for: textKey("new", .userDefaults(suite: "b")))
        machine.seedUserDefaults(["old": .string("theirs")], suite: "a")
        #expect(try await machine.launch().row(of: key).state == .resolved)
        #expect(try await machine.launch().storedValue(for: key)?.expiresAt == nil)
        try await machine.launch().update(key, default: "") { $0 += "!" }
        #expect(try await machine.launch().storedValue(for: key)?.expiresAt == nil)
    }

    @Test(arguments: WindowWorld.Way.allCases, [false, true])
    func `a conflict in a release window keeps the remaining time`(_ way: WindowWorld.Way, isMerged: Bool) async throws {
        let world = WindowWorld(way, isMerged ? .merge { mine, theirs in "\(mine ?? "-")|\(theirs)" } : .sourceWins, clock)
        let (v1, v2) = (world.machine.launch(), world.machine.launch())
        try await v1.set("one", for: world.old)
        #expect(try await v2.get(world.key) == "one")
        for backend in world.machine.backends(of: way.old) {
            backend.inject(.fail(BackendError(.failed, "The store failed. Nothing was changed.")), of: .apply)
        }
        let start = clock.shifted.wallSeconds
        try await v2.set("mine", for: world.key, lifetime: .seconds(600))
        for backend in world.machine.backends(of: way.old) { backend.removeFaults() }
        try await v1.set("theirs", for: world.old)
        clock.advance(by: .seconds(60))
        #expect(try await v2.row(of: world.key).state == .resolved)
        #expect(try await v2.get(world.key) == (isMerged ? "mine|theirs" : "theirs"))
        let expiry = try await v2.storedValue(for: world.key)?.expiresAt
        #expect(expiry.map { ($0.timeIntervalSince1970 - start).rounded() } == 600)
    }

    @Test(arguments: Case.all, [false, true])
    func `a conflict of a legacy list keeps the remaining time of the record`(_ test: Case, isMerged: Bool) async throws {
        let list = testKey("list", .userDefaults(suite: "a"), of: [Note].self)
        let bare = Note.collection(.userDefaults(suite: "b"))
        let notes = bare.moved(from: list) { $0 }.resolvingConflicts(
            isMerged ? .merge { mine, other in Note(id: other.id, text: "\(mine?.text ?? "-")|\(other.text)") } : .sourceWins)
        let start = clock.shifted.wallSeconds
        try await machine.launch().set(
            Note(id: "a", text: "mine"), for: bare.key("a"), lifetime: test.mine.map { .seconds($0) })
        try await machine.launch().set([Note(id: "a", text: "theirs")], for: list, lifetime: test.theirs.map { .seconds($0) })
        clock.advance(by: .seconds(60))
        #expect(try await machine.launch().row(of: notes)?.state == .resolved)
        let expiry = try await machine.launch().storedValue(for: notes.key("a"))?.expiresAt
        #expect(expiry.map { ($0.timeIntervalSince1970 - start).rounded() } == (isMerged ? test.merged : test.winning))
    }

    @Test(arguments: [false, true])
    func `a record that has expired is not merged with the record of a legacy list`(isMerged: Bool) async throws {
        let list = testKey("list", .userDefaults(suite: "a"), of: [Note].self)
        let bare = Note.collection(.userDefaults(suite: "b"))
        let notes = bare.moved(from: list) { $0 }.resolvingConflicts(
            isMerged ? .merge { mine, other in Note(id: other.id, text: "\(mine?.text ?? "-")|\(other.text)") } : .sourceWins)
        try await machine.launch().set(Note(id: "a", text: "mine"), for: bare.key("a"), lifetime: .seconds(60))
        try await machine.launch().set([Note(id: "a", text: "theirs")], for: list)
        clock.advance(by: .seconds(120))
        #expect(try await machine.launch().row(of: notes)?.state == .resolved)
        #expect(try await machine.launch().value(for: notes.key("a"))?.text == (isMerged ? "-|theirs" : "theirs"))
        #expect(try await machine.launch().storedValue(for: notes.key("a"))?.expiresAt == nil)
    }
}
