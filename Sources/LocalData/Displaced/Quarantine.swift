import BackendContract
import BackendRuntime
import Crypto
import Foundation
import Sealing

/// Stores data that would otherwise be destroyed before a user has reviewed it. An entry is durable, and is protected at least as well as
/// the data was. Its name is derived from its content. The number and size of the entries are limited: see ``QuarantineLimit``.
final class Quarantine: Sendable {
    private let own: OwnStore
    private let damagedFiles: DamagedFiles
    let seals: RecordSeals
    /// Further key sources of the program, whose keys can seal entries.
    private let otherSources: [KeySourceReference]
    let runtime: Runtime
    /// Nil in a rehearsal.
    private let limit: QuarantineLimit?

    init(
        _ own: OwnStore, damagedFiles: DamagedFiles, _ seals: RecordSeals, otherSources: [KeySourceReference], runtime: Runtime,
        isLimited: Bool = true
    ) {
        (self.own, self.damagedFiles, self.seals, self.otherSources) = (own, damagedFiles, seals, otherSources)
        self.runtime = runtime
        limit = isLimited ? QuarantineLimit(runtime.clock) : nil
    }

    /// Returns a quarantine for a rehearsal. It keeps entries in memory, creates no key, and has no limit: a value that cannot be migrated
    /// because the quarantine is full can still be read.
    func rehearsed(_ seals: RecordSeals, _ rehearse: @escaping @Sendable (any StorageBackend) -> any StorageBackend) -> Quarantine {
        Quarantine(
            OwnStore { [own] in rehearse(try own.backend()) }, damagedFiles: damagedFiles, seals, otherSources: otherSources,
            runtime: runtime, isLimited: false)
    }

    func store() throws -> any StorageBackend { try own.backend() }

    /// Stores a record as an entry, which is durable when the call returns.
    /// - Parameters:
    ///   - route: The location of the record.
    ///   - others: The other locations of the value. The entry is protected at least as well as the best protected of all these locations.
    /// - Throws: ``StorageError`` if the record cannot be stored durably with this protection, `noSpace` if the quarantine is full. The
    ///   caller must then leave the record where it is.
    func keep(_ record: StorageRecord, of route: Route, beside others: [Route], reason: String) async throws {
        let store = try store()
        // If the seal of `record` could not be verified, `record` may lack some of its metadata. Read it without verification, so that the
        // entry has all of it.
        var record = record
        if record.metadata.sealing != nil, case .value(let whole) = try await route.look(), whole.revision == record.revision {
            record = whole
        }
        let needed = others.map(\.protection).reduce(route.protection, max)
        var content = RecordCodec.encode(record)
        var attributes = ["key": route.keyName, "place": route.place.text, "reason": reason, "since": String(runtime.clock.wallSeconds)]
        if record.metadata.sealing != nil, let seal = route.security.keySource { attributes["seal"] = Self.text(of: seal) }
        // The key and the location are part of the name. Equal values of several keys are separate entries, so a user can discard one of
        // them and keep the others.
        var named = Fields("LocalData quarantine name 1")
        named.add(route.keyName)
        named.add(route.place.text)
        named.add(content)
        var metadata = StorageMetadata(attributes: attributes)
        var id = "q" + hexadecimalText(of: SHA256.hash(data: named.bytes).prefix(16))
        // Reason: "Displaced values go to the quarantine" in Docs/Decisions/Stores.md.
        if needed > store.capabilities.protection {
            let source = try source(for: needed, [route] + others)
            metadata.attributes["source"] = source.1
            // As everywhere, no new key is created while data exists that a missing key has sealed.
            let key = try await translatingErrors(key: route.keyName) { () throws(BackendError) in
                try await seals.keys.forSealing(from: source.0) { () throws(BackendError) in try await seals.otherSealedIDs(source.0) }
            }
            metadata.sealing = SealingKey.name(of: key.id)
            // The name of a sealed entry is an HMAC. It reveals nothing about a secret to a reader without the key.
            // Reason: "Fingerprints have no key" in Docs/Decisions/Sealing.md.
            let mac = HMAC<SHA256>.authenticationCode(for: named.bytes, using: key.subkey("LocalData quarantine name 1"))
            id = "q" + hexadecimalText(of: mac.prefix(16))
            content = try await translatingErrors(key: route.keyName) { [content, id, metadata] () throws(BackendError) in
                try Envelope.seal(content, with: key, for: context(id, metadata), runtime.randomBytes)
            }
        }
        let address = StorageAddress(id)
        try await limit?.requireRoom(for: content.count, metadata, at: address, in: store)
        let result = try await translating(route.keyName, await store.apply(.put(.bytes(content), metadata, at: address, if: .absent)))
        StepJournal.note(.quarantine, route)
        switch result {
        case .applied: limit?.count(content.count, metadata)
        case .conflict(.value):
            // An earlier call has stored the same content. That call may have failed before the entry was durable, so make it durable now.
            let achieved = try await translatingErrors(key: route.keyName) { () throws(BackendError) in try await store.synchronize() }
            if achieved >= min(route.capabilities.durability, store.capabilities.durability) { return }
            throw StorageError(
                StorageError.unavailable, key: route.keyName,
                "The quarantine is not certain to survive a power cut yet, so the value stays where it is.")
        case .failed(let error): throw StorageError.from(error, key: route.keyName)
        default:
            throw StorageError(
                StorageError.unavailable, key: route.keyName,
                "A value that would be replaced could not be put into quarantine, so it stays where it is.")
        }
    }

