import BackendContract
import LocalDataTesting
import Synchronization
import TestSupport
import Testing

@testable import LocalData

/// Reads and sweeps of collections: reads resolve no conflict, and sweeps report every problem.
///
/// A conflict is a record that differs from the legacy record with the same id. A legacy record is one that an earlier
/// version stored in another collection or list. A sweep moves all legacy records of a catalog and resolves conflicts.
@Suite(.inTurn) struct CollectionReadTests {
    private static var policies: [ConflictPolicy<Note>] {
        [.destinationWins, .sourceWins, .merge { mine, other in Note(id: other.id, text: "\(mine?.text ?? "") \(other.text)") }]
    }

    @Test(arguments: Place.allCases, [0, 1, 2])
    func `counting and enumerating move the legacy records that the collection does not have, and resolve no conflict`(
        _ place: Place, policy: Int
    ) async throws {
        try await place.withLaunches { launch, domain in
            let old = Note.collection("old", place.olderDomain)
            let notes = Note.collection(domain).moved(from: old).resolvingConflicts(Self.policies[policy])
            try await launch().set(Note(id: "a", text: "first"), in: old)
            #expect(try await launch().count(in: notes) == 1)
            // An older program stores record a again with another text, and also stores record b.
            try await launch().set(Note(id: "a", text: "older"), in: old)
            try await launch().set(Note(id: "b", text: "new"), in: old)
            let router = launch()
            #expect(try await router.count(in: notes) == 2)
            #expect(try await Set(router.everything(in: notes).records.map(\.text)) == ["first", "new"])
            #expect(try await router.value("a", in: notes)?.text == "first")
            #expect(try await launch().value("a", in: old)?.text == "older")
            #expect(try await launch().value("b", in: old) == nil)
            #expect(try await router.audit().quarantine.isEmpty)
            let row = try #require(try await launch().row(of: notes))
            #expect(row.state == .resolved)
            #expect(try await launch().value("a", in: old) == nil)
            #expect(try await launch().value("a", in: notes)?.text == ["first", "older", "first older"][policy])
        }
    }

