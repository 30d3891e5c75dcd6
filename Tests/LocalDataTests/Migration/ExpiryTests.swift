import BackendContract
import BackendRuntime
import Foundation
import LocalDataTesting
import LocalDataVocabulary
import MemoryBackend
import TestSupport
import Testing

@testable import LocalData
@testable import LocalDataPlans

/// Expiry of values while the wall clock is wrong.
///
/// An expired value is purged (deleted for good) only a day after a sweep first found it expired.
/// So a value that only seems expired, because the clock is ahead, can be read again after a correction of the clock.
///
/// A sweep visits all keys of a catalog, and notes in the ledger what it did. If it finds expired values, it adds a
/// checkpoint: a note with the times of the wall clock and of the clock that starts at boot. A checkpoint counts a day
/// later, if there was no reboot and the wall clock was not set since. The horizon is the wall time of the latest
/// checkpoint that counts. Values that expired before the horizon may be purged.
@Suite(.inTurn) struct ExpiryTests {
    private struct Note: Codable, Sendable, Identifiable, Equatable {
        var id: String
        var text = "text"
    }

    private static let place = StorageDomain.userDefaults(suite: "place")
    private static let older = StorageDomain.userDefaults(suite: "older")
    private static let day = Duration.seconds(86_400)
    private let clock = TestClock()
    private let machine: TestMachine
    private let key = textKey("token", place).expiring(after: .seconds(600))

    init() { machine = TestMachine { [clock] in $0.use(clock) } }

    private static func notes(_ name: String, _ domain: StorageDomain, typeTag: String = "Note") -> StorageCollection<Note> {
        StorageCollection<Note>(name, domain: domain, owner: "Tests", description: "Notes", typeTag: typeTag).expiring(after: .seconds(600))
    }

    // MARK: The date of one value

    @Test func `a value that expires at a date is valid until then, whatever the lifetime of its key is`() async throws {
        let router = machine.launch()
        let date = Date(timeIntervalSince1970: clock.shifted.wallSeconds + 3_600)
        try await router.set("code", for: key, expiresAt: date)
        #expect(try await router.storedValue(for: key)?.expiresAt == date)
        clock.advance(by: .seconds(1_800))
        #expect(try await router.get(key) == "code")
        clock.advance(by: .seconds(1_801))
        #expect(try await router.value(for: key) == nil)
        try await router.set("late", for: key, expiresAt: date)
        #expect(try await router.value(for: key) == nil)
        #expect(try await router.storedValue(for: key)?.isExpired == true)
    }

    @Test func `a value of a batch has the lifetime of its key, unless the batch gives it another one`() async throws {
        let router = machine.launch()
        let other = textKey("other", Self.place).expiring(after: .seconds(600))
        try await router.batch { batch in
            batch.set("code", for: key)
            batch.set("code", for: other, lifetime: .seconds(60))
        }
        clock.advance(by: .seconds(61))
        #expect(try await router.value(for: key) == "code")
        #expect(try await router.value(for: other) == nil)
        clock.advance(by: .seconds(600))
        #expect(try await router.value(for: key) == nil)
    }

    // MARK: A clock that jumps

    @Test(arguments: Place.allCases)
    func `sweeps while the clock is 400 days ahead destroy no value, and all values are valid after the correction`(
        place: Place
    ) async throws {
        try await place.withLaunches(clock: clock) { launch, domain in
            let key = textKey("token", domain).expiring(after: .seconds(600))
            let moved = textKey("moved", domain).expiring(after: .seconds(600)).moved(from: textKey("old", place.olderDomain))
            let notes = Self.notes("notes", domain)
            let gathered = Self.notes("gathered", domain).moved(from: Self.notes("old notes", place.olderDomain))
            try await launch().set("secret", for: key)
            try await launch().set("secret", for: textKey("old", place.olderDomain), lifetime: .seconds(600))
            try await launch().set([Note(id: "a"), Note(id: "b")], in: notes)
            try await launch().set([Note(id: "a"), Note(id: "b")], in: Self.notes("old notes", place.olderDomain))
            let catalog = TestCatalog(.key(key), .key(moved), .collection(notes), .collection(gathered))
            clock.advance(by: .seconds(400 * 86_400))
            for _ in 0..<3 {
                let report = try await launch().registerCatalog(catalog, migrateImmediately: true)
                let states = Set(report.rows.map(\.state))
                #expect(states.isSubset(of: [.expired, .absent, .removed]), "\(states)")
                #expect(try await launch().value(for: key) == nil)
                #expect(try await launch().value(for: moved) == nil)
                #expect(try await launch().count(in: notes) == 0)
                clock.pass(.seconds(3_600))
            }
            clock.advance(by: .seconds(-400 * 86_400 - 3 * 3_600))
            #expect(try await launch().get(key) == "secret")
            #expect(try await launch().get(moved) == "secret")
            #expect(try await launch().count(in: notes) == 2)
            #expect(try await launch().count(in: gathered) == 2)
        }
    }

