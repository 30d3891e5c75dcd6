import BackendContract
import BackendRuntime
import Foundation
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// Attacks on sealed records by a program that can write to the store but has no key.
///
/// The payload of a sealed record is encrypted, and its metadata is plaintext. The router must not trust the metadata
/// before it has verified the record with the key. Part of the metadata is the origin, which records the older copies
/// that a value replaced.
///
/// A tombstone is the record of a removal. It hides the legacy value, which an earlier version of the program stored at
/// another location. A sweep visits all keys of a catalog. It migrates their values, and purges those that have
/// expired.
@Suite(.inTurn) struct SealedMetadataTests {
    private let clock: TestClock
    private let machine: TestMachine
    private static let list = StorageDomain.userDefaults(suite: "sealed")
    private static let old = textKey("old", .userDefaults(suite: "older"))
    private let plain = textKey("plain", list, .encrypted)
    private let moved = textKey("moved", list, .encrypted).moved(from: old)

    init() {
        let clock = TestClock()
        self.clock = clock
        machine = TestMachine { $0.use(clock) }
    }

    /// Changes the metadata of a sealed value or tombstone, as a program without the key can.
    private func forge<Value>(_ key: StorageKey<Value>, _ change: (inout StorageMetadata) -> Void) async throws {
        let route = try machine.launch().slots.routes.slot(for: key).route
        let probe = try await route.backend.read(route.address)
        var metadata = try #require(probe.metadata)
        change(&metadata)
        let operation = probe.record.map { StorageMutation.Operation.put($0.payload, metadata) } ?? .tombstone(metadata)
        #expect(try await route.backend.apply(StorageMutation(route.address, operation, if: probe.unchanged)).isApplied)
    }

    @Test func `a forged expiry is reported as damage, and a sweep of expired values does not purge the sealed value`() async throws {
        for key in [plain, moved] {
            try await machine.launch().set("v", for: key)
            try await forge(key) { $0.expiresAt = 1 }
            await expectRefusal(StorageError.corrupted, of: key.name) { _ = try await machine.launch().value(for: key) }
            await expectRefusal(StorageError.corrupted, of: key.name) { _ = try await machine.launch().exists(key) }
            let router = machine.launch()
            try await router.registerCatalog(TestCatalog(.key(key)))
            let report = await router.sweep()
            #expect(report.rows.map(\.state) == [.failed])
            try await machine.launch().set("w", for: key)
            #expect(try await machine.launch().get(key) == "w")
        }
    }

    @Test func `a sealed value with a forged expiry and without its seal metadata is an error, and not absent`() async throws {
        try await machine.launch().set("v", for: plain)
        try await forge(plain) { ($0.expiresAt, $0.sealing) = (1, nil) }
        await expectRefusal(StorageError.undecodable, of: "plain") { _ = try await machine.launch().value(for: plain) }
    }

    @Test func `a sealed value expires after its lifetime, and can be set again`() async throws {
        let key = plain.expiring(after: .seconds(60))
        try await machine.launch().set("v", for: key)
        clock.advance(by: .seconds(120))
        #expect(try await machine.launch().value(for: key) == nil)
        try await machine.launch().set("w", for: key)
        #expect(try await machine.launch().get(key) == "w")
    }

    @Test func `a forged tombstone is reported as damage, and does not hide a legacy value`() async throws {
        try await machine.launch().set("v", for: moved)
        let route = try machine.launch().slots.routes.slot(for: moved).route
        let record = try #require(try await route.backend.read(route.address).record)
        // Forge a tombstone without metadata, and one with the origin and the seal of the value.
        for metadata in [StorageMetadata(), StorageMetadata(origin: record.metadata.origin, sealing: record.metadata.sealing)] {
            #expect(try await route.backend.apply(StorageMutation(route.address, .tombstone(metadata))).isApplied)
            await expectRefusal(StorageError.corrupted, of: "moved") { _ = try await machine.launch().value(for: moved) }
        }
        // The forged tombstone does not hide a legacy value either.
        try await machine.launch().set("older", for: Self.old)
        #expect(try await machine.launch().get(moved) == "older")
    }

    @Test func `a forged schema version is reported as damage, and the key can be set again`() async throws {
        for key in [plain, moved] {
            try await machine.launch().set("v", for: key)
            try await forge(key) { $0.schemaVersion = 99 }
            await expectRefusal(StorageError.corrupted, of: key.name) { _ = try await machine.launch().value(for: key) }
            try await machine.launch().set("w", for: key)
            #expect(try await machine.launch().get(key) == "w")
        }
    }

