import BackendConformance
import BackendContract
import LocalData
import MemoryBackend

/// Samples of the contract of backends. They are compiled, and not run.
enum ContractSamples {
    actor DictionaryStore: ByteStore {
        private var content: [String: [UInt8]] = [:]
        nonisolated let identity = BackendIdentity(kind: "dictionary", store: "main")
        nonisolated let capabilities = BackendCapabilities(durability: .process)

        func read(_ name: String) throws(BackendError) -> [UInt8]? { content[name] }
        func write(_ bytes: [UInt8], _ name: String) throws(BackendError) { content[name] = bytes }
        func delete(_ name: String) throws(BackendError) { content[name] = nil }
        func list() throws(BackendError) -> [String] { Array(content.keys) }
    }

    static func byteStoreBackend() async throws {
        var configuration = StorageConfiguration.inMemory()
        configuration.useBackend(for: .init("dictionary")) { scope in ByteStoreBackend(DictionaryStore()) }
        let city = StorageKey<String>(name: "city", domain: .custom("dictionary", scope: "main"))
        try await StorageRouter(configuration: configuration).set("Graz", for: city)
    }

    static func backend() async throws(BackendError) {
        let store: any StorageBackend = InMemoryStore()
        let address = StorageAddress("city")
        switch try await store.apply(.put(.native(.string("Graz")), at: address, if: .absent)) {
        case .applied(let revision, let durability): print(revision as Any, durability)
        case .conflict(let current): print("The slot was not empty: \(current)")
        case .locked, .failed, .notAttempted: print("Nothing was stored.")
        }
    }

    static func reading(_ store: any StorageBackend) async throws(BackendError) {
        let probes = try await store.read([StorageAddress("city"), StorageAddress("country")], .validated)
        for probe in probes where probe == .absent { print("It is proven that this slot is empty.") }
        let probe = try await store.read(StorageAddress("city"), .fresh)
        switch probe {
        case .value(let record): print("\(record.payload.byteCount) bytes")
        case .tombstone: print("The value was removed.")
        case .absent: print("There is no value.")
        case .locked: print("Unlock the store to find out.")
        case .unavailable(let error): print(error.reason)
        case .corrupt(let damage): print("Damaged: \(damage.reason)")
        }
    }

    static func applying(_ store: any StorageBackend) async throws {
        let changes: [StorageMutation] = [
            .put(.bytes([1, 2, 3]), at: StorageAddress("image"), if: .absent), .delete(StorageAddress("draft")),
        ]
        do throws(BackendError) {
            let results = try await store.apply(changes)
            if !results.allSatisfy(\.isApplied) { print("not applied: \(results)") }
        } catch {
            if error.outcome == .unknown { print("Read both slots before you repeat the changes.") }
        }
    }

    static func applyingOne(_ store: any StorageBackend, _ record: StorageRecord) async throws(BackendError) {
        let address = StorageAddress("city")
        let result = try await store.apply(.put(.native(.string("Graz")), at: address, if: .revision(record.revision)))
        if case .conflict = result { print("Another process changed the slot. Read it again.") }
    }

    static func listing(_ store: any StorageBackend) async throws(BackendError) {
        let addresses = try await store.addresses(in: .values)  // an incomplete list is never returned
        print(addresses.map(\.name).sorted())
        let query = StorageQuery(StorageNamespace("notes"), [.attribute("folder", "home")])
        var cursor: StorageCursor?
        repeat {
            let page = try await store.page(query, after: cursor, limit: 100)
            for entry in page.entries { print(entry.address, entry.corruption?.reason ?? "readable") }
            cursor = page.next
        } while cursor != nil
        print(try await store.count(query), "records, including damaged ones")
        if try await store.synchronize() < .durable { print("A power loss can undo the latest changes.") }
    }