    @Test(arguments: Place.allCases)
    func `counting does not restore a removed record that an older program stored again`(_ place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let old = Note.collection("old", place.olderDomain)
            let notes = Note.collection(domain).moved(from: old).resolvingConflicts(.sourceWins)
            try await launch().set(Note(id: "a", text: "first"), in: old)
            try await launch().remove("a", in: notes)
            try await launch().set(Note(id: "a", text: "older"), in: old)
            #expect(try await launch().count(in: notes) == 0)
            #expect(try await launch().everything(in: notes).records.isEmpty)
            #expect(try await launch().value("a", in: old)?.text == "older")
        }
    }

    @Test(arguments: Place.allCases, [0, 1, 2])
    func `the first read, which moves the records of a legacy list into the collection, resolves no conflict`(
        _ place: Place, policy: Int
    ) async throws {
        try await place.withLaunches { launch, domain in
            let list = testKey("list", place.olderDomain, of: [Note].self)
            let notes = Note.collection(domain).moved(from: list) { $0 }.resolvingConflicts(Self.policies[policy])
            try await launch().set([Note(id: "a", text: "older"), Note(id: "b", text: "second")], for: list)
            // A program without the migration from the list stores a record.
            try await launch().set(Note(id: "a", text: "first"), in: Note.collection(domain))
            let router = launch()
            for _ in 0..<2 {
                #expect(try await router.count(in: notes) == 2)
                #expect(try await router.value("a", in: notes)?.text == "first")
                #expect(try await router.value("b", in: notes)?.text == "second")
            }
            #expect(try await launch().get(list).count == 2)
            #expect(try await router.audit().quarantine.isEmpty)
            try await router.remove("b", in: notes)
            let planner = launch()
            try await planner.registerCatalog(TestCatalog(.collection(notes)))
            let plan = await planner.planSweep()
            #expect(plan.rows.map { $0.state == .unchanged } == [false])
            let row = try #require(try await launch().row(of: notes))
            #expect(row.conflict != nil && row.residue.isEmpty)
            #expect(try await launch().value(for: list) == nil)
            #expect(try await launch().value("a", in: notes)?.text == ["first", "older", "first older"][policy])
            #expect(try await launch().value("b", in: notes) == nil)
        }
    }

    @Test(arguments: Place.allCases, [0, 1, 2])
    func `a record that is set after a read has moved it from a legacy list keeps its text when a sweep resolves a conflict of the list`(
        _ place: Place, policy: Int
    ) async throws {
        try await place.withLaunches { launch, domain in
            let list = testKey("list", place.olderDomain, of: [Note].self)
            let notes = Note.collection(domain).moved(from: list) { $0 }.resolvingConflicts(Self.policies[policy])
            try await launch().set([Note(id: "a", text: "older"), Note(id: "b", text: "second")], for: list)
            try await launch().set(Note(id: "a", text: "first"), in: Note.collection(domain))
            #expect(try await launch().count(in: notes) == 2)
            try await launch().set(Note(id: "b", text: "newer"), in: notes)
            let row = try #require(try await launch().row(of: notes))
            #expect(row.conflict != nil && row.residue.isEmpty)
            #expect(try await launch().value(for: list) == nil)
            #expect(try await launch().value("b", in: notes)?.text == "newer")
        }
    }

    @Test(arguments: [0, 1, 2])
    func `a removed record stays removed if a program without LocalData writes the legacy list again`(policy: Int) async throws {
        let machine = TestMachine()
        let list = testKey("list", .userDefaults(suite: "older"), of: [Note].self)
        let notes = Note.collection(.userDefaults(suite: "main")).moved(from: list) { $0 }.resolvingConflicts(Self.policies[policy])
        func writeList(_ ids: String...) {
            let records = ids.map { NativeValue.dictionary(["id": .string($0), "text": .string("text")]) }
            machine.writeForeign(.array(records), to: list.domain, name: "list")
        }
        writeList("a", "b")
        #expect(try await machine.launch().count(in: notes) == 2)
        try await machine.launch().remove("b", in: notes)
        writeList("a", "b", "c")
        _ = try await machine.launch().row(of: notes)
        #expect(try await machine.launch().value("b", in: notes) == nil)
        #expect(try await machine.launch().value("a", in: notes)?.text == "text")
        #expect(try await machine.launch().value(for: list) == nil)
        #expect(try await machine.launch().audit().quarantine.map(\.key) == ["list"])
    }

    /// A record that a property list can represent and JSON cannot, if the number is infinite.
    private struct Reading: Codable, Equatable, Identifiable, Sendable {
        var id: String
        var degrees: Double

        static func collection(
            _ name: String, _ domain: StorageDomain, _ serializer: Serializer<Reading> = .json
        ) -> StorageCollection<Reading> {
            StorageCollection(name, domain: domain, serializer: serializer, owner: "Tests", description: "Readings", typeTag: "Reading")
        }

        static let all = [
            Reading(id: "first", degrees: 1), Reading(id: "infinite", degrees: .infinity), Reading(id: "last", degrees: 2),
        ]
    }

    @Test(arguments: Place.allCases, [true, false])
    func `a record that the new collection cannot encode stays in the legacy collection, and the others are moved`(
        _ place: Place, sweeps: Bool
    ) async throws {
        try await place.withLaunches { launch, domain in
            let old = Reading.collection("old", place.olderDomain, .plist)
            let new = Reading.collection("new", domain).moved(from: old)
            for reading in Reading.all { try await launch().set(reading, in: old) }
            if sweeps {
                let row = try #require(try await launch().row(of: new))
                #expect(row.state == .failed)
                #expect(row.records == 2)
                #expect(row.message?.contains("infinite") == true)
            } else {
                await #expect(throws: StorageError.self) { try await launch().count(in: new) }
            }
            #expect(try await launch().count(in: Reading.collection("new", domain)) == 2)
            #expect(try await launch().count(in: old) == 1)
            #expect(try await launch().value("infinite", in: old)?.degrees == .infinity)
        }
    }

    @Test(arguments: Place.allCases)
    func `migrateAll moves no record if the new collection cannot encode one of them`(_ place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let old = Reading.collection("old", place.olderDomain, .plist)
            let new = Reading.collection("new", domain)
            for reading in Reading.all { try await launch().set(reading, in: old) }
            let error = await #expect(throws: StorageError.self) { try await launch().migrateAll(from: old, to: new) }
            #expect(error?.message.contains("infinite") == true)
            #expect(try await launch().count(in: old) == 3)
            #expect(try await launch().count(in: new) == 0)
        }
    }

    @Test(arguments: Place.allCases)
    func `a sweep reports a collection with an unreadable record as failed`(_ place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let notes = Note.collection(domain)
            try await launch().set(Note(id: "a", text: "one"), in: notes)
            #expect(try await launch().row(of: notes)?.state == .unchanged)
            try await launch().set(NoNote(broken: 1), in: NoNote.collection(domain, id: "bad"))
            let router = launch()
            let row = try #require(try await router.row(of: notes))
            #expect(row.state == .failed && row.errorCode == .undecodable)
            #expect(row.message?.contains("bad") == true)
            await #expect(throws: StorageError.self) { try await router.sweep().requireComplete() }
            // The sweep still moves the other records.
            let old = Note.collection("old", place.olderDomain)
            try await launch().set(Note(id: "b", text: "two"), in: old)
            let moving = try #require(try await launch().row(of: notes.moved(from: old)))
            #expect(moving.state == .failed && moving.records == 1)
            #expect(try await launch().value("b", in: notes)?.text == "two")
        }
    }

    @Test(arguments: Place.allCases)
    func `a sweep reports its progress after each record`(_ place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let old = Note.collection("old", place.olderDomain)
            let notes = Note.collection(domain).moved(from: old)
            let seed = launch()
            for note in Note.many(300) { try await seed.set(note, in: note.id.hasSuffix("7") ? Note.collection(domain) : old) }
            let router = launch()
            try await router.registerCatalog(TestCatalog(.collection(notes), .key(textKey("single", domain))))
            let seen = Mutex<[MigrationProgress]>([])
            let report = await router.sweep { progress in seen.withLock { $0.append(progress) } }
            #expect(report.rows.first { $0.key == "notes" }?.records == 270)
            let all = seen.withLock(\.self)
            let records = all.compactMap(\.records)
            #expect(records.map(\.finished) == Array(1...300))
            #expect(records.allSatisfy { $0.total == 300 })
            #expect(all.filter { $0.records != nil }.allSatisfy { $0.key == "notes" })
            #expect(all.filter { $0.records == nil }.map(\.finished) == [1, 2])
        }
    }

    @Test func `the progress of a sweep has a rate, and a total that is never below the number of finished records`() {
        let clock = ManualClock()
        let meter = RecordMeter(2, clock)
        #expect(meter.next() == MigrationProgress.Records(finished: 1, total: 2, perSecond: nil))
        clock.advance(by: .seconds(4))
        #expect(meter.next() == MigrationProgress.Records(finished: 2, total: 2, perSecond: 0.5))
        #expect(meter.next() == MigrationProgress.Records(finished: 3, total: 3, perSecond: 0.75))
        #expect(RecordMeter(nil, clock).next().total == nil)
    }
}