    /// Stores the damaged bytes of a slot as an entry, which is durable when the call returns.
    /// - Returns: The precondition that the slot still contains these bytes.
    func keep(
        _ corruption: StorageCorruption, of route: Route, beside others: [Route]
    ) async throws -> StorageMutation.Precondition {
        guard let revision = corruption.revision else { throw route.corrupted(corruption) }
        let damaged = StorageRecord(payload: .bytes(corruption.bytes), revision: revision)
        try await keep(damaged, of: route, beside: others, reason: "replaced: it was damaged")
        return .revision(revision)
    }

    /// Returns the context to which the seal of an entry is bound: the name and the metadata of the entry.
    func context(_ id: String, _ metadata: StorageMetadata) -> Envelope.Context {
        let store = StoreContext(application: seals.application, kind: "quarantine", scope: "")
        var context = Envelope.Context(.quarantine, in: store)
        context.add(id)
        context.add(metadata)
        return context
    }

    private func source(for needed: ProtectionLevel, _ routes: [Route]) throws -> (any KeySource, String) {
        let references = routes.compactMap(\.security.keySource) + [.configured] + otherSources + [.keychain]
        for reference in references {
            let source = try seals.sources(reference)
            if source.protection >= needed { return (source, Self.text(of: reference)) }
        }
        throw StorageError(
            StorageError.weakerProtection, key: routes.first?.keyName ?? "",
            "No source of sealing keys protects as well as \(needed), so nothing can be quarantined; the value stays where it is.")
    }

    /// Returns the ids of the keys with which a key source has sealed the entries in a quarantine's store.
    static func sealedIDs(
        in store: any StorageBackend, of source: any KeySource, _ stores: any StoreProvider
    ) async throws(BackendError) -> Set<[UInt8]> {
        let probes = try await store.read(try await store.addresses(in: .values), .validated)
        return RecordSeals.sealedIDs(
            in: probes.filter { probe in
                guard let name = probe.record?.metadata.attributes["source"] else { return false }
                return (try? stores.keySource(reference(name)))?.identifier == source.identifier
            })
    }

    /// Returns all entries: quarantined values, and copies of damaged files.
    func list() async throws -> [QuarantinedValue] {
        let copies = try await translatingErrors(key: "quarantine") { () throws(BackendError) in try await damagedFiles.list() }
        return try await values()
            + copies.map {
                QuarantinedValue(
                    id: $0.id, key: "", place: $0.place, reason: "a copy of the whole file: it was damaged", isSealed: false,
                    since: Date(timeIntervalSince1970: $0.since))
            }
    }