    static func others(_ store: any StorageBackend) async {
        do throws(BackendError) { try store.validate(StorageAddress("a\u{0}b")) } catch { print(error.code, error.reason) }  // invalidName
        switch await store.status() {
        case .ready: print("ready")
        case .locked: print("locked: a user can unlock it")
        case .absent: print("not created yet")
        case .unavailable(let error): print(error.reason)
        }
        print(store.slot(StorageAddress("city")))  // "memory:…#city"
    }

    static func lockable(_ store: any StorageBackend) async throws(BackendError) {
        guard let lockable = store as? any LockableBackend, await lockable.status() == .locked else { return }
        do { try await lockable.unlock() } catch {  // may open a prompt
            print(error.code == .promptDismissed ? "The user declined." : error.reason)
        }
    }

    static func observable(_ store: any ObservableBackend) async {
        for await slots in store.foreignChanges() {
            print(slots.map { "changed: \($0)" } ?? "any slot may have changed")
        }
    }

    static func recoverable(_ store: any RecoverableBackend) async {
        do { print("The damaged file is now \(try await store.setAsideDamagedStore()).") } catch {
            print("The store is not damaged, or could not be moved: \(error.reason)")
        }
    }

    static func salvageable(_ store: any SalvageableBackend) async throws(BackendError) {
        for slot in try await store.listing(in: .values).damaged {
            guard let damage = try await store.damage(at: slot.handle) else { continue }  // it was changed since then
            print("\(damage.bytes.count) bytes cannot be read: \(damage.reason)")
            if try await store.deleteDamage(at: slot.handle) { print("deleted") }
        }
    }

    static func listing(_ store: any SalvageableBackend) async throws(BackendError) {
        let listing = try await store.listing(in: .values)
        print("\(listing.addresses.count) slots, and \(listing.damaged.count) without a readable name")
    }

