import BackendContract
import BackendRuntime
import Foundation
import Sealing

/// Converts values to records and back. This includes serializing, sealing, and the metadata that describes both.
final class RecordCoder: Sendable {
    let seals: RecordSeals
    private let runtime: Runtime

    init(seals: RecordSeals, runtime: Runtime) { (self.seals, self.runtime) = (seals, runtime) }

    /// The wall clock, in seconds since 1970.
    var now: Double { runtime.clock.wallSeconds }

    func isExpired(_ record: StorageRecord) -> Bool { record.metadata.isExpired(at: now) }

    // MARK: Writing

    /// Encodes a value. The caller does this before the change enters the lane of its slot: the queue that orders the
    /// changes of one key.
    /// - Throws: ``StorageError`` with `encodingFailed`.
    func prepare<Value>(_ value: Value, _ slot: Slot<Value>, _ facts: WriteAttributes) throws -> EncodedValue {
        let references = ReferenceCollector()
        let bytes = try bytes(of: value, slot.key, references)
        return try prepared(value, bytes, slot, facts, ReferencedRecords(references))
    }

    /// Encodes a value in the form that every release of this library can read: `Data` as JSON.
    /// - Throws: ``StorageError`` with `encodingFailed`.
    func prepareForEarlierReleases<Value>(_ value: Value, _ slot: Slot<Value>) throws -> EncodedValue {
        var prepared = try prepare(value, slot, .new)
        guard prepared.shape.serializer != slot.key.serializer.name else { return prepared }
        prepared.bytes = try encoding(slot.key) { Array(try slot.key.serializer.encode(value)) }
        prepared.shape = RecordShape(slot.key, serializer: slot.key.serializer.name)
        return prepared
    }

    /// Encodes a record that another record refers to. The bytes were already encoded together with the other record.
    /// - Throws: ``StorageError`` with `encodingFailed`.
    func prepare<Record: ReferredRecord>(_ referred: Record, _ slot: Slot<Record.Target>) throws -> EncodedValue {
        try prepared(referred.target, referred.bytes, slot, .new, .none)
    }

    private func prepared<Value>(
        _ value: Value, _ bytes: [UInt8], _ slot: Slot<Value>, _ facts: WriteAttributes, _ references: ReferencedRecords
    ) throws -> EncodedValue {
        let route = slot.route
        var native: NativeValue?
        if route.security.keySource == nil, route.capabilities.storesNativeValues, slot.key.serializer.name == "json" {
            native = NativeCoding.native(value, json: bytes)
        }
        return EncodedValue(
            route: route, bytes: bytes, native: native, shape: RecordShape(slot.key), facts: facts, references: references,
            derived: try derivedTexts(of: bytes, slot))
    }

    /// Adds the data that depends on what the slot contains: the metadata to keep from the previous record, the origin
    /// (a list of the older copies that the record replaces), and the seal.
    func complete(_ prepared: EncodedValue, origin: RecordOrigin?) async throws -> CodedRecord {
        let route = prepared.route
        var metadata = prepared.facts.metadata(of: prepared.shape, now: now)
        prepared.setDerivedAttributes(of: &metadata)
        guard route.security.keySource != nil else {
            metadata.origin = try origin.map { try Self.bytes(of: $0, route) }
            return CodedRecord(payload: prepared.native.map { .native($0) } ?? .bytes(prepared.bytes), metadata: metadata)
        }
        return try await sealed(prepared.bytes, metadata, origin, route)
    }

    private func sealed(
        _ content: [UInt8], _ metadata: StorageMetadata, _ origin: RecordOrigin?, _ route: Route
    ) async throws -> CodedRecord {
        let key = try await seals.sealingKey(route)
        let metadata = try seals.metadata(metadata, origin: try origin.map { try Self.bytes(of: $0, route) }, key, route)
        return CodedRecord(payload: .bytes(try seals.seal(content, beside: metadata, key, route)), metadata: metadata)
    }