    /// Reads the entries whose names are wanted.
    private func entries(_ isWanted: (String) -> Bool = { _ in true }) async throws -> [(id: String, probe: StorageProbe)] {
        let store = try store()
        return try await translatingErrors(key: "quarantine") { () throws(BackendError) in
            let addresses = try await store.addresses(in: .values).filter { isWanted($0.name) }
            let probes = try await store.read(addresses, .validated)
            for probe in probes {
                if case .unavailable(let error) = probe { throw error }
                if case .locked = probe { throw BackendError(.locked, "The quarantine is locked. Unlock its store and try again.") }
            }
            return zip(addresses, probes).map { ($0.name, $1) }
        }
    }

    private func values() async throws -> [QuarantinedValue] {
        try await entries { $0.hasPrefix("q") }.compactMap { id, probe in
            switch probe {
            case .value(let record):
                let facts = record.metadata.attributes
                return QuarantinedValue(
                    id: id, key: facts["key"] ?? "", place: Self.words(facts["place"] ?? ""), reason: facts["reason"] ?? "",
                    isSealed: record.metadata.sealing != nil,
                    since: facts["since"].flatMap(Double.init).map(Date.init(timeIntervalSince1970:)))
            case .corrupt:
                return QuarantinedValue(
                    id: id, key: "", place: "", reason: "the entry is damaged, so its value cannot be read", isSealed: false, since: nil)
            default: return nil
            }
        }
    }

    /// Returns the content of an entry: the payload of a record, or the bytes of a damaged file. A payload that was sealed in its slot is
    /// decrypted if its seal opens.
    func content(of id: String) async throws -> Data {
        let copy = try await translatingErrors(key: id) { () throws(BackendError) in try await damagedFiles.content(id) }
        if let copy { return Data(copy) }
        let probe = try await probe(id)
        if case .corrupt = probe {
            throw StorageError(
                StorageError.corrupted, key: id, "The entry is damaged. Its bytes are left as they are; discard it if they are of no use.")
        }
        guard case .value(let record) = probe else {
            throw StorageError(StorageError.notFound, key: id, "Nothing is quarantined under this name.")
        }
        let kept = try await opened(record, id).record
        guard case .bytes(let bytes) = kept.payload else { return Data(kept.payload.exported) }
        return Data(try await decrypted(bytes, kept.metadata, record.metadata.attributes, id))
    }

    /// Returns the record in an entry, and the key that sealed the entry; nil if the entry is not sealed.
    func opened(_ entry: StorageRecord, _ id: String) async throws -> (record: StorageRecord, key: SealingKey?) {
        guard case .bytes(var content) = entry.payload else {
            throw StorageError(StorageError.corrupted, key: id, "The quarantined record is damaged.")
        }
        defer { wipe(&content) }
        var key: SealingKey?
        if entry.metadata.sealing != nil {
            let source = try seals.sources(Self.reference(entry.metadata.attributes["source"] ?? ""))
            (content, key) = try await translatingErrors(key: id) { [content] () throws(BackendError) in
                let key = try await seals.keys.key(for: Envelope.keyID(of: content).map { [$0] } ?? [], from: source)
                return (try Envelope.open(content, with: key, for: context(id, entry.metadata)), key)
            }
        }
        guard case .record(let kept) = RecordCodec.decode(content) else {
            throw StorageError(StorageError.corrupted, key: id, "The quarantined record is damaged.")
        }
        return (kept, key)
    }

    /// Returns the decrypted content of a value that was sealed in its slot. Other bytes, and a value whose seal does not open, are
    /// returned unchanged.
    private func decrypted(_ bytes: [UInt8], _ metadata: StorageMetadata, _ facts: [String: String], _ id: String) async throws -> [UInt8] {
        guard metadata.sealing != nil, let place = facts["place"].flatMap(Place.init(text:)), let source = facts["seal"] ?? facts["source"]
        else { return bytes }
        let keySource = try seals.sources(Self.reference(source))
        let key = try await translating(id, await seals.keys.key(for: Envelope.keyID(of: bytes).map { [$0] } ?? [], from: keySource))
        let context = RecordSeals.context(.value, seals.application, place, beside: metadata)
        do throws(BackendError) { return try Envelope.open(bytes, with: key, for: context) } catch { return bytes }
    }

