import BackendContract
import BackendRuntime
import Foundation
import LocalDataBackup
import LocalDataTesting
import MemoryBackend
import TestSupport
import Testing

@testable import LocalData

/// A full quarantine refuses new entries. Nothing may be deleted or replaced whose copy the quarantine does not have.
@Suite(.inTurn) struct FullQuarantineTests {
    private static let (old, new) = (textKey("old", .userDefaults(suite: "a")), textKey("new", .userDefaults(suite: "b")))

    private let clock = TestClock()
    private let store = InMemoryStore.standIn(for: .userDefaults(suite: "quarantine"), medium: MemoryMedium(), runtime: .live)
    private let machine: TestMachine

    init() {
        let others = ["ledger", "witness", "imports"].reduce(into: [String: InMemoryStore]()) { stores, name in
            stores[name] = InMemoryStore.standIn(for: .userDefaults(suite: name), medium: MemoryMedium(), runtime: .live)
        }
        machine = TestMachine { [clock, store] configuration in
            configuration.use(clock)
            configuration.makeOwnStore = { name, _ in name == "quarantine" ? store : others[name] ?? InMemoryStore() }
        }
    }

    /// Fills the quarantine.
    private func fill() async throws {
        for number in 0..<3 {
            _ = try await store.apply(.put(.bytes([UInt8](repeating: 0, count: 11 << 20)), at: StorageAddress("qfull\(number)")))
        }
    }

    /// Purges all entries of the quarantine.
    private func purge(_ storage: StorageRouter) async throws {
        let entry = try #require(try await storage.quarantine.values().first { $0.id == "qfull0" })
        try await storage.quarantine.purge(entry)
    }

    @Test(arguments: ["destinationWins", "sourceWins", "merge"])
    func `a sweep that cannot quarantine the losing value of a conflict changes neither value`(_ policy: String) async throws {
        let policies: [String: ConflictPolicy<String>] = ["sourceWins": .sourceWins, "merge": .merge { "\($0 ?? "-")|\($1)" }]
        let key = Self.new.moved(from: Self.old).resolvingConflicts(policies[policy] ?? .destinationWins)
        let storage = machine.launch()
        try await storage.set("one", for: Self.old)
        #expect(try await storage.get(key) == "one")
        try await storage.set("two", for: Self.old)
        try await fill()
        let row = try await storage.row(of: key)
        #expect([.failed, .blocked].contains(row.state) && row.errorCode == StorageError.noSpace, "\(row)")
        #expect(row.message?.contains("localdata quarantine") == true, "\(row)")
        #expect(try await storage.get(Self.old) == "two")
        #expect(try await storage.get(Self.new) == "one")
        #expect(try await storage.get(key) == "one")
        try await purge(storage)
        #expect(try await storage.row(of: key).state == .resolved)
    }

    @Test func `damaged bytes that cannot be quarantined are replaced by no set, update or batch`() async throws {
        let domain = StorageDomain.userDefaults(suite: "a")
        let storage = machine.launch()
        try await storage.set("one", for: Self.old)
        machine.corrupt(domain, name: "old", bytes: [1, 2, 3])
        try await fill()
        await expectRefusal(StorageError.noSpace, of: "old", saying: "purge") { try await storage.set("two", for: Self.old) }
        await expectRefusal(StorageError.noSpace, of: "old") { try await storage.batch { $0.set("two", for: Self.old) } }
        await expectRefusal(StorageError.noSpace, of: "old") { try await storage.remove(Self.old) }
        let damaged = try #require(try await storage.namesAndDamage(in: domain).damaged.first)
        await expectRefusal(StorageError.noSpace) { try await storage.setAside(damaged) }
        #expect(try await storage.damagedData(damaged) == Data([1, 2, 3]))
        try await purge(storage)
        try await storage.set("two", for: Self.old)
        #expect(try await storage.get(Self.old) == "two")
    }

    @Test func `a value whose destination has damaged bytes is read from its legacy location while the quarantine is full`() async throws {
        let storage = machine.launch()
        try await storage.set("one", for: Self.old)
        try await storage.set("other", for: Self.new)
        machine.corrupt(.userDefaults(suite: "b"), name: "new", bytes: [1, 2, 3])
        try await fill()
        #expect(try await storage.get(Self.new.moved(from: Self.old)) == "one")
        #expect(try await storage.get(Self.old) == "one")
        await expectRefusal(StorageError.corrupted) { _ = try await storage.get(Self.new) }
    }

