import BackendContract
import Foundation
import LocalData
import LocalDataBackup
import LocalDataTesting
import MemoryBackend
import TestSupport
import Testing

/// Damaged records: one damaged record does not block its collection.
///
/// A list reports the damaged record with a handle, a text that identifies the record. With the handle, the record can be
/// exported, set aside (moved to the quarantine) or removed.
@Suite(.inTurn) struct DamagedRecordTests {
    @Test(arguments: Place.allCases)
    func `one undecodable record of 100 is reported separately, and the other 99 are read`(_ place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let notes = Note.collection(domain)
            for note in Note.many(100) where note.id != "n54" { try await launch().set(note, in: notes) }
            try await launch().set(NoNote(broken: 1), in: NoNote.collection(domain, id: "n54"))
            let router = launch()
            let found = try await router.everything(in: notes)
            #expect(Set(found.records.map(\.id)).count == 99 && found.records.count == 99)
            #expect(found.damaged.map(\.name) == ["n54"] && found.reasons.map(\.code) == [StorageError.undecodable])
            #expect(try await router.count(in: notes) == 100)
            #expect(try await router.names(of: domain, collection: "notes", onDamage: .skip).count == 100)
            await #expect(throws: StorageError.self) { for try await _ in router.records(in: notes) {} }
            let handle = try #require(found.damaged.first).handle
            let record = try #require(DamagedRecord(handle: handle, in: domain))
            #expect(try await String(decoding: router.damagedData(record), as: UTF8.self) == #"{"broken":1}"#)
            try await router.setAside(record)
            #expect(try await router.everything(in: notes).damaged.isEmpty)
            #expect(try await router.count(in: notes) == 99)
            let kept = try #require(try await router.audit().quarantine.first)
            #expect(kept.key == "n54")
            #expect(try await String(decoding: router.quarantine.data(of: kept), as: UTF8.self) == #"{"broken":1}"#)
            await #expect { try await router.removeDamaged(record) } throws: { StorageError.notFound ~= $0 }
        }
    }

    @Test(arguments: Place.allCases)
    func `a record that was repaired after it was listed as damaged is neither set aside nor removed`(_ place: Place) async throws {
        try await place.withRouter { router, domain in
            let notes = Note.collection(domain)
            try await router.set(NoNote(broken: 1), in: NoNote.collection(domain, id: "a"))
            let record = try #require(try await router.everything(in: notes).damaged.first)
            try await router.set(Note(id: "a", text: "repaired"), in: notes)
            for act in [router.setAside, router.removeDamaged] {
                await #expect { try await act(record) } throws: { StorageError.notFound ~= $0 }
            }
            await #expect { _ = try await router.damagedData(record) } throws: { StorageError.notFound ~= $0 }
            #expect(try await router.value("a", in: notes)?.text == "repaired")
        }
    }

    @Test func `bytes that are not a valid record are listed as damaged, and can be exported and removed`() async throws {
        let machine = TestMachine()
        let domain = StorageDomain.userDefaults(suite: "a")
        let router = machine.launch()
        try await router.set("whole", for: textKey("whole", domain))
        try await router.set("damaged", for: textKey("damaged", domain))
        machine.corrupt(domain, name: "damaged", bytes: [1, 2, 3])
        let (names, damaged) = try await router.namesAndDamage(in: domain)
        #expect(names == ["whole"])
        #expect(try await router.names(of: domain, onDamage: .skip) == ["whole"])
        let record = try #require(damaged.first)
        #expect(record.name == "damaged")
        await #expect { _ = try await router.names(of: domain) } throws: { StorageError.corrupted ~= $0 }
        #expect(try await router.damagedData(record) == Data([1, 2, 3]))
        try await router.removeDamaged(record)
        #expect(try await router.names(of: domain) == ["whole"])
        #expect(try await router.audit().quarantine.isEmpty)
    }

    /// A keyring with a locked collection that has one value, whose name cannot be read.
    private struct PartlyLockedKeyring: WrappingBackend, PartlyLockedBackend {
        let base: any StorageBackend

        func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] {
            throw BackendError(.locked, "A collection of the keyring is locked.")
        }

        func slotsBesideLocks(
            in namespace: StorageNamespace
        ) async throws(BackendError) -> (addresses: [StorageAddress], nameless: [DamageHandle]) {
            (try await base.addresses(in: namespace), [DamageHandle([1])])
        }
    }

    @Test func `beside a locked collection of a keyring, names are listed, and a value without a readable name is reported as locked`()
        async throws
    {
        let keyring = InMemoryStore(
            identity: BackendIdentity(kind: "keyring", store: "test"),
            capabilities: BackendCapabilities(durability: .durable, crossProcess: true, protection: .keychain))
        let stage = try Stage()
        let router = stage.launch { $0.useBackend(for: .keychain) { _ in PartlyLockedKeyring(base: keyring) } }
        let key = textKey("whole", .keychain)
        try await router.set("abc", for: key)
        await expectRefusal(.locked) { _ = try await router.names(of: .keychain) }
        #expect(try await router.names(of: .keychain, onDamage: .skip) == ["whole"])
        let (names, damaged) = try await router.namesAndDamage(in: .keychain)
        let record = try #require(damaged.first)
        #expect(names == ["whole"] && damaged.count == 1 && record.name == nil)
        for act in [router.setAside, router.removeDamaged] { await expectRefusal(.locked) { try await act(record) } }
        #expect(try await router.get(key) == "abc")
    }

    @Test func `a DamagedRecord can be recreated from its handle, and other texts are rejected`() async throws {
        let machine = TestMachine()
        let domain = StorageDomain.userDefaults(suite: "a")
        machine.corrupt(domain, name: "caf\u{E9}", bytes: [1])
        let record = try #require(try await machine.launch().namesAndDamage(in: domain).damaged.first)
        #expect(DamagedRecord(handle: record.handle, in: domain) == record)
        for text in ["", "0", "zz", "07", String(record.handle.dropLast(2)), record.handle + "00"] {
            #expect(DamagedRecord(handle: text, in: domain) == nil, "\(text)")
        }
    }

    @Test(arguments: Place.allCases)
    func `an unreadable record in a legacy collection does not block reads of the new collection`(_ place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let old = Note.collection("old", place.olderDomain)
            try await launch().set(Note(id: "a", text: "one"), in: old)
            try await launch().set(Note(id: "b", text: "two"), in: old)
            try await launch().set(NoNote(broken: 1), in: NoNote.collection("old", place.olderDomain, id: "bad"))
            let notes = Note.collection(domain).moved(from: old)
            let router = launch()
            #expect(try await router.count(in: notes) == 3)
            let found = try await router.everything(in: notes)
            #expect(Set(found.records.map(\.id)) == ["a", "b"])
            #expect(found.damaged.map(\.name) == ["bad"] && found.damaged.first?.domain == place.olderDomain)
            // A record in the new collection hides a damaged legacy record with the same id.
            try await router.set(Note(id: "c", text: "three"), in: notes)
            try await launch().set(NoNote(broken: 1), in: NoNote.collection("old", place.olderDomain, id: "c"))
            #expect(try await launch().everything(in: notes).damaged.map(\.name) == ["bad"])
            try await router.setAside(try #require(found.damaged.first))
            #expect(try await launch().everything(in: notes).damaged.isEmpty)
            #expect(try await launch().count(in: notes) == 3)
        }
    }

    @Test(arguments: Place.allCases)
    func `a record of a later schema version is reported as damaged, and the other records are read`(_ place: Place) async throws {
        try await place.withLaunches { launch, domain in
            let notes = Note.collection(domain)
            try await launch().set(Note(id: "a", text: "one"), in: notes)
            try await launch().set(Note(id: "b", text: "two"), in: notes.version(2))
            let found = try await launch().everything(in: notes)
            #expect(found.records.map(\.id) == ["a"])
            #expect(found.reasons.map(\.code) == [StorageError.incompatibleSchema])
        }
    }

    @Test func `a read throws if the legacy store is unavailable, and reports no damaged records`() async throws {
        let machine = TestMachine()
        let (older, domain) = (StorageDomain.userDefaults(suite: "older"), StorageDomain.userDefaults(suite: "a"))
        let notes = Note.collection(domain).moved(from: Note.collection("old", older))
        try await machine.launch().set(Note(id: "a", text: "one"), in: notes)
        machine.makeUnavailable(older)
        let router = machine.launch()
        await #expect { _ = try await router.everything(in: notes) } throws: { StorageError.unavailable ~= $0 }
        await #expect { _ = try await router.count(in: notes) } throws: { StorageError.unavailable ~= $0 }
    }

    #if SQLite
        @Test(arguments: ["sealed", "slot"])
        func `a database row with overwritten bytes is listed as damaged, can be exported and set aside, and other rows stay`(
            _ column: String
        ) async throws {
            let stage = try Stage()
            let domain = StorageDomain.encryptedSQLite(database: "main")
            let notes = Note.collection(domain)
            let router = stage.launch { $0.keySource = .keyFile("sealing.key") }
            try await router.set(Note.many(100), in: notes)
            try await router.set("plain", for: textKey("plain", domain))
            try await router.shutdown()
            let path = stage.path(ofDatabase: "main")
            try PlainDatabase(path: path).execute(
                "UPDATE records SET \(column) = zeroblob(length(\(column))) WHERE id = (SELECT min(id) FROM records)")
            let next = stage.launch { $0.keySource = .keyFile("sealing.key") }
            let (values, listed) = try await next.namesAndDamage(in: domain)
            let record = try #require(listed.first)
            #expect(listed.count == 1 && record.name == nil)
            let found = try await next.everything(in: notes)
            #expect(found.records.count + values.count == 100)
            await #expect { _ = try await next.names(of: domain) } throws: { StorageError.corrupted ~= $0 }
            #expect(try await next.damagedData(record).count > 28)
            let again = try #require(DamagedRecord(handle: record.handle, in: domain))
            try await next.setAside(again)
            #expect(try await next.audit().quarantine.count == 1)
            #expect(try await next.names(of: domain) == values)
            #expect(try await next.everything(in: notes).damaged.isEmpty)
            #expect(try await next.count(in: notes) == found.records.count)
            // The id of the damaged record can be used again.
            try await next.set(Note.many(100), in: notes)
            #expect(try await next.everything(in: notes).records.count == 100)
            try await next.shutdown()
        }
    #endif
}
