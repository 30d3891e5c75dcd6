import BackendContract
import BackendRuntime
import Sealing

/// Seals values and their metadata, and opens them again. A seal encrypts its content and authenticates other data with
/// it.
///
/// The seal of a value authenticates the store, the slot and all metadata. A tombstone, the record of a removal, has no
/// value. It has a sealed origin: the list of older copies that the record replaced. The seal of the origin
/// authenticates the rest of the metadata, and proves the removal. A value has a serializer and a tombstone has none,
/// so neither can be mistaken for the other.
struct RecordSeals: Sendable {
    let keys: SealingKeys
    let sources: @Sendable (KeySourceReference) throws -> any KeySource
    /// Returns the ids of all keys of a key source with which data in any store of this program is sealed. If such a
    /// key is missing, ``sealingKey(_:)`` creates no new key.
    let otherSealedIDs: @Sendable (any KeySource) async throws(BackendError) -> Set<[UInt8]>
    /// The name of the application. The seals of all stores are bound to it.
    let application: String
    let randomBytes: @Sendable (Int) -> [UInt8]

    /// Returns these seals with other keys, for a rehearsal: a run that records writes instead of performing them.
    func rehearsed(keys: SealingKeys, sources: @escaping @Sendable (KeySourceReference) throws -> any KeySource) -> RecordSeals {
        RecordSeals(keys: keys, sources: sources, otherSealedIDs: otherSealedIDs, application: application, randomBytes: randomBytes)
    }

    // MARK: Contexts

    /// Returns the context of the content of a slot: the data that the seal authenticates in addition to the content.
    /// - Parameter metadata: The metadata that is stored with the content.
    static func context(
        _ purpose: Envelope.Purpose, _ application: String, _ place: Place, beside metadata: StorageMetadata
    ) -> Envelope.Context {
        var context = Envelope.Context(purpose, in: StoreContext(application: application, kind: place.kind, scope: place.scope))
        context.add(place.namespace)
        context.add(place.name)
        context.add(metadata)
        return context
    }

    /// Returns the context of a record's origin: the data that the seal authenticates in addition to the origin. It
    /// contains all metadata except the origin.
    /// Reason: "The origin has a separate seal, which proves a tombstone" in Docs/Decisions/Sealing.md.
    private func originContext(_ metadata: StorageMetadata, _ route: Route) -> Envelope.Context {
        var beside = metadata
        beside.origin = nil
        return Self.context(metadata.serializer == nil ? .removal : .origin, application, route.place, beside: beside)
    }

    // MARK: Sealing

    /// Returns the key that seals writes to a slot. Creates the first key of the source if necessary.
    func sealingKey(_ route: Route) async throws -> SealingKey {
        let source = try keySource(route)
        return try await translatingErrors(key: route.keyName) { () throws(BackendError) in
            try await keys.forSealing(from: source) { () throws(BackendError) in
                try await Self.sealedIDs(in: route.backend, [.values, route.address.namespace]).union(try await otherSealedIDs(source))
            }
        }
    }

    /// Returns the metadata that a sealed record stores: it contains the id of the key, and the origin in sealed form.
    func metadata(_ metadata: StorageMetadata, origin: [UInt8]?, _ key: SealingKey, _ route: Route) throws -> StorageMetadata {
        var metadata = metadata
        metadata.sealing = SealingKey.name(of: key.id)
        metadata.origin = try origin.map { try seal($0, originContext(metadata, route), key, route) }
        return metadata
    }

    /// Seals the content of a value.
    /// - Parameter metadata: The complete metadata of the record: the result of ``metadata(_:origin:_:_:)``.
    func seal(_ content: [UInt8], beside metadata: StorageMetadata, _ key: SealingKey, _ route: Route) throws -> [UInt8] {
        try seal(content, Self.context(.value, application, route.place, beside: metadata), key, route)
    }

    private func seal(_ content: [UInt8], _ context: Envelope.Context, _ key: SealingKey, _ route: Route) throws -> [UInt8] {
        do throws(BackendError) { return try Envelope.seal(content, with: key, for: context, randomBytes) } catch {
            throw StorageError.from(error, key: route.keyName)
        }
    }

    // MARK: Opening

    /// Opens the content of a value.
    func open(_ sealed: [UInt8], beside metadata: StorageMetadata, _ route: Route) async throws -> [UInt8] {
        let context = Self.context(.value, application, route.place, beside: metadata)
        return try await open(sealed, metadata.sealing, context, route)
    }

    /// Opens the origin in a record's metadata; nil if there is none.
    func origin(in metadata: StorageMetadata, _ route: Route) async throws -> [UInt8]? {
        guard let sealed = metadata.origin, Envelope.keyID(of: sealed) != nil else { return nil }
        return try await open(sealed, metadata.sealing, originContext(metadata, route), route)
    }

    private func open(_ sealed: [UInt8], _ named: String?, _ context: Envelope.Context, _ route: Route) async throws -> [UInt8] {
        let source = try keySource(route)
        return try await translatingErrors(key: route.keyName) { () throws(BackendError) in
            // The id of the key is stored twice. If the two ids differ, the data is damaged, and no other key can help.
            if let id = Envelope.keyID(of: sealed), let named, named != SealingKey.name(of: id) { throw Self.contradiction }
            let key = try await keys.key(for: Envelope.keyID(of: sealed).map { [$0] } ?? [], from: source)
            return try Envelope.open(sealed, with: key, for: context)
        }
    }

    private static let contradiction = BackendError(
        .corrupted, "The sealed value names one key, and its metadata another. Nothing was changed.")

