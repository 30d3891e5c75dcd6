import BackendContract
import BackendRuntime
import Foundation
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// What stands beside a seal is not believed before the seal was opened: attacks by somebody who can write to the store and has no key.
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

    /// Changes what stands beside a value or a removal, as a program without the key can.
    private func forge<Value>(_ key: StorageKey<Value>, _ change: (inout StorageMetadata) -> Void) async throws {
        let route = try machine.launch().env.routes.slot(for: key).route
        let probe = try await route.backend.read(route.address)
        var metadata = try #require(probe.metadata)
        change(&metadata)
        let operation = probe.record.map { StorageMutation.Operation.put($0.payload, metadata) } ?? .tombstone(metadata)
        #expect(try await route.backend.apply(StorageMutation(route.address, operation, if: probe.unchanged)).isApplied)
    }

    @Test func `a forged expiry makes no sealed value vanish, and a sweep does not purge it`() async throws {
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

    @Test func `an expiry beside a value that is not sealed does not hide it either`() async throws {
        try await machine.launch().set("v", for: plain)
        try await forge(plain) { ($0.expiresAt, $0.sealing) = (1, nil) }
        await expectRefusal(StorageError.undecodable, of: "plain") { _ = try await machine.launch().value(for: plain) }
    }

    @Test func `a lifetime counts while the key is at hand, and hides nothing while it is not`() async throws {
        let key = plain.expiring(after: .seconds(60))
        try await machine.launch().set("v", for: key)
        clock.advance(by: .seconds(120))
        #expect(try await machine.launch().value(for: key) == nil)
        try await machine.launch().set("w", for: key)
        #expect(try await machine.launch().get(key) == "w")
    }

    @Test func `a forged removal is not believed`() async throws {
        try await machine.launch().set("v", for: moved)
        let route = try machine.launch().env.routes.slot(for: moved).route
        let record = try #require(try await route.backend.read(route.address).record)
        // With nothing, and with what stood beside the value.
        for metadata in [StorageMetadata(), StorageMetadata(origin: record.metadata.origin, sealing: record.metadata.sealing)] {
            #expect(try await route.backend.apply(StorageMutation(route.address, .tombstone(metadata))).isApplied)
            await expectRefusal(StorageError.corrupted, of: "moved") { _ = try await machine.launch().value(for: moved) }
        }
        // It does not keep the older value from coming either.
        try await machine.launch().set("older", for: Self.old)
        #expect(try await machine.launch().get(moved) == "older")
    }

    @Test func `a forged later version neither hides a sealed value nor makes its name unusable`() async throws {
        for key in [plain, moved] {
            try await machine.launch().set("v", for: key)
            try await forge(key) { $0.schemaVersion = 99 }
            await expectRefusal(StorageError.corrupted, of: key.name) { _ = try await machine.launch().value(for: key) }
            try await machine.launch().set("w", for: key)
            #expect(try await machine.launch().get(key) == "w")
        }
    }

    @Test func `a sealed record is that of one place, however collection and id are cut`() async throws {
        func collection(_ name: String) -> StorageCollection<Note> {
            StorageCollection(name, domain: Self.list, security: .encrypted, owner: "Tests", description: "Notes", id: \.id)
        }
        let (one, other) = (collection("users"), collection("users/admin"))
        try await machine.launch().set(Note(id: "admin/root", text: "v"), in: one)
        let routes = machine.launch().env.routes
        let (from, to) = (try routes.slot(for: one.key("admin/root")).route, try routes.slot(for: other.key("root")).route)
        let record = try #require(try await from.backend.read(from.address).record)
        #expect(try await to.backend.apply(.put(record.payload, record.metadata, at: to.address)).isApplied)
        await expectRefusal(StorageError.corrupted) { _ = try await machine.launch().value(for: other.key("root")) }
    }

    struct Note: Codable, Sendable, Equatable {
        let id, text: String
    }

    @Test func `what is sealed for one tenant does not open for another one with the same key`() async throws {
        try await machine.launch().set("v", for: plain)
        var configuration = machine.configuration
        configuration.sealingContext = "another tenant"
        let other = StorageRouter(configuration: configuration)
        await expectRefusal(StorageError.corrupted, of: "plain") { _ = try await other.value(for: plain) }
        #expect(try await machine.launch().get(plain) == "v")
    }

    @Test func `pages and counts of sealed records believe no forged type, attribute or expiry`() async throws {
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

    @Test func `values and removals from before a place was sealed keep their meaning`() async throws {
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

    @Test func `an expiry hides nothing while there is no key to prove it`() async throws {
        let key = plain.expiring(after: .seconds(60))
        try await machine.launch().set("v", for: key)
        clock.advance(by: .seconds(120))
        machine.lock(.keychain)
        await expectRefusal(StorageError.locked, of: "plain") { _ = try await machine.launch().value(for: key) }
        machine.unlock(.keychain)
        #expect(try await machine.launch().value(for: key) == nil)
    }

    // MARK: Every bit

    /// What an attack came to.
    private enum Outcome: String { case right, error, wrong, refused }

    @Test(arguments: [StorageDomain.userDefaults(suite: "sealed"), .keychain(service: "sealed")], [false, true])
    func `a bit beside a sealed value or removal, flipped, gives the value, an error, or damage`(
        domain: StorageDomain, isRemoved: Bool
    ) async throws {
        let tally = try await Self.flip(in: domain, isRemoved: isRemoved, 200) { machine.launch() }
        #expect(tally[.error, default: 0] > 100)
    }

    @Test(.slow("goes through real files many times"), arguments: [false, true]) func `the same in a property list on a disk`(
        isRemoved: Bool
    ) async throws {
        let stage = try Stage()
        _ = try await Self.flip(in: .userDefaults(suite: "sealed"), isRemoved: isRemoved, 40) { stage.launch() }
    }

    #if Keyring
        @Test(.slow("goes through real files many times"), arguments: [false, true]) func `the same in the session's keyring`(
            isRemoved: Bool
        ) async throws {
            let stage = try Stage(keyring: true)
            _ = try await Self.flip(in: .keychain, isRemoved: isRemoved, 8) { stage.launch() }
        }
    #endif

    /// Flips what stands beside a sealed value, reads it with a new program, sets another one, and reads that.
    /// - Parameter count: How many of the changes are tried.
    private static func flip(
        in domain: StorageDomain, isRemoved: Bool, _ count: Int, launch: () -> StorageRouter
    ) async throws -> [Outcome: Int] {
        let key = textKey("moved", domain, .encrypted).moved(from: old).expiring(after: .seconds(1_000_000))
        let route = try launch().env.routes.slot(for: key).route
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

    /// The metadata with every field left out, and with each of its bits flipped; one bit of each byte of an origin.
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