    /// Returns a record with the same value and another origin. A sealed value is sealed again, because its seal covers
    /// the metadata too.
    func restated(
        _ payload: StoragePayload, _ metadata: StorageMetadata, _ origin: RecordOrigin, _ route: Route
    ) async throws -> CodedRecord {
        var changed = metadata
        guard route.security.keySource != nil, metadata.sealing != nil, case .bytes(let sealed) = payload else {
            changed.origin = try Self.bytes(of: origin, route)
            return CodedRecord(payload: payload, metadata: changed)
        }
        var content = try await seals.open(sealed, beside: metadata, route)
        defer { wipe(&content) }
        return try await self.sealed(content, changed, origin, route)
    }

    /// Returns the metadata of a tombstone, the record of a removal.
    /// - Parameters:
    ///   - attributes: The attributes of the tombstone.
    ///   - date: The time of the removal; nil for now.
    func tombstone(
        _ origin: RecordOrigin, _ route: Route, attributes: [String: String] = [:], date: Double? = nil
    ) async throws -> StorageMetadata {
        var metadata = StorageMetadata(modifiedAt: date ?? now, attributes: attributes)
        metadata.origin = try Self.bytes(of: origin, route)
        guard let bytes = metadata.origin, route.security.keySource != nil else { return metadata }
        return try seals.metadata(metadata, origin: bytes, try await seals.sealingKey(route), route)
    }

    /// Returns a sealed tombstone's metadata with another origin, which is sealed again.
    func restated(_ removal: StorageMetadata, _ origin: RecordOrigin, _ route: Route) async throws -> StorageMetadata {
        try seals.metadata(removal, origin: try Self.bytes(of: origin, route), try await seals.sealingKey(route), route)
    }

    /// Returns the metadata of a new tombstone, or of an existing one with other attributes. An existing tombstone
    /// keeps its origin and date.
    func tombstone(over metadata: StorageMetadata?, attributes: [String: String], _ route: Route) async throws -> StorageMetadata {
        var origin = RecordOrigin()
        if let metadata, let past = try await self.origin(of: metadata, route) { origin = past }
        return try await tombstone(origin, route, attributes: attributes, date: metadata?.modifiedAt)
    }

    /// Returns the stored bytes of a value.
    func bytes<Value>(of value: Value, _ key: StorageKey<Value>, _ references: ReferenceCollector? = nil) throws -> [UInt8] {
        try encoding(key) { try key.storedBytes(of: value, references) }
    }

    private func encoding<Value>(_ key: StorageKey<Value>, _ encode: () throws -> [UInt8]) throws -> [UInt8] {
        do { return try encode() } catch {
            let failure = CodingFailure(error)
            throw StorageError(
                StorageError.encodingFailed, key: key.name,
                "The serializer \(key.serializer.name) cannot encode the value: \(failure). Change what is encoded there, or give the key a serializer that can hold it; .plist holds numbers that are not finite. Nothing was changed.",
                underlying: failure)
        }
    }

    // MARK: Reading

    /// Returns the value of a record.
    /// - Throws: ``StorageError``: `undecodable` if the bytes are not such a value, or the key's policy requires
    ///   another protection; `corrupted`, `encryptionKeyMissing` or `encryptionKeyMismatch` if a seal does not open;
    ///   the errors of fetching the key.
    func decode<Value>(_ record: StorageRecord, _ slot: Slot<Value>) async throws -> Value { try await read(record, slot).value }

    /// The largest content that is decoded on the caller's thread, in bytes.
    private static let maximumImmediate = 16 << 10

