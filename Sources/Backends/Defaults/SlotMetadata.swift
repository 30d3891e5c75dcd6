import BackendContract
import Crypto

/// The metadata of one slot, the location of one value. It is an entry in the reserved dictionary `LocalData.metadata`,
/// in a form that a person can read. Record format 1 is defined at ``RecordCodec``.
///
/// ```
/// revision    text     32 hexadecimal digits
/// tombstone   true     only for a tombstone, which has no digest and no form
/// digest      text     the first 16 bytes of SHA-256 over the canonical bytes of the value in the file, in hexadecimal
/// form        text     how the value in the file represents the payload: see ``Form``; left out for "native"
/// exact       data     only for the form "exact": the payload as record format 1
/// serializer, typeTag, sealing: text · schemaVersion: integer · origin: data
/// createdAt, modifiedAt, expiresAt: real, seconds since 1970-01-01T00:00:00Z · attributes: dictionary of texts
/// indexesAttributes false  only if stores must not index the attributes
/// record      data     replaces the three lines above if XML cannot represent them exactly: their fields as record format 1
/// ```
struct SlotMetadata {
    /// How the value in the file represents the payload, the content that LocalData was given.
    enum Form: String {
        /// The value is the payload.
        case native
        /// The value is data with the bytes of the payload.
        case bytes
        /// The value is data with the payload in record format 1, because XML cannot represent the native value
        /// exactly.
        case record
        /// The value is an approximation that other programs can read. The metadata contains the exact payload.
        case exact
    }

    /// The state that the metadata describes: a value or a removal.
    enum Subject {
        case value(digest: String, form: Form, exact: [UInt8]?)
        case tombstone
    }

    var subject: Subject
    var revision: StorageRevision
    var metadata: StorageMetadata

    /// Returns the digest of a value, which is stored in its metadata. Once another program has changed the value,
    /// the stored digest no longer matches.
    static func digest(_ value: NativeValue) -> String {
        hexadecimalText(of: SHA256.hash(data: value.canonicalBytes).withUnsafeBytes { Array($0[..<16]) })
    }

    // MARK: Writing

    var encoded: NativeValue {
        var entries: [String: NativeValue] = ["revision": .string(hexadecimalText(of: revision.bytes))]
        switch subject {
        case .tombstone: entries["tombstone"] = .boolean(true)
        case .value(let digest, let form, let exact):
            entries["digest"] = .string(digest)
            if form != .native { entries["form"] = .string(form.rawValue) }
            entries["exact"] = exact.map(NativeValue.data)
        }
        let readable = readableMetadata
        if PropertyListXML.represents(.dictionary(readable), .anyone) {
            entries.merge(readable) { kept, _ in kept }
        } else {
            entries["record"] = .data(RecordCodec.encode(StorageTombstone(metadata: metadata, revision: revision)))
        }
        return .dictionary(entries)
    }

    private var readableMetadata: [String: NativeValue] {
        var entries: [String: NativeValue] = [:]
        entries["serializer"] = metadata.serializer.map(NativeValue.string)
        entries["typeTag"] = metadata.typeTag.map(NativeValue.string)
        entries["schemaVersion"] = metadata.schemaVersion.map { .integer(Int64($0)) }
        entries["origin"] = metadata.origin.map(NativeValue.data)
        entries["sealing"] = metadata.sealing.map(NativeValue.string)
        entries["createdAt"] = metadata.createdAt.map(NativeValue.real)
        entries["modifiedAt"] = metadata.modifiedAt.map(NativeValue.real)
        entries["expiresAt"] = metadata.expiresAt.map(NativeValue.real)
        if !metadata.attributes.isEmpty { entries["attributes"] = .dictionary(metadata.attributes.mapValues(NativeValue.string)) }
        if !metadata.indexesAttributes { entries["indexesAttributes"] = .boolean(false) }
        return entries
    }

    // MARK: Reading

    /// Reads an entry of the reserved dictionary; nil if it is not valid metadata.
    init?(_ encoded: NativeValue) {
        guard case .dictionary(let entries) = encoded, case .string(let digits)? = entries["revision"],
            let revision = bytes(ofHexadecimal: digits), !revision.isEmpty
        else { return nil }
        if entries["tombstone"] == .boolean(true) {
            subject = .tombstone
        } else {
            guard case .string(let digest)? = entries["digest"] else { return nil }
            var form = Form.native
            if let named = entries["form"] {
                guard case .string(let name) = named, let known = Form(rawValue: name) else { return nil }
                form = known
            }
            subject = .value(digest: digest, form: form, exact: Self.data(entries["exact"]))
        }
        self.revision = StorageRevision(revision)
        if let record = Self.data(entries["record"]) {
            guard case .tombstone(let tombstone) = RecordCodec.decode(record) else { return nil }
            metadata = tombstone.metadata
        } else {
            metadata = Self.metadata(entries)
        }
    }

    init(subject: Subject, revision: StorageRevision, metadata: StorageMetadata) {
        (self.subject, self.revision, self.metadata) = (subject, revision, metadata)
    }

    private static func metadata(_ entries: [String: NativeValue]) -> StorageMetadata {
        var metadata = StorageMetadata()
        for (name, value) in entries {
            switch (name, value) {
            case ("serializer", .string(let text)): metadata.serializer = text
            case ("typeTag", .string(let text)): metadata.typeTag = text
            case ("schemaVersion", .integer(let version)): metadata.schemaVersion = Int(version)
            case ("origin", .data(let bytes)): metadata.origin = bytes
            case ("sealing", .string(let text)): metadata.sealing = text
            case ("createdAt", .real(let seconds)): metadata.createdAt = seconds
            case ("modifiedAt", .real(let seconds)): metadata.modifiedAt = seconds
            case ("expiresAt", .real(let seconds)): metadata.expiresAt = seconds
            case ("attributes", .dictionary(let attributes)): metadata.attributes = attributes.compactMapValues(text)
            case ("indexesAttributes", .boolean(false)): metadata.indexesAttributes = false
            default: continue
            }
        }
        return metadata
    }

    private static func text(_ value: NativeValue?) -> String? {
        if case .string(let text)? = value { text } else { nil }
    }

    private static func data(_ value: NativeValue?) -> [UInt8]? {
        if case .data(let bytes)? = value { bytes } else { nil }
    }
}