    @Test func `a list is not split over different records that cannot be quarantined`() async throws {
        let list = StorageKey<[Note]>(name: "list", domain: .userDefaults(suite: "a"), owner: "Tests", description: "Notes")
        let bare = Note.collection(.userDefaults(suite: "b"))
        let notes = bare.moved(from: list) { $0 }.resolvingConflicts(.sourceWins)
        let storage = machine.launch()
        try await storage.set(Note(id: "a", text: "mine"), in: bare)
        try await storage.set([Note(id: "a", text: "theirs")], for: list)
        try await fill()
        let row = try #require(await storage.sweep(TestCatalog(.collection(notes))).rows.first)
        #expect(row.errorCode == StorageError.noSpace, "\(row)")
        #expect(try await storage.get(list).map(\.text) == ["theirs"])
        #expect(try await storage.value("a", in: bare)?.text == "mine")
    }

    @Test(arguments: ["set", "remove"])
    func `a sweep in a release window changes neither location while the quarantine is full`(_ change: String) async throws {
        let key = Self.new.moved(from: Self.old, keeping: .untilReleased).resolvingConflicts(.sourceWins)
        let (first, second) = (machine.launch(), machine.launch())
        try await first.set("one", for: Self.old)
        #expect(try await second.get(key) == "one")
        for backend in machine.backends(of: Self.old.domain) {
            backend.inject(.fail(BackendError(.failed, "The store failed. Nothing was changed.")), of: .apply)
        }
        try await second.set("mine", for: key)
        for backend in machine.backends(of: Self.old.domain) { backend.removeFaults() }
        if change == "set" { try await first.set("theirs", for: Self.old) } else { try await first.remove(Self.old) }
        try await fill()
        let row = try await second.row(of: key)
        #expect(row.errorCode == StorageError.noSpace || row.state == .failed, "\(row)")
        #expect(try await first.value(for: Self.old) == (change == "set" ? "theirs" : nil))
        #expect(try await second.get(Self.new) == "mine")
    }

    @Test func `the same content is quarantined again while the quarantine is full`() async throws {
        let storage = machine.launch()
        let route = try storage.slots.routes.slot(for: Self.old).route
        let record = StorageRecord(payload: .bytes([1, 2, 3]), revision: StorageRevision([1]))
        for _ in 0..<2 {
            try await storage.history.quarantine.keep(record, of: route, beside: [], reason: "It lost a conflict.")
            try await fill()
        }
        #expect(try await storage.quarantine.values().count == 4)
    }

    @Test func `one slot cannot fill the quarantine for the others`() async throws {
        let storage = machine.launch()
        for number in 0..<QuarantineLimit.entriesOfSlot {
            try await storage.set("one", for: Self.old)
            machine.corrupt(.userDefaults(suite: "a"), name: "old", bytes: [1, UInt8(number)])
            try await storage.set("two", for: Self.old)
        }
        machine.corrupt(.userDefaults(suite: "a"), name: "old", bytes: [2])
        await expectRefusal(StorageError.noSpace, of: "old", saying: "256") { try await storage.set("three", for: Self.old) }
        try await storage.set("one", for: Self.new)
        machine.corrupt(.userDefaults(suite: "b"), name: "new", bytes: [2])
        try await storage.set("two", for: Self.new)
        #expect(try await storage.get(Self.new) == "two")
    }

    @Test func `the number of entries is limited, and a purge by another process is noticed after a second`() async throws {
        let storage = machine.launch()
        try await storage.set("one", for: Self.old)
        machine.corrupt(.userDefaults(suite: "a"), name: "old", bytes: [1])
        _ = try await store.apply((0..<QuarantineLimit.entries).map { .put(.bytes([0]), at: StorageAddress("q\($0)")) })
        await expectRefusal(StorageError.noSpace, of: "old") { try await storage.set("two", for: Self.old) }
        _ = try await store.apply(.delete(StorageAddress("q0")))
        clock.pass(.seconds(2))
        try await storage.set("two", for: Self.old)
        #expect(try await storage.get(Self.old) == "two")
    }
}
