import BackendContract
import Foundation

/// A value that was decoded from a record.
struct Decoded<Value: Sendable>: Sendable {
    let value: Value
    /// Whether the stored record has an older form than this value, and should be rewritten.
    var isOutdated = false
    /// The records that migration steps put into references, if the value is a document; otherwise nil. The document
    /// itself only contains the ids of these records.
    var references: ReferencedRecords?
}

/// Reads records that were stored with an earlier schema version, and adds missing properties.
extension RecordCoder {
    /// Creates the error for a record whose stored type is not the type of its collection.
    /// - Parameter error: Why the record does not decode as the type of its collection; nil if this was not tried.
    func otherType(_ metadata: StorageMetadata, _ key: some TypedKey, _ error: StorageError? = nil) -> StorageError {
        let types = "the type \(metadata.typeTag ?? "unknown"), and this collection holds \(key.typeTag)"
        let remedy = "Convert the records with migrateAll(from:to:), or declare the typeTag: of the records that it holds"
        return incompatible(key.name, "The record in \(key.entity) has \(types). \(remedy)", error?.underlying)
    }

    private func incompatible(_ name: String, _ message: String, _ error: (any Error)? = nil) -> StorageError {
        StorageError(StorageError.incompatibleSchema, key: name, "\(message). Nothing was changed.", underlying: error)
    }

    /// Fails for a record of another type than that of the collection.
    func requireType(of record: StorageRecord, _ slot: UntypedSlot) async throws {
        if slot.key.refuses(record.metadata) { throw otherType(record.metadata, slot.key) }
        func decode<Key: TypedKey>(_ key: Key) async throws { _ = try await read(record, Slot(key: key.typed, route: slot.route)) }
        if slot.key.doubts(record.metadata) { try await decode(slot.key) }
    }

    /// Returns the schema version of a record.
    /// - Throws: ``StorageError`` with `incompatibleSchema` if the record has another type than its collection. Also if
    ///   its version is later than the key's version, or if no steps lead from it to that version. Nothing is changed
    ///   then.
    func storedVersion<Value>(of record: StorageRecord, _ key: StorageKey<Value>) throws -> Int {
        if key.refuses(record.metadata) { throw otherType(record.metadata, key) }
        let current = key.schemaVersion
        guard let stored = record.metadata.schemaVersion else { return key.evolution?.base ?? current }
        if stored == current { return current }
        try requireNotLater(record.metadata, current, key.name, key.entity)
        guard key.evolution?.known.contains(stored) == true else {
            let text = "The stored value has version \(stored) of \(key.entity), from which no step leads to version \(current)"
            throw incompatible(key.name, "\(text). Declare one with evolving(_:)")
        }
        return stored
    }

    /// Throws if a record has a later version than the program.
    /// - Throws: ``StorageError`` with `incompatibleSchema`.
    func requireNotLater(_ metadata: StorageMetadata, _ version: Int, _ name: String, _ entity: String) throws {
        guard let stored = metadata.schemaVersion, stored > version else { return }
        let text = "The stored value has version \(stored) of \(entity), but this program supports only version \(version)"
        throw incompatible(name, "\(text). Update the program")
    }

    /// Returns whether a record must be rewritten, because its version is earlier than the last one of the key's chain
    /// of versions. A key without a chain needs no rewriting.
    func isOutdated<Value>(_ metadata: StorageMetadata, _ key: StorageKey<Value>) -> Bool {
        key.evolution.map { (metadata.schemaVersion ?? $0.base) < $0.version } ?? false
    }

    /// Returns the content of a record as the input of the first step of a chain of versions: as bytes or as a
    /// document.
    func form<Value>(of record: StorageRecord, _ key: StorageKey<Value>) throws -> EvolvingValue.Form {
        switch record.payload {
        case .bytes(let bytes) where record.metadata.serializer == "data": return .document(StoredDocument(.data(Data(bytes))))
        case .bytes(let bytes): return .bytes(Data(bytes), try format(record.metadata.serializer, key))
        case .native(.data(let bytes)) where record.isForeign:
            // Earlier programs may have stored the output of a JSON encoder as data.
            if let document = try? DocumentFormat.json.decode(StoredDocument.self, Data(bytes)) { return .document(document) }
            return .document(StoredDocument(.data(Data(bytes))))
        case .native(let native): return .document(StoredDocument(DocumentValue(native)))
        }
    }