    private func keySource(_ route: Route) throws -> any KeySource {
        guard let reference = route.security.keySource else {
            throw StorageError(StorageError.unsupported, key: route.keyName, "The key has no source of sealing keys.")
        }
        return try sources(reference)
    }
}

extension RecordSeals: SealVerifier {
    func judgement(of probe: StorageProbe, at route: Route) async throws(BackendError) -> SealJudgement {
        switch probe {
        case .value(let record):
            // Without a seal nothing is proven: the value does not belong to this key, and its metadata must not decide
            // anything.
            // Reason: "Metadata counts only after the seal was opened" in Docs/Decisions/Sealing.md.
            guard let named = record.metadata.sealing else { return .proven(.value(record.withoutFacts)) }
            guard case .bytes(let sealed) = record.payload, let id = Envelope.keyID(of: sealed), named == SealingKey.name(of: id) else {
                return .proven(record.corruption("it is not a sealed value, or names two keys"))
            }
            switch try await provingKey(id, route) {
            case .failure(let error): return .unproven(record.unproven(error), error)
            case .success(let key):
                let context = Self.context(.value, application, route.place, beside: record.metadata)
                return .proven(proves(sealed, key, context) ? probe : record.corruption("its seal does not match its content or metadata"))
            }
        case .tombstone(let tombstone):
            let metadata = tombstone.metadata
            guard metadata.serializer == nil, let named = metadata.sealing, let sealed = metadata.origin,
                let id = Envelope.keyID(of: sealed),
                named == SealingKey.name(of: id)
            else { return .proven(tombstone.corruption) }
            switch try await provingKey(id, route) {
            case .failure(let error): return .unproven(error.probe, error)
            case .success(let key): return .proven(proves(sealed, key, originContext(metadata, route)) ? probe : tombstone.corruption)
            }
        case .absent, .locked, .unavailable, .corrupt: return .proven(probe)
        }
    }

    private func proves(_ sealed: [UInt8], _ key: SealingKey, _ context: Envelope.Context) -> Bool {
        guard var content = try? Envelope.open(sealed, with: key, for: context) else { return false }
        wipe(&content)
        return true
    }

    /// Returns the key that can verify a seal, or the reason why it is not available.
    private func provingKey(_ id: [UInt8], _ route: Route) async throws(BackendError) -> Result<SealingKey, BackendError> {
        do {
            let key = try await keys.key(for: [id], from: try keySource(route))
            if key.id == id { return .success(key) }
            return .failure(
                BackendError(
                    .encryptionKeyMismatch,
                    "It was sealed with the key \(hexadecimalText(of: id)), not with \(hexadecimalText(of: key.id)). Restore that key; nothing was changed."
                ))
        } catch let error as BackendError {
            if error.code == .cancelled { throw error }
            return .failure(error)
        } catch {
            return .failure(BackendError(.unavailable, "There is no source for the key: \(error)"))
        }
    }

    // MARK: The ids of keys

    /// Returns the ids of the keys with which values and tombstones in a store are sealed.
    private static func sealedIDs(
        in backend: any StorageBackend, _ namespaces: Set<StorageNamespace>
    ) async throws(BackendError) -> Set<[UInt8]> {
        var ids: Set<[UInt8]> = []
        for namespace in namespaces {
            ids.formUnion(sealedIDs(in: try await backend.read(try await backend.addresses(in: namespace), .validated)))
        }
        return ids
    }

    /// Returns the ids of the keys with which the contents of slots are sealed.
    /// - Parameter probes: The results of reading the slots.
    static func sealedIDs(in probes: [StorageProbe]) -> Set<[UInt8]> {
        var ids: Set<[UInt8]> = []
        for probe in probes {
            switch probe {
            case .value(let record) where record.metadata.sealing != nil:
                if case .bytes(let bytes) = record.payload { ids.insert(Envelope.keyID(of: bytes).map(Array.init) ?? []) }
            case .tombstone(let tombstone):
                if let id = tombstone.metadata.origin.flatMap(Envelope.keyID(of:)) { ids.insert(Array(id)) }
            default: continue
            }
        }
        return ids
    }
}

extension StorageRecord {
    /// The record without its expiry, schema version and type, which nothing proves. They would decide whether the
    /// record is read and replaced.
    fileprivate var withoutFacts: StorageRecord {
        var record = self
        (record.metadata.expiresAt, record.metadata.schemaVersion, record.metadata.typeTag) = (nil, nil, nil)
        return record
    }

    /// Returns the result of reading a record whose seal no key can verify. Its expiry is not verified either, so it
    /// does not count.
    /// Reason: "Without its key, a seal proves nothing" in Docs/Decisions/Sealing.md.
    fileprivate func unproven(_ error: BackendError) -> StorageProbe {
        guard metadata.expiresAt != nil else { return .value(self) }
        guard error.code == .encryptionKeyMismatch else { return error.probe }
        var record = self
        record.metadata.expiresAt = nil
        return .value(record)
    }

    fileprivate func corruption(_ reason: String) -> StorageProbe {
        .corrupt(StorageCorruption(bytes: RecordCodec.encode(self), revision: revision, reason: reason))
    }
}

extension BackendError {
    /// The result of reading a slot whose seal could not be verified because of this error.
    fileprivate var probe: StorageProbe { code == .locked ? .locked : .unavailable(self) }
}

extension StorageTombstone {
    fileprivate var corruption: StorageProbe {
        .corrupt(
            StorageCorruption(bytes: RecordCodec.encode(self), revision: revision, reason: "a removal that this program's key did not seal")
        )
    }
}
