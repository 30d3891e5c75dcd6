import BackendContract
import LocalData
import LocalDataQueries
import LocalDataTesting
import TestSupport
import Testing

/// Defects that the journeys of Proof/Simulation/Journeys found: releases that are skipped, and calls that stop on the way.
@Suite(.inTurn) struct JourneyFindingTests {
    private struct Note: Codable, Sendable, Identifiable {
        let id: String
        let text: String
    }

    private static let domains = [
        StorageDomain.userDefaults(suite: "a"), .encryptedSQLite(database: "b"), .userDefaults(suite: "c"), .encryptedSQLite(database: "d"),
    ]

    /// The collection of each release, with that of the release before as its legacy location.
    private func notes(_ policy: ConflictPolicy<Note>) -> [StorageCollection<Note>] {
        let options = MigrationOptions(allowsWeakerProtection: true)
        return Self.domains.indices.reduce(into: []) { releases, index in
            var notes = StorageCollection<Note>("notes \(index)", domain: Self.domains[index]).resolvingConflicts(policy)
            if let before = releases.last { notes = notes.moved(from: before, options: options) }
            releases.append(notes)
        }
    }

    private func keys(_ policy: ConflictPolicy<String>) -> [StorageKey<String>] {
        let options = MigrationOptions(allowsWeakerProtection: true)
        return Self.domains.indices.reduce(into: []) { releases, index in
            var key = textKey("value", Self.domains[index]).resolvingConflicts(policy)
            if let before = releases.last { key = key.moved(from: before, options: options) }
            releases.append(key)
        }
    }

    private static let merge = ConflictPolicy<Note>.merge { Note(id: $1.id, text: "\($0?.text ?? "none")|\($1.text)") }

    @Test(arguments: [false, true]) func `a replaced record does not return through a chain of four collections`(
        _ merges: Bool
    ) async throws {
        let storage = TestMachine().launch()
        let notes = notes(merges ? Self.merge : .sourceWins)
        try await storage.set(Note(id: "n", text: "replaced"), in: notes[0])
        try await storage.set(Note(id: "n", text: "set"), in: notes[3])
        for _ in 0..<2 { #expect(await storage.sweep(TestCatalog(.collection(notes[3]))).isComplete) }
        #expect(try await storage.value("n", in: notes[3])?.text == "set")
    }

    @Test func `a replaced value does not return when each earlier release moves it once`() async throws {
        let storage = TestMachine().launch()
        let keys = keys(.sourceWins)
        try await storage.set("replaced", for: keys[0])
        try await storage.set("set", for: keys[3])
        for key in keys.dropFirst() { #expect(await storage.sweep(TestCatalog(.key(key))).isComplete) }
        #expect(try await storage.value(for: keys[3]) == "set")
    }

    /// The answer of a write in the legacy location may have been lost, so a power cut may take it back.
    @Test func `with sourceWins, a set makes the older copy durable before it names the copy`() async throws {
        let machine = TestMachine()
        let (storage, older) = (machine.launch(), textKey("value", .userDefaults(suite: "a")))
        let key = textKey("value", .userDefaults(suite: "c")).moved(from: older).resolvingConflicts(.sourceWins)
        try await storage.set("older", for: older)
        for backend in machine.backends(of: older.domain) { backend.inject(.unavailable, of: .synchronize, repeats: true) }
        await expectRefusal(StorageError.unavailable) { try await storage.set("set", for: key) }
        #expect(try await storage.value(for: older) == "older")
    }

    @Test func `a removal finds the copies behind a conversion within a slot of the chain`() async throws {
        let machine = TestMachine()
        let storage = machine.launch()
        let first = textKey("value", .userDefaults(suite: "a"))
        let list = StorageDomain.userDefaults(suite: "c")
        let sealed = textKey("value", list, .encrypted(.keyFile("key"))).moved(from: textKey("value", list).moved(from: first))
        let last = textKey("value", .encryptedSQLite(database: "d")).moved(from: sealed)
        try await storage.set("old", for: first)
        try await storage.remove(last)
        #expect(try await storage.value(for: first) == nil)
        #expect(try await storage.value(for: last) == nil)
    }

    @Test(arguments: [false, true]) func `clear removes a record that an earlier release stored after its removal`(
        _ merges: Bool
    ) async throws {
        let storage = TestMachine().launch()
        let notes = notes(merges ? Self.merge : .sourceWins)
        try await storage.remove("n", in: notes[1])
        try await storage.set(Note(id: "n", text: "written again"), in: notes[0])
        try await storage.clear(notes[1])
        #expect(await storage.sweep(TestCatalog(.collection(notes[1]))).isComplete)
        #expect(try await storage.value("n", in: notes[1]) == nil)
        #expect(try await storage.value("n", in: notes[0]) == nil)
    }

    @Test(arguments: [false, true]) func `a removal of many records that stops at an older copy does not say that all are removed`(
        _ isQuery: Bool
    ) async throws {
        var stopped = 0
        for number in 1...30 {
            let machine = TestMachine { $0.pageSize = 2 }
            let storage = machine.launch()
            let notes = notes(.destinationWins)
            let ids = ["a", "b", "c", "d", "e"]
            try await storage.set(ids.map { Note(id: $0, text: "old") }, in: notes[0])
            try await storage.set(ids.map { Note(id: $0, text: "new") }, in: notes[1])
            let older = try #require(machine.backends(of: Self.domains[0]).first)
            older.inject(.fail(BackendError(.failed, "The store could not be read.")), at: number, of: .read)
            func removeAll() async throws {
                if isQuery { try await storage.removeAll(in: notes[1], where: .all) } else { try await storage.clear(notes[1]) }
            }
            do { try await removeAll() } catch let error as StorageError where error.code == .residueRemains {
                stopped += 1
                #expect(error.outcome == .unknown)
                try await removeAll()
            } catch is StorageError { continue }
            for id in ids { #expect(try await storage.value(id, in: notes[1]) == nil) }
        }
        #expect(stopped > 0)
    }

    @Test func `forgetEverything that stops at a copy does not say that all is forgotten`() async throws {
        let machine = TestMachine()
        let storage = machine.launch()
        let keys = keys(.destinationWins)
        try await storage.registerCatalog(TestCatalog(.key(keys[1])))
        try await storage.set("old", for: keys[0])
        machine.lock(Self.domains[0])
        do {
            try await storage.forgetEverything()
            Issue.record("The copy in the locked store was forgotten.")
        } catch let error as StorageError { #expect(error.outcome == .unknown) }
    }
}
