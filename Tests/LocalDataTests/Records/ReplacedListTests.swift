import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Changes of records of a collection whose legacy location is a list: one value that contains all records.
///
/// If a record of the list differs from the record of the collection, a read leaves the list unchanged, and a sweep
/// applies the conflict policy. A change of the record replaces both of them, so no sweep may undo the change. Only a
/// list that is written after the change is a conflict.
@Suite(.inTurn) struct ReplacedListTests {
    enum Change: CaseIterable, Sendable { case set, update, batch, remove }

    private static var policies: [ConflictPolicy<Note>] {
        [.destinationWins, .sourceWins, .merge { mine, other in Note(id: other.id, text: "\(mine?.text ?? "-")|\(other.text)") }]
    }

    private func make(_ change: Change, _ router: StorageRouter, _ notes: StorageCollection<Note>) async throws -> String? {
        switch change {
        case .set: try await router.set(Note(id: "a", text: "NEW"), in: notes)
        case .update: try await router.update(notes.key("a"), default: Note(id: "a", text: "")) { $0.text = "NEW" }
        case .batch: try await router.batch { $0.set(Note(id: "a", text: "NEW"), for: notes.key("a")) }
        case .remove:
            try await router.remove("a", in: notes)
            return nil
        }
        return "NEW"
    }

    @Test(arguments: Place.allCases, Change.allCases)
    func `no sweep undoes a change of a record that the collection and its legacy list both have`(
        _ place: Place, change: Change
    ) async throws {
        for policy in Self.policies {
            for readsBefore in [false, true] {
                try await place.withLaunches { launch, domain in
                    let list = testKey("list", place.olderDomain, of: [Note].self)
                    let notes = Note.collection(domain).moved(from: list) { $0 }.resolvingConflicts(policy)
                    try await launch().set([Note(id: "a", text: "older"), Note(id: "b", text: "second")], for: list)
                    // A program without the migration from the list stores a record.
                    try await launch().set(Note(id: "a", text: "first"), in: Note.collection(domain))
                    if readsBefore { #expect(try await launch().value("a", in: notes)?.text == "first") }
                    let changed = try await make(change, launch(), notes)
                    #expect(try await launch().value("a", in: notes)?.text == changed)
                    for _ in 0..<2 { _ = try #require(try await launch().row(of: notes)) }
                    #expect(try await launch().value("a", in: notes)?.text == changed)
                    #expect(try await launch().value("b", in: notes)?.text == "second")
                    #expect(try await launch().value(for: list) == nil)
                }
            }
        }
    }

    @Test(arguments: [0, 1, 2])
    func `a list that is written after the change is a conflict, to which the policy applies`(policy: Int) async throws {
        let machine = TestMachine()
        let list = testKey("list", .userDefaults(suite: "older"), of: [Note].self)
        let notes = Note.collection(.userDefaults(suite: "main")).moved(from: list) { $0 }.resolvingConflicts(Self.policies[policy])
        try await machine.launch().set([Note(id: "a", text: "older")], for: list)
        try await machine.launch().set(Note(id: "a", text: "first"), in: Note.collection(.userDefaults(suite: "main")))
        try await machine.launch().set(Note(id: "a", text: "NEW"), in: notes)
        try await machine.launch().set([Note(id: "a", text: "later")], for: list)
        let row = try #require(try await machine.launch().row(of: notes))
        #expect(row.state == .resolved && row.conflict != nil)
        #expect(try await machine.launch().value("a", in: notes)?.text == ["NEW", "later", "NEW|later"][policy])
        #expect(try await machine.launch().value(for: list) == nil)
    }

    /// The change could not read the list, so it does not know whether what is there later is older or newer.
    @Test(arguments: [Change.set, .remove])
    func `a list that is written after a change that could not read it is quarantined before it is deleted`(_ change: Change) async throws {
        var changed = 0
        for number in 1...8 {
            let machine = TestMachine()
            let list = testKey("list", .userDefaults(suite: "older"), of: [Note].self)
            let notes = Note.collection(.userDefaults(suite: "main")).moved(from: list) { $0 }.resolvingConflicts(Self.policies[2])
            try await machine.launch().set(Note(id: "a", text: "first"), in: Note.collection(.userDefaults(suite: "main")))
            let router = machine.launch()
            _ = try await router.value("a", in: notes)
            let lists = try #require(machine.backends(of: list.domain).last)
            lists.inject(.unavailable, at: number, of: .read)
            do { _ = try await make(change, router, notes) } catch StorageError.residueRemains {} catch StorageError.unavailable {
                continue
            }
            if lists.log.allSatisfy(\.faults.isEmpty) { break }
            changed += 1
            try await machine.launch().set([Note(id: "a", text: "later")], for: list)
            for _ in 0..<3 { _ = try #require(try await machine.launch().row(of: notes)) }
            #expect(try await machine.launch().value("a", in: notes)?.text == (change == .set ? "NEW" : nil), "read \(number)")
            #expect(try await machine.launch().value(for: list) == nil, "read \(number)")
            #expect(try await machine.quarantine(machine.launch()).contains { $0.contains("later") }, "read \(number)")
        }
        #expect(changed > 0)
    }

    @Test(arguments: [1, 2])
    func `no sweep undoes a change of a record whose legacy collection comes from a list`(policy: Int) async throws {
        let machine = TestMachine()
        let list = testKey("list", .userDefaults(suite: "older"), of: [Note].self)
        let bare = Note.collection("between", .userDefaults(suite: "middle"))
        let between = bare.moved(from: list) { $0 }.resolvingConflicts(Self.policies[policy])
        let notes = Note.collection(.userDefaults(suite: "main")).moved(from: between).resolvingConflicts(Self.policies[policy])
        try await machine.launch().set([Note(id: "a", text: "older")], for: list)
        try await machine.launch().set(Note(id: "a", text: "first"), in: bare)
        try await machine.launch().set(Note(id: "a", text: "NEW"), in: notes)
        for _ in 0..<3 { _ = try #require(try await machine.launch().row(of: notes)) }
        #expect(try await machine.launch().value("a", in: notes)?.text == "NEW")
        #expect(try await machine.launch().value(for: list) == nil)
    }
}