    /// Decodes a record on the caller's thread, if that is quick.
    /// - Throws: An error for a sealed or large record, for another schema version, and for a custom serializer.
    func immediateValue<Value>(_ record: StorageRecord, _ key: StorageKey<Value>) throws -> Value {
        guard record.metadata.sealing == nil, record.isForeign ? key.evolution == nil : record.metadata.schemaVersion == key.schemaVersion
        else { throw CocoaError(.coderReadCorrupt) }
        let isPlain = key.isPlainJSON && !record.isForeign && record.metadata.serializer == "json"
        if isPlain, case .bytes(let bytes) = record.payload, bytes.count <= Self.maximumImmediate {
            return try Coders.value(Value.self, inJSON: bytes)
        }
        return try otherImmediateValue(record, key)
    }

    /// Decodes a record that is not a JSON document. The function is separate, because code that names an optional value looks up the metadata
    /// of that type in each call.
    @inline(never) private func otherImmediateValue<Value>(_ record: StorageRecord, _ key: StorageKey<Value>) throws -> Value {
        switch record.payload {
        case .native(let native) where record.isForeign || key.serializer.name == "json":
            if let value = NativeCoding.direct(native, as: Value.self) { return value }
        case .bytes(let bytes) where !record.isForeign && bytes.count <= Self.maximumImmediate && !key.serializer.isOwn:
            let decoded = try decodeBytes(bytes, record.metadata, key)
            if !decoded.isOutdated { return decoded.value }
        default: break
        }
        throw CocoaError(.coderReadCorrupt)
    }

    /// Decodes a record and converts the value to the key's schema version. The result says whether the record itself
    /// is outdated.
    func read<Value>(_ record: StorageRecord, _ slot: Slot<Value>) async throws -> Decoded<Value> {
        let (key, route, source) = (slot.key, slot.route, slot.route.security.keySource)
        let isSealed = record.metadata.sealing != nil
        if source == nil, key.membership == nil, let value = try? immediateValue(record, key) { return Decoded(value: value) }
        let stored = try storedVersion(of: record, key)
        var plain = record
        if source != nil {
            guard isSealed, case .bytes(let sealed) = record.payload else {
                throw undecodable(
                    key, "It is not sealed, and the key says it is. If it was stored before, declare where it comes from with moved(from:)."
                )
            }
            plain.payload = .bytes(try await seals.open(sealed, beside: record.metadata, route))
        } else if isSealed {
            throw undecodable(key, "It is sealed, and the key says it is not. Give the key the policy it was written with.")
        }
        do {
            // Reason: "Reading runs the chain, and only `Settler` writes" in Docs/Decisions/Evolution.md.
            if stored < key.schemaVersion { return try evolved(try form(of: plain, key), from: stored, key) }
            return switch plain.payload {
            case .bytes(let bytes): try decodeBytes(bytes, plain.metadata, key)
            case .native(let native): try decodeNative(native, isForeign: plain.isForeign, key)
            }
        } catch let error as StorageError where StorageError.undecodable ~= error && key.doubts(record.metadata) {
            throw otherType(record.metadata, key, error)
        }
    }

    /// Returns whether a sealed record can be read without verifying its metadata first, because opening the value
    /// verifies it too. The record must not be expired, and must have the key's type and version. The key must have no
    /// release window.
    /// Reason: "A read opens the value in its slot only once" in Docs/Decisions/Sealing.md.
    func isProvenByReading<Value>(_ probe: StorageProbe, _ slot: Slot<Value>) -> Bool {
        guard case .value(let record) = probe, record.metadata.sealing != nil, slot.key.releaseWindow == nil else { return false }
        return record.metadata.schemaVersion == slot.key.schemaVersion && !slot.key.refuses(record.metadata)
            && !record.metadata.isExpired(at: now)
    }

    /// Returns the origin of a record; nil if the record has none, or if it cannot be decoded.
    func origin(of metadata: StorageMetadata, _ route: Route) async throws -> RecordOrigin? {
        let bytes = route.security.keySource == nil ? metadata.origin : try await seals.origin(in: metadata, route)
        return bytes.flatMap { try? JSONDecoder().decode(RecordOrigin.self, from: Data($0)) }
    }