    static func values() throws {
        let identity = BackendIdentity(kind: "folder", store: "/var/lib/weather")  // a resolved path: one folder, one identity
        print(identity)  // folder:/var/lib/weather
        let slot = PhysicalSlot(store: identity, address: StorageAddress("city"))
        print(slot)  // folder:/var/lib/weather#city
        print(ProtectionLevel.plain < .sealed, ProtectionLevel.sealed < .keychain)  // true true
        var capabilities = BackendCapabilities(durability: .durable, atomicBatch: true, maximumValueSize: 1_048_576)
        capabilities.usefulConcurrency = 8
        do { try capabilities.requireFit(.put(.bytes([UInt8](repeating: 0, count: 2_000_000)), at: StorageAddress("image"))) } catch {
            print(error.code, error.reason)  // tooLarge, with the size, the limit and the remedy
        }
        let records = StorageNamespace("notes")
        print(StorageAddress("a") == StorageAddress("a", in: records))  // false: two slots
        let address = StorageAddress("city")
        do { try StorageAddress("").validate() } catch { print(error.reason) }  // "A name must not be empty."
        if StorageDurability.untilPowerLoss < .durable { print("A power loss can undo the change.") }
        var generator = SystemRandomNumberGenerator()
        let revision = StorageRevision.random(using: &generator)
        print(revision)  // revision(16): the bytes are never printed
        let record = StorageRecord(payload: .native(.string("Graz")), revision: revision, isForeign: true)
        print(record.payload)  // native(string(4)): descriptions never contain the content
        let removal = StorageTombstone(metadata: StorageMetadata(modifiedAt: 1_700_000_000), revision: revision)
        let damage = StorageCorruption(bytes: [0xFF], revision: revision, reason: "the checksum does not match")
        print(damage)  // damaged(1 bytes: the checksum does not match)
        let slotWithoutName = DamagedSlot(DamageHandle([0, 0, 0, 7]), damage)  // the backend chose the bytes: a row number
        let text = StoragePayload.native(.string("Graz"))  // other programs can read it
        let bytes = StoragePayload.bytes(Array(#"{"city":"Graz"}"#.utf8))
        print(text.byteCount, bytes.byteCount)  // 4 15
        let forecast: NativeValue = .dictionary(["city": .string("Graz"), "days": .array([.integer(21), .integer(19)])])
        print(forecast == forecast, NativeValue.real(0) == .real(-0.0))  // true false: equality is bitwise
        let metadata = StorageMetadata(serializer: "json", schemaVersion: 2, attributes: ["folder": "home"])
        print(metadata.byteCount)  // counts towards the size of the value
        let query = StorageQuery(StorageNamespace("notes"), [.typeTag("Note"), .attribute("folder", "home")])
        print(query.matches(metadata))  // false: the metadata has no type tag
        let page = StoragePage([StoragePage.Entry(address, .record(record))], next: nil)
        print(page.isComplete)  // true: it is the last page
        let encoded = RecordCodec.encode(record)
        switch RecordCodec.decode(encoded) {
        case .record(let record): print(record)
        case .tombstone: print("The value was removed.")
        case .foreign: print("Another program wrote these bytes.")
        case .damaged(let reason): print(reason)
        case .unknownFormat(let number): print("Update the program: format \(number).")
        }
        print(slot, removal, slotWithoutName, forecast, page)
    }

    static func mutations(_ record: StorageRecord) {
        let address = StorageAddress("city")
        let first = StorageMutation.put(.native(.string("Graz")), at: address, if: .absent)  // refused if the slot has a value
        let change = StorageMutation.put(.native(.string("Linz")), at: address, if: .revision(record.revision))
        let removal = StorageMutation.tombstone(at: address, if: .revision(record.revision))
        let deletion = StorageMutation.delete(address, if: .revision(record.revision))
        let both: [StorageMutation] = [
            .put(.bytes([1]), at: StorageAddress("copy"), if: .absent),
            .check(address, if: .revision(record.revision)),  // in an atomic batch, the copy is only stored if this holds
        ]
        let tombstone = StorageMutation.tombstone(StorageMetadata(modifiedAt: 1_700_000_000), at: address)
        print(first, change, removal, deletion, both, tombstone)
    }

    static func precondition(_ record: StorageRecord) {
        let ifEmpty = StorageMutation.put(.bytes([1]), at: StorageAddress("image"), if: .absent)
        let ifUnchanged = StorageMutation.put(.bytes([2]), at: StorageAddress("image"), if: .revision(record.revision))
        let unread = StorageMutation.put(.bytes([3]), at: StorageAddress("image"), if: .replaceable(version: 2))
        print(ifEmpty, ifUnchanged, unread)
    }

    static func refusal(_ current: StorageProbe, _ mutation: StorageMutation) -> MutationResult {
        if let refusal = current.refusal(of: mutation) { return refusal }  // nothing is written
        // Under the same lock: write the new content, and return its revision.
        return .notAttempted
    }

    static func pages(_ entry: StoragePage.Entry) {
        switch entry.content {
        case .record(let record): print("\(entry.address): \(record.payload.byteCount) bytes")
        case .corrupt(let damage): print("\(entry.address) is damaged: \(damage.reason)")
        }
    }

    static func condition() {
        let recent = StorageQuery.Condition.modified(since: 1_700_000_000)
        print(recent.matches(StorageMetadata(modifiedAt: 1_800_000_000)))  // true
    }

    static func errorCode(_ error: BackendError) -> Bool {
        switch error.code {
        case .locked, .promptDismissed: print("Try again when the user can unlock the store.")
        case .noSpace: print("The previous content is unchanged.")
        default: print(error.reason)  // later versions may have more codes
        }
        return true
    }

    static func integrityProgress(_ progress: IntegrityProgress) {
        print("\(progress.checked) of \(progress.total) rows")
    }

    static func metadata() {
        let bytes = RecordCodec.encodeMetadata(StorageMetadata(serializer: "json"))
        print(bytes.count)  // the metadata part of a record, for a format that stores the payload separately
    }

    static func result(_ result: MutationResult) {
        switch result {
        case .applied(_, let durability): print("applied, \(durability)")
        case .conflict(let current): print("not applied; the slot now contains \(current)")
        case .notAttempted: print("another change of the same batch failed")
        case .locked: print("not applied; the store is locked")
        case .failed(let error): print("\(error.reason) The outcome is \(error.outcome).")
        }
    }

    static func cursors(_ store: any StorageBackend, _ query: StorageQuery, _ saved: [UInt8]) async throws(BackendError) {
        do throws(BackendError) {
            print(try await store.page(query, after: StorageCursor(saved), limit: 50).entries.count)
        } catch let error where error.code == .unsupported {
            print("The cursor is of another query. Begin with the first page.")
        }
    }

    static func freshness(_ store: any StorageBackend) async throws(BackendError) {
        let address = StorageAddress("city")
        let known = try await store.read(address, .validated)  // may come from a cache that was compared with the store
        let stored = try await store.read(address, .fresh)  // the state that a new process would see
        let shown = try await store.read(address, .stale(upTo: .seconds(5)))  // a standby may answer
        print(known, stored, shown)
    }

    static func errors() {
        let error = BackendError(.unavailable, "The server does not answer. Check the network, and try again.", outcome: .unknown)
        if error.outcome == .unknown { print("Read the slot before you repeat the change.") }
    }

    static func outcome(_ error: StorageError) {
        switch error.outcome {
        case .notApplied: print("Nothing was changed.")
        case .applied: print("The change was made. A later step failed.")
        case .unknown: print("Read the value before you repeat the change.")
        }
    }

    actor MemoryAnchor: FreshnessAnchor {
        private var mark: FreshnessMark?
        nonisolated let name = "anchor in memory"

        func load() throws(BackendError) -> FreshnessMark? { mark }
        func store(_ mark: FreshnessMark, replacing known: FreshnessMark?) throws(BackendError) -> Bool {
            guard self.mark == known else { return false }  // another process was faster
            self.mark = mark
            return true
        }
    }

    static func mark(_ anchor: some FreshnessAnchor) async throws(BackendError) {
        guard let mark = try await anchor.load() else { return print("The anchor is empty.") }
        print("\(mark.commits) commits")
        print(FreshnessMark(text: mark.text) == mark)  // true: an anchor can store the text
    }

    static func integrity(_ report: IntegrityReport) {
        if !report.isSound {
            print("\(report.damagedRows) damaged rows; \(report.rows) rows instead of \(report.expectedRows.map(String.init) ?? "?")")
        }
    }

    static func keyring(_ description: KeyringDescription) {
        if description.algorithm == "plain" { print("Secrets go over the session bus without encryption.") }
        for name in description.valuesAtRisk { print("Copy \(name) elsewhere, and remove it from the keyring.") }
    }

    static func inMemory() async throws {
        let store = InMemoryStore()
        _ = try await store.apply([.put(.native(.string("Graz")), at: StorageAddress("city"))])
        print(try await store.addresses(in: .values))  // [city]
    }

    static func laws() async throws {
        let bench = LawBench(
            name: "dictionary", capabilities: ByteStoreBackend(DictionaryStore()).capabilities,
            makeStore: { ByteStoreBackend(DictionaryStore()) })
        for law in BackendLaw.all where law.applies(to: bench) { try await law.verify(on: bench) }
        let skipped = BackendLaw.all.filter { !$0.applies(to: bench) }
        print("\(skipped.count) laws need more capabilities of the store, or more closures of the bench")
        do { try await BackendLaw.all[0].verify(on: bench) } catch let violation as LawViolation {
            print(violation.law, violation.expected, violation.found)
        }
        let law = BackendLaw("an empty store has no names") { bench in
            let names = try await bench.makeStore().addresses(in: .values)
            if !names.isEmpty { throw LawViolation(expected: "no names", found: "\(names.count) names") }
        }
        print(law)
    }
}