    @Test func `a sealed record is bound to its collection and id, also if they contain slashes`() async throws {
        func collection(_ name: String) -> StorageCollection<Note> {
            StorageCollection(name, domain: Self.list, security: .encrypted, owner: "Tests", description: "Notes", id: \.id)
        }
        let (one, other) = (collection("users"), collection("users/admin"))
        try await machine.launch().set(Note(id: "admin/root", text: "v"), in: one)
        let routes = machine.launch().slots.routes
        let (from, to) = (try routes.slot(for: one.key("admin/root")).route, try routes.slot(for: other.key("root")).route)
        let record = try #require(try await from.backend.read(from.address).record)
        #expect(try await to.backend.apply(.put(record.payload, record.metadata, at: to.address)).isApplied)
        await expectRefusal(StorageError.corrupted) { _ = try await machine.launch().value(for: other.key("root")) }
    }

    struct Note: Codable, Sendable, Equatable {
        let id, text: String
    }

    @Test func `a value that was sealed for one tenant does not open for another tenant with the same key`() async throws {
        try await machine.launch().set("v", for: plain)
        var configuration = machine.configuration
        configuration.sealingContext = "another tenant"
        let other = StorageRouter(configuration: configuration)
        await expectRefusal(StorageError.corrupted, of: "plain") { _ = try await other.value(for: plain) }
        #expect(try await machine.launch().get(plain) == "v")
    }

    @Test func `listing and counting sealed records trusts no forged type, attribute or expiry`() async throws {
        let notes = StorageCollection<Note>(
            "notes", domain: Self.list, security: .encrypted, owner: "Tests", description: "Notes", id: \.id)
        for id in ["a", "b", "c", "d"] { try await machine.launch().set(Note(id: id, text: id), in: notes) }
        try await forge(notes.key("a")) { $0.typeTag = "Other" }
        try await forge(notes.key("b")) { $0.expiresAt = 1 }
        try await forge(notes.key("c")) { $0.attributes["LocalData.version"] = "7" }
        let found = try await machine.launch().everything(in: notes)
        #expect(found.records.map(\.id) == ["d"])
        #expect(found.damaged.count == 3)
        #expect(try await machine.launch().count(in: notes) == 4)
    }

    @Test func `plaintext values and tombstones in a slot stay valid after the program starts to seal that slot`() async throws {
        let before = textKey("x", Self.list).moved(from: Self.old).expiring(after: .seconds(60))
        let after = textKey("x", Self.list, .encrypted).moved(from: before).expiring(after: .seconds(60))
        try await machine.launch().set("v", for: before)
        try await machine.launch().remove(before)
        #expect(try await machine.launch().value(for: after) == nil)
        try await machine.launch().set("v", for: before)
        #expect(try await machine.launch().get(after) == "v")
        try await machine.launch().set("w", for: before)
        clock.advance(by: .seconds(120))
        #expect(try await machine.launch().value(for: after) == nil)
    }

    @Test func `reading an expired sealed value throws an error while the sealing key is locked`() async throws {
        let key = plain.expiring(after: .seconds(60))
        try await machine.launch().set("v", for: key)
        clock.advance(by: .seconds(120))
        machine.lock(.keychain)
        await expectRefusal(StorageError.locked, of: "plain") { _ = try await machine.launch().value(for: key) }
        machine.unlock(.keychain)
        #expect(try await machine.launch().value(for: key) == nil)
    }

    // MARK: Every bit

    /// The result of an attack: the right value, an error, a wrong value, or a write that the store refused.
    private enum Outcome: String { case right, error, wrong, refused }

    @Test(arguments: [StorageDomain.userDefaults(suite: "sealed"), .keychain(service: "sealed")], [false, true])
    func `a sealed record whose metadata was changed is read with the right value or an error`(
        domain: StorageDomain, isRemoved: Bool
    ) async throws {
        let tally = try await Self.flip(in: domain, isRemoved: isRemoved, 200) { machine.launch() }
        #expect(tally[.error, default: 0] > 100)
    }

    @Test(.slow("goes through real files many times"), arguments: [false, true])
    func `on disk, a sealed record whose metadata was changed is read with the right value or an error`(
        isRemoved: Bool
    ) async throws {
        let stage = try Stage()
        _ = try await Self.flip(in: .userDefaults(suite: "sealed"), isRemoved: isRemoved, 40) { stage.launch() }
    }