    private func decodeNative<Value>(_ native: NativeValue, isForeign: Bool, _ key: StorageKey<Value>) throws -> Decoded<Value> {
        if let value = NativeCoding.direct(native, as: Value.self), isForeign || key.serializer.name == "json" {
            return Decoded(value: value)
        }
        guard !isForeign, let json = NativeCoding.json(of: native) else { return try decodeForeign(native, key) }
        return try decodeBytes(Array(json), StorageMetadata(serializer: "json"), key)
    }

    private func decodeForeign<Value>(_ native: NativeValue, _ key: StorageKey<Value>) throws -> Decoded<Value> {
        if case .data(let bytes) = native, key.serializer.name != "json", key.serializer.name != "plist" {
            return try decodeBytes(bytes, StorageMetadata(), key)
        }
        do { return Decoded(value: try NativeCoding.decodeForeign(native, as: Value.self)) } catch {
            // Earlier programs may have stored the output of an encoder, as data or as text.
            switch native {
            case .data(let bytes):
                if let value = try? NativeCoding.decodeForeign(propertyList: bytes, as: Value.self) { return Decoded(value: value) }
                return try decodeBytes(bytes, StorageMetadata(), key)
            case .string(let text) where key.serializer.name == "json":
                if let value = try? decodeBytes(Array(text.utf8), StorageMetadata(), key) { return value }
            default: break
            }
            if let value = try? completed(.document(StoredDocument(DocumentValue(native))), key) { return value }
            throw undecodable(key, "Another program wrote it. Give the key the type that it wrote, or \(Self.declaration).", error)
        }
    }

    func decodeBytes<Value>(_ bytes: [UInt8], _ metadata: StorageMetadata, _ key: StorageKey<Value>) throws -> Decoded<Value> {
        // Read a value with the serializer that wrote it, if that one and the key's serializer are built in.
        let serializer = key.reading(metadata.serializer, typeTag: metadata.typeTag)
        let (format, data) = (DocumentFormat(rawValue: serializer.name), Data(bytes))
        do {
            // A decoder may treat a renamed property as missing. Look for its original name first.
            if DeclaredShapes.renames(Value.self), let format, let value = try completed(.bytes(data, format), key) { return value }
            return Decoded(value: try serializer.decode(data))
        } catch {
            if let format, let value = try? completed(.bytes(data, format), key) { return value }
            throw undecodable(key, "If an earlier version of this program wrote it, \(Self.declaration).", error)
        }
    }

    /// Creates the error for a record that cannot be decoded.
    /// - Parameter remedy: Text for the error message: the likely cause, and what the user can do.
    func undecodable<Value>(_ key: StorageKey<Value>, _ remedy: String, _ error: (any Error)? = nil) -> StorageError {
        let failure = error.map(CodingFailure.init)
        return StorageError(
            StorageError.undecodable, key: key.name,
            "The stored value cannot be read as \(Value.self)\(failure.map { ": \($0)" } ?? ""). \(remedy) The bytes were not changed.",
            underlying: failure)
    }

    private static let declaration = "declare the older shape with evolving(_:), or with moved(from:) and a transformation"
}

extension RecordCoder {
    /// Fails when a write would replace a value of a later version than its own. One that has expired may be replaced.
    /// - Throws: ``StorageError`` with `incompatibleSchema`.
    func requireNotLater(_ probe: StorageProbe, _ prepared: EncodedValue) throws {
        guard !prepared.facts.replacesLaterVersions, let record = probe.record, !isExpired(record) else { return }
        try requireNotLater(record.metadata, prepared.shape.version, prepared.route.keyName, prepared.shape.entity)
    }

    private static func bytes(of origin: RecordOrigin, _ route: Route) throws -> [UInt8] {
        if let text = origin.shortText { return text }
        do { return Array(try Coders.jsonEncoder.encode(origin)) } catch {
            throw StorageError(StorageError.encodingFailed, key: route.keyName, "The value's origin could not be encoded.")
        }
    }
}