    /// Returns the description of a location, for users.
    private static func words(_ place: String) -> String { Place(text: place)?.description ?? place }

    /// Destroys an entry.
    func purge(_ id: String) async throws {
        if try await translatingErrors(key: id, { () throws(BackendError) in try await damagedFiles.remove(id) }) { return }
        defer { limit?.reset() }
        let store = try store()
        let address = StorageAddress(id)
        let result = try await translatingErrors(key: id) { () throws(BackendError) in
            let result = try await store.apply(.delete(address))
            guard case .conflict(.corrupt(let corruption)) = result, let revision = corruption.revision else { return result }
            // A store deletes damaged bytes only if the change has their revision as precondition.
            return try await store.apply(.delete(address, if: .revision(revision)))
        }
        switch result {
        case .applied: return
        // A delete whose flush failed may have been applied.
        case .failed(let error): throw StorageError.from(error, key: id)
        case .locked: throw StorageError(StorageError.locked, key: id, "The quarantine is locked. Unlock its store and try again.")
        case .conflict, .notAttempted:
            throw StorageError(StorageError.unavailable, key: id, "The entry could not be removed from quarantine.")
        }
    }

    /// Destroys the entries of some locations, and the copies of some damaged files. Entries that are damaged themselves name no location,
    /// so they stay.
    /// - Parameters:
    ///   - isChosen: Returns whether the entries of a location are destroyed.
    ///   - isChosenFile: Returns whether the copies of the file of a domain are destroyed, by the domain's description.
    ///   - willPurge: Called before each entry is destroyed.
    func purge(
        at isChosen: (Place) -> Bool, copiesOf isChosenFile: (String) -> Bool, _ willPurge: () -> Void
    ) async throws {
        let copies = try await translatingErrors(key: "quarantine") { () throws(BackendError) in try await damagedFiles.list() }
        var ids = copies.filter { isChosenFile($0.place) }.map(\.id)
        for (id, probe) in try await entries() {
            guard let place = probe.record?.metadata.attributes["place"].flatMap(Place.init(text:)), isChosen(place) else { continue }
            ids.append(id)
        }
        for id in ids {
            willPurge()
            try await purge(id)
        }
    }

    private func probe(_ id: String) async throws -> StorageProbe {
        let store = try store()
        return try await translatingErrors(key: id) { () throws(BackendError) in try await store.read(StorageAddress(id)) }
    }

    /// Closes the store.
    func close() async { await own.close() }

    /// Returns a reference to a key source as text. An entry stores it in its attributes, so that a later run of the program finds the key.
    private static func text(of reference: KeySourceReference) -> String {
        switch reference.form {
        case .configured: "configured"
        case .keychain(let service, let name): "keyring\n\(service ?? "")\n\(name)"
        case .keyFile(let path): "file\n\(path)"
        case .credential(let name): "credential\n\(name)"
        case .passphrase(let name): "passphrase\n\(name)"
        case .secretPortal(let name): "portal\n\(name)"
        case .custom(let name): "custom\n\(name)"
        }
    }

    static func reference(_ text: String) -> KeySourceReference {
        let parts = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        switch parts.first {
        case "keyring" where parts.count == 3: return .keychain(service: parts[1].isEmpty ? nil : parts[1], name: parts[2])
        case "file" where parts.count == 2: return .keyFile(parts[1])
        case "credential" where parts.count == 2: return .credential(parts[1])
        case "passphrase" where parts.count == 2: return .passphrase(parts[1])
        case "portal" where parts.count == 2: return .secretPortal(parts[1])
        case "custom" where parts.count == 2: return .custom(parts[1])
        default: return .configured
        }
    }
}

extension StoragePayload {
    /// The bytes of the payload, as its serializer made them. A text is exported as UTF-8, and any other native value as JSON if possible.
    var exported: [UInt8] {
        switch self {
        case .bytes(let bytes), .native(.data(let bytes)): bytes
        case .native(.string(let text)): Array(text.utf8)
        case .native(let value): NativeCoding.json(of: value).map(Array.init) ?? value.canonicalBytes
        }
    }
}