    @Test func `a schema plan that runs while the clock is 400 days ahead loses no record and no backup`() async throws {
        let chain = MigrationChain {
            ModelMigration("V1") {
                AddEntity("a", in: Self.place) { AddAttribute("id", attributeType: .string) }
                AddEntity("gone", in: Self.place) { AddAttribute("id", attributeType: .string) }
            }
            ModelMigration("V2") {
                CopyEntity("a", to: "b", in: Self.place)
                RenameEntity("a", to: "c", in: Self.place)
                RemoveEntity("gone", in: Self.place, keepingBackup: true)
            }
        }
        for name in ["a", "gone"] {
            try await machine.launch().set(record("x"), in: documents(name, Self.place).expiring(after: .seconds(600)))
        }
        clock.advance(by: .seconds(400 * 86_400))
        let catalog = TestCatalog([.collection(documents("b", Self.place)), .collection(documents("c", Self.place))])
        try await machine.launch().registerCatalog(catalog, migrationPolicy: .incremental(chain))
        clock.advance(by: .seconds(-400 * 86_400))
        for name in ["b", "c"] {
            #expect(try await machine.launch().value(for: documents(name, Self.place).key("x")) != nil, "\(name)")
        }
        #expect(try await machine.launch().restoreBackup(for: documents("gone", Self.place).key("x"), version: 1) != nil)
    }

    @Test
    func `records that migrateAll rewrites with another type tag while the clock is ahead are valid after the correction`() async throws {
        let (old, new) = (Self.notes("notes", Self.place, typeTag: "Old"), Self.notes("notes", Self.place, typeTag: "New"))
        try await machine.launch().set([Note(id: "a"), Note(id: "b")], in: old)
        clock.advance(by: .seconds(400 * 86_400))
        try await machine.launch().migrateAll(from: "Old", to: new)
        clock.advance(by: .seconds(-400 * 86_400))
        #expect(try await machine.launch().count(in: new) == 2)
    }

    // MARK: When it is time

    @Test func `a value is purged a day after a sweep found it expired, and not before`() async throws {
        let catalog = TestCatalog(.key(key))
        try await machine.launch().set("secret", for: key)
        clock.pass(.seconds(86_400))
        // A day has passed, but no sweep has found the value expired yet.
        for (wait, isThere) in [(0, true), (40_000, true), (40_000, true), (6_400, false)] {
            clock.pass(.seconds(wait))
            #expect(await machine.launch().sweep(catalog).rows.map(\.state) == [.expired])
            #expect(try await machine.launch().storedValue(for: key).map(\.value) == (isThere ? "secret" : nil), "after \(wait) s more")
        }
        #expect(await machine.launch().sweep(catalog).rows.map(\.state) == [.absent])
    }

    @Test func `after a reboot, the day between the first sweep and the purge starts again`() async throws {
        let catalog = TestCatalog(.key(key))
        func launch(boot: String?) -> StorageRouter {
            var configuration = machine.configuration
            configuration.runtime.host.bootID = boot
            return StorageRouter(configuration: configuration)
        }
        try await launch(boot: "1").set("secret", for: key)
        clock.pass(.seconds(700))
        for boot in ["1", "2", nil, nil] {
            #expect(await launch(boot: boot).sweep(catalog).isComplete)
            #expect(try await launch(boot: boot).storedValue(for: key)?.value == "secret")
            clock.pass(Self.day)
        }
        // In boot 2, more than a day has passed since the first sweep of that boot.
        #expect(await launch(boot: "2").sweep(catalog).isComplete)
        #expect(try await launch(boot: "2").storedValue(for: key) == nil)
    }

    @Test func `a value that was set between two forward jumps of the clock survives a sweep during the second jump`() async throws {
        let other = textKey("other", .userDefaults).expiring(after: .seconds(60))
        let catalog = TestCatalog(.key(key), .key(other))
        try await machine.launch().set("old", for: other)
        clock.advance(by: .seconds(315_360_000))
        await machine.launch().sweep(catalog)
        clock.advance(by: .seconds(-315_360_000))
        try await machine.launch().set("valid", for: key)
        clock.pass(Self.day)
        clock.advance(by: .seconds(315_360_000))
        await machine.launch().sweep(catalog)
        clock.advance(by: .seconds(-315_360_000))
        #expect(try await machine.launch().storedValue(for: key)?.value == "valid")
    }

