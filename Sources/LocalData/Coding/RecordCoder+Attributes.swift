import BackendContract

/// Derives attributes from records.
extension RecordCoder {
    /// Returns the attributes that are derived from the encoded record of a collection; nil if the collection declares
    /// none, or if its store would show them.
    ///
    /// The encoded record is decoded first. A property that is not encoded, or that changes when it is encoded, thus
    /// has the value that a read returns.
    /// - Throws: ``StorageError``: `encodingFailed` if the bytes cannot be decoded; `unsupported` for a reserved name.
    func derivedTexts<Value>(of bytes: [UInt8], _ slot: Slot<Value>) throws -> DerivedTexts? {
        guard let declared = slot.derivedAttributes else { return nil }
        let key = slot.key
        if let reserved = declared.all.first(where: { StorageMetadata.isReserved($0.name) }) {
            throw StorageError(
                StorageError.unsupported, key: key.name,
                "\(key.entity) derives the attribute \(reserved.name), and LocalData uses this name. Give the attribute another name. Nothing was changed."
            )
        }
        do {
            let metadata = StorageMetadata(serializer: key.storedSerializer, typeTag: key.typeTag)
            return declared.texts(of: try decodeBytes(bytes, metadata, key).value)
        } catch {
            let failure = CodingFailure(error)
            throw StorageError(
                StorageError.encodingFailed, key: key.name,
                "The record cannot be decoded after it was encoded, so no attributes can be derived from it: \(failure). Change what is encoded there. Nothing was changed.",
                underlying: failure)
        }
    }

    /// Returns whether a record lacks the attributes that its collection derives now. An earlier release wrote it, or a
    /// program with other declarations.
    func lacksDerivedAttributes<Value>(_ metadata: StorageMetadata, _ slot: Slot<Value>) -> Bool {
        slot.derivedAttributes.map { !metadata.isDerived(by: $0, slot.key.schemaVersion) } ?? false
    }
}

extension Slot {
    /// The attributes that are derived from the record in this slot; nil if there are none, or if the store would show
    /// them.
    var derivedAttributes: DerivedAttributes? { route.showsAttributes ? nil : key.derivedAttributes }
}

extension Route {
    /// Whether the store shows the attributes of a value that is encrypted. Each value is then sealed separately, and
    /// its metadata is readable beside it.
    var showsAttributes: Bool { security.keySource != nil && !capabilities.sealsNames }
}

extension StorageMetadata {
    /// Returns whether the attributes of a record are those that the declarations derive from it.
    func isDerived(by declared: DerivedAttributes, _ version: Int) -> Bool {
        attributes[Self.derivedAttribute].map(declared.areListed) == true
            && attributes[Self.versionAttribute] == Self.versionText(version, isMarked: true) && schemaVersion == version
    }

    /// Returns whether LocalData sets the attribute of a name.
    static func isReserved(_ name: String) -> Bool { name.hasPrefix(reservedPrefix) || name == syncStatus }
}

extension EncodedValue {
    /// Sets the derived attributes in the metadata to write. They replace attributes of the same names that the program
    /// sets. Attributes that were derived from the previous record, and are not derived now, are removed.
    func setDerivedAttributes(of metadata: inout StorageMetadata) {
        if let mark = metadata.attributes.removeValue(forKey: StorageMetadata.derivedAttribute), mark != derived?.mark {
            for name in DerivedAttributes.names(in: mark) where facts.attributes[name] == nil { metadata.attributes[name] = nil }
        }
        guard let derived else { return }
        for (name, text) in derived.texts { metadata.attributes[name] = text }
        metadata.attributes[StorageMetadata.derivedAttribute] = derived.mark
        metadata.attributes[StorageMetadata.versionAttribute] = StorageMetadata.versionText(shape.version, isMarked: true)
    }
}