    /// Returns the format of stored bytes that the steps of a chain can read: JSON or a property list.
    /// - Throws: ``StorageError`` with `incompatibleSchema` if another serializer wrote the bytes.
    func format<Value>(_ serializer: String?, _ key: StorageKey<Value>) throws -> DocumentFormat {
        if let format = DocumentFormat(rawValue: serializer ?? key.serializer.name) { return format }
        let text = "The stored value was written by the serializer \(serializer ?? key.serializer.name)"
        throw incompatible(key.name, "\(text), but steps between versions need JSON or property lists. Move it with moved(from:) instead")
    }

    /// Runs the steps of a key's chain of versions on stored content. A step may put a record into a reference. The
    /// document for the next step only contains the id of that reference, so a collector keeps the record.
    func evolved<Value>(_ form: EvolvingValue.Form, from stored: Int, _ key: StorageKey<Value>) throws -> Decoded<Value> {
        let references = ReferenceCollector(isOfChain: true)
        var decoded = try ReferenceCollector.$current.withValue(references) { try evolve(form, from: stored, key) }
        guard Value.self == StoredDocument.self else { return decoded }
        do { decoded.references = try ReferencedRecords(references) } catch {
            throw failed(key, "A record that a step put into a reference cannot be encoded", error)
        }
        return decoded
    }

    private func evolve<Value>(_ form: EvolvingValue.Form, from stored: Int, _ key: StorageKey<Value>) throws -> Decoded<Value> {
        guard let chain = key.evolution else { throw undecodable(key, "The record has another version; the key has no evolving(_:).") }
        var value = EvolvingValue(form)
        do { try chain.evolve(&value, from: stored, entity: key.entity, record: key.name) } catch {
            throw (error as? StorageError) ?? failed(key, "A step from version \(stored) to \(chain.version) failed", error)
        }
        do { return Decoded(value: try value.decoded(Value.self), isOutdated: true) } catch {
            if let document = try? value.document(), let value = try? completed(.document(document), key) {
                return Decoded(value: value.value, isOutdated: true)
            }
            throw failed(key, "The steps from version \(stored) do not end in the type \(Value.self)", error)
        }
    }

    // Reason: "A failed step is not damage" in Docs/Decisions/Evolution.md.
    private func failed<Value>(_ key: StorageKey<Value>, _ what: String, _ error: any Error) -> StorageError {
        let isCoding = error is DecodingError || error is EncodingError
        let detail = isCoding ? ": \(CodingFailure(error))" : (error as? DocumentError).map { ": \($0)" } ?? ""
        return StorageError(
            StorageError.migrationFailed, key: key.name, "\(what)\(detail). The record was not changed.",
            underlying: isCoding ? CodingFailure(error) : error)
    }

    // MARK: What a declared shape fills in

    /// Adds missing properties to a document, if its type declares its properties. A missing property gets the value
    /// under its original name, or else its default value. Returns nil if nothing was added.
    /// - Throws: `DecodingError` if the completed document cannot be decoded.
    func completed<Value>(_ form: EvolvingValue.Form, _ key: StorageKey<Value>) throws -> Decoded<Value>? {
        guard let attributes = DeclaredShapes.attributes(of: Value.self) else { return nil }
        var value = EvolvingValue(form)
        var (isChanged, isRenamed) = (false, false)
        try value.changeDocument { document in
            for attribute in attributes {
                guard var properties = document.root.object, properties[attribute.name] == nil else { continue }
                if let old = attribute.originalName.flatMap({ properties.removeValue(forKey: $0) }) {
                    properties[attribute.name] = old
                    isRenamed = true
                } else if let known = attribute.defaultValue {
                    properties[attribute.name] = known
                } else {
                    continue
                }
                document.root = .object(properties)
                isChanged = true
            }
        }
        return isChanged ? Decoded(value: try value.decoded(Value.self), isOutdated: isRenamed) : nil
    }
}