    @Test func `losing the ledger only delays the purge of an expired value by a day`() async throws {
        let catalog = TestCatalog(.key(key))
        func launch(_ ledger: InMemoryStore) -> StorageRouter {
            var configuration = machine.configuration
            configuration.makeOwnStore = { name, _ in name == "ledger" ? ledger : InMemoryStore() }
            return StorageRouter(configuration: configuration)
        }
        let (first, second) = (InMemoryStore(), InMemoryStore())
        try await launch(first).set("secret", for: key)
        clock.pass(.seconds(700))
        await launch(first).sweep(catalog)
        clock.pass(Self.day)
        await launch(second).sweep(catalog)
        #expect(try await launch(second).storedValue(for: key)?.value == "secret")
        clock.pass(Self.day)
        await launch(second).sweep(catalog)
        #expect(try await launch(second).storedValue(for: key) == nil)
    }

    @Test func `a set or removal of an expired value takes effect at once, without waiting for the purge`() async throws {
        try await machine.launch().set("secret", for: key)
        clock.advance(by: .seconds(700))
        try await machine.launch().set("new", for: key)
        #expect(try await machine.launch().get(key) == "new")
        clock.advance(by: .seconds(700))
        try await machine.launch().remove(key)
        #expect(try await machine.launch().storedValue(for: key) == nil)
    }

    // MARK: Checkpoints

    private func reading(_ sinceBoot: Double, wrongBy error: Double = 0, boot: String = "1") -> ClockReading {
        ClockReading(boot: boot, sinceBoot: sinceBoot, wall: 1_000_000 + sinceBoot + error)
    }

    @Test func `a checkpoint counts after a day, if there was no reboot and the wall clock was not set`() {
        let checkpoints = ExpiryCheckpoints().adding(reading(100))
        #expect(checkpoints.horizon(at: reading(100)) == nil)
        #expect(checkpoints.horizon(at: reading(86_499)) == nil)
        #expect(checkpoints.horizon(at: reading(86_500)) == 1_000_100)
        #expect(checkpoints.horizon(at: reading(200_000, boot: "2")) == nil)
        // A small correction of the clock by a time server keeps the checkpoint valid.
        #expect(checkpoints.horizon(at: reading(86_500, wrongBy: 600)) == 1_000_100)
        #expect(checkpoints.horizon(at: reading(86_500, wrongBy: 7_200)) == nil)
        #expect(checkpoints.horizon(at: reading(200_000, wrongBy: -100_000)) == nil)
    }

    @Test func `after the clock was set back, a sweep drops the earlier checkpoints`() async throws {
        let other = textKey("other", .userDefaults).expiring(after: .seconds(60))
        func checkpoints() async throws -> Int {
            let text = try #require(try await machine.launch().history.ledger.text("clock"))
            return text.components(separatedBy: "sinceBoot").count - 1
        }
        try await machine.launch().set("old", for: other)
        clock.advance(by: .seconds(315_360_000))
        await machine.launch().sweep(TestCatalog(.key(other)))
        #expect(try await checkpoints() == 1)
        clock.advance(by: .seconds(-315_360_000))
        await machine.launch().sweep(TestCatalog(.key(other)))
        #expect(try await checkpoints() == 0)
    }

    @Test func `a checkpoint later than the corrected wall clock is dropped, and does not count after another forward jump`() {
        let wrong = ExpiryCheckpoints().adding(reading(100, wrongBy: 1e7))
        #expect(wrong.horizon(at: reading(200_000)) == nil)
        let right = wrong.adding(reading(200_000))
        #expect(right.checkpoints.map(\.wall) == [1_200_000])
        #expect(right.horizon(at: reading(250_000, wrongBy: 1e7)) == nil)
    }

    @Test
    func `at most 50 checkpoints are kept, and the horizon lags by at most a day plus the longer of two hours and the sweep interval`() {
        for interval in [1.0, 60, 1_800, 3_600, 7_000, 100_000] {
            var checkpoints = ExpiryCheckpoints()
            var now = 100.0
            for _ in 0..<3_000 {
                checkpoints = checkpoints.adding(reading(now))
                now += interval
            }
            #expect(checkpoints.checkpoints.count <= 50, "a sweep every \(interval) s: \(checkpoints.checkpoints.count)")
            guard now > 2 * 86_400 else { continue }
            let horizon = checkpoints.horizon(at: reading(now)) ?? 0
            #expect(horizon >= 1_000_000 + now - 86_400 - max(2 * ExpiryCheckpoints.spacing, interval), "a sweep every \(interval) s")
        }
    }
}