    #if Keyring
        @Test(.slow("goes through real files many times"), arguments: [false, true])
        func `in a real keyring, a sealed record whose metadata was changed is read with the right value or an error`(
            isRemoved: Bool
        ) async throws {
            let stage = try Stage(keyring: true)
            _ = try await Self.flip(in: .keychain, isRemoved: isRemoved, 8) { stage.launch() }
        }
    #endif

    /// Makes single changes to the metadata of a sealed value or tombstone, and counts the results of reading it.
    ///
    /// After each change, a new router must be able to set and read another value.
    /// - Parameter count: The number of changes to try.
    private static func flip(
        in domain: StorageDomain, isRemoved: Bool, _ count: Int, launch: () -> StorageRouter
    ) async throws -> [Outcome: Int] {
        let key = textKey("moved", domain, .encrypted).moved(from: old).expiring(after: .seconds(1_000_000))
        let route = try launch().slots.routes.slot(for: key).route
        try await launch().set("older", for: old)
        _ = try await launch().get(key)
        try await launch().set("v", for: key)
        if isRemoved { try await launch().remove(key) }
        let sound = try await route.backend.read(route.address, .fresh)
        let metadata = try #require(sound.metadata)
        var tally: [Outcome: Int] = [:]
        for forged in sample(flipped(metadata), count) {
            let operation = sound.record.map { StorageMutation.Operation.put($0.payload, forged) } ?? .tombstone(forged)
            guard try await route.backend.apply(StorageMutation(route.address, operation)).isApplied else {
                tally[.refused, default: 0] += 1
                continue
            }
            let outcome: Outcome
            do { outcome = try await launch().value(for: key) == (isRemoved ? nil : "v") ? .right : .wrong } catch is StorageError {
                outcome = .error
            }
            tally[outcome, default: 0] += 1
            if outcome == .wrong { Issue.record("\(forged) is believed") }
            try await launch().set("again", for: key)
            let again = try await launch().get(key)
            #expect(again == "again", "the name cannot be used after \(forged)")
        }
        let counts = tally.map { "\($0.key) \($0.value)" }.sorted().joined(separator: ", ")
        print("flipped beside a sealed \(isRemoved ? "removal" : "value") in \(domain): \(counts)")
        #expect(tally[.wrong] == nil)
        #expect(tally[.error, default: 0] > 0)
        return tally
    }

    /// Copies of the metadata with one change each: a field is removed or changed, or one bit is flipped.
    ///
    /// In the origin, only one bit of each byte is flipped.
    private static func flipped(_ sound: StorageMetadata) -> [StorageMetadata] {
        var all: [StorageMetadata] = []
        func add(_ change: (inout StorageMetadata) -> Void) {
            var forged = sound
            change(&forged)
            if forged != sound { all.append(forged) }
        }
        func texts(_ text: String) -> [String] {
            text.utf8.indices.enumerated().flatMap { place, _ in
                (0..<7).compactMap { bit in
                    var bytes = Array(text.utf8)
                    bytes[place] ^= 1 << bit
                    return bytes[place] >= 0x20 && bytes[place] != 0x7F ? String(decoding: bytes, as: UTF8.self) : nil
                }
            }
        }
        for path in [\StorageMetadata.serializer, \.typeTag, \.sealing] as [WritableKeyPath<StorageMetadata, String?>] {
            add { $0[keyPath: path] = nil }
            add { $0[keyPath: path] = sound[keyPath: path] == nil ? "x" : "\(sound[keyPath: path] ?? "")x" }
            for text in sound[keyPath: path].map(texts) ?? [] { add { $0[keyPath: path] = text } }
        }
        for path in [\StorageMetadata.createdAt, \.modifiedAt, \.expiresAt] as [WritableKeyPath<StorageMetadata, Double?>] {
            add { $0[keyPath: path] = nil }
            for bit in 0..<64 { add { $0[keyPath: path] = Double(bitPattern: (sound[keyPath: path] ?? 0).bitPattern ^ 1 << bit) } }
        }
        add { $0.schemaVersion = nil }
        for bit in 0..<63 { add { $0.schemaVersion = (sound.schemaVersion ?? 0) ^ 1 << bit } }
        add { $0.origin = nil }
        for (place, byte) in (sound.origin ?? []).enumerated() { add { $0.origin?[place] = byte ^ 1 << (place % 8) } }
        add { $0.attributes["new"] = "text" }
        for (name, text) in sound.attributes {
            add { $0.attributes[name] = nil }
            for other in texts(text) { add { $0.attributes[name] = other } }
        }
        return all
    }
}
