#if PostgreSQL
    import BackendContract
    import Crypto
    import Sealing

    /// The primary key of a row within a database.
    struct RowPlace: Hashable, Sendable, Comparable {
        let namespace: [UInt8]
        let slot: [UInt8]

        static func < (left: Self, right: Self) -> Bool {
            left.namespace == right.namespace
                ? left.slot.lexicographicallyPrecedes(right.slot) : left.namespace.lexicographicallyPrecedes(right.namespace)
        }
    }

    /// The columns of a row besides its primary key.
    struct StoredRow: Sendable {
        /// The revision: 16 random bytes.
        let revision: [UInt8]
        /// The id of the data key; nil in a plain database.
        let key: [UInt8]?
        let record: [UInt8]
        var labels: [[UInt8]] = []
        /// The time at which the value expires, in seconds since 1970-01-01T00:00:00Z.
        var expires: Double?
    }

    /// The form of the rows of a database: sealed, or plain.
    enum RowForm: Sendable {
        /// The server sees neither names nor values.
        case sealed(ServerRowCodec)
        /// The server sees everything. Records are in the record format 1.
        case plain

        // MARK: Names

        /// Returns the primary key of a slot.
        func place(_ address: StorageAddress) -> RowPlace {
            switch self {
            case .sealed(let codec): RowPlace(namespace: codec.namespace(address.namespace), slot: codec.slot(of: address))
            case .plain: RowPlace(namespace: Array(address.namespace.name.utf8), slot: Array(address.name.utf8))
            }
        }

        /// Returns the column `namespace` of a namespace.
        func namespace(_ namespace: StorageNamespace) -> [UInt8] {
            switch self {
            case .sealed(let codec): codec.namespace(namespace)
            case .plain: Array(namespace.name.utf8)
            }
        }

        private func label(_ namespace: StorageNamespace, _ parts: String...) -> [UInt8] {
            switch self {
            case .sealed(let codec): return codec.label(namespace, parts)
            case .plain:
                var fields = Fields("LocalData server 1 plain label")
                fields.add(namespace.name)
                for part in parts { fields.add(part) }
                return Array(SHA256.hash(data: fields.bytes).prefix(DataKey.slotLength))
            }
        }

        /// Returns the label of records whose attributes are not in the index.
        func unindexed(_ namespace: StorageNamespace) -> [UInt8] { label(namespace, "unindexed") }

        /// Returns the labels of a record. The namespace of single values has none.
        private func labels(_ metadata: StorageMetadata, _ namespace: StorageNamespace) -> [[UInt8]] {
            guard namespace != .values else { return [] }
            var labels = metadata.typeTag.map { [label(namespace, "type", $0)] } ?? []
            if metadata.indexesAttributes {
                for (name, value) in metadata.attributes { labels.append(label(namespace, "attribute", name, value)) }
            } else {
                labels.append(unindexed(namespace))
            }
            return labels
        }

        /// Returns the labels that every record with indexed attributes has, if it fulfils the conditions of a query.
        func labels(_ query: StorageQuery) -> [[UInt8]] {
            guard query.namespace != .values else { return [] }
            return query.conditions.compactMap { condition in
                switch condition {
                case .typeTag(let tag): label(query.namespace, "type", tag)
                case .attribute(let name, let value): label(query.namespace, "attribute", name, value)
                case .modified: nil
                }
            }
        }

        // MARK: Rows

        /// Returns the row of a value or a tombstone.
        func row(_ content: RowContent, revision: [UInt8], _ randomBytes: (Int) -> [UInt8]) throws(BackendError) -> StoredRow {
            let labels = labels(content.metadata, content.address.namespace)
            // The type of the column ends in the year 294276.
            let expires = content.metadata.expiresAt.flatMap { abs($0) < 9e12 ? $0 : nil }
            switch self {
            case .sealed(let codec):
                let row = try codec.seal(content, revision, randomBytes)
                return StoredRow(revision: revision, key: row.key, record: row.sealed, labels: labels, expires: expires)
            case .plain:
                let (mark, metadata) = (StorageRevision(revision), content.metadata)
                let record: [UInt8] =
                    switch Self.probe(content, mark) {
                    case .value(let record): RecordCodec.encode(record)
                    default: RecordCodec.encode(StorageTombstone(metadata: metadata, revision: mark))
                    }
                return StoredRow(revision: revision, key: nil, record: record, labels: labels, expires: expires)
            }
        }

        /// Returns the content of a row, with its address if the address can be read.
        func content(_ place: RowPlace, _ row: StoredRow) -> (StorageAddress?, StorageProbe) {
            let revision = StorageRevision(row.revision)
            // Damage can leave the column of the revision unchanged. So the revision of the damaged state contains a digest.
            func damage(_ reason: String) -> StorageProbe {
                let digest = SHA256.hash(data: row.record).prefix(ServerRow.revisionLength)
                return .corrupt(StorageCorruption(bytes: row.record, revision: StorageRevision(row.revision + digest), reason: reason))
            }
            switch self {
            case .sealed(let codec):
                let sealed = ServerRow(
                    namespace: place.namespace, slot: place.slot, revision: row.revision, key: row.key ?? [], sealed: row.record)
                do throws(BackendError) {
                    let content = try codec.open(sealed)
                    return (content.address, Self.probe(content, revision))
                } catch { return (nil, damage(error.reason)) }
            case .plain:
                guard let name = String(validating: place.slot, as: UTF8.self),
                    let namespace = String(validating: place.namespace, as: UTF8.self)
                else { return (nil, damage("The row has a name that is not text.")) }
                let address = StorageAddress(name, in: StorageNamespace(namespace))
                switch RecordCodec.decode(row.record) {
                case .record(let record) where record.revision == revision: return (address, .value(record))
                case .tombstone(let tombstone) where tombstone.revision == revision: return (address, .tombstone(tombstone))
                case .record, .tombstone: return (address, damage("The record belongs to another revision."))
                case .foreign: return (address, damage("The row does not contain a record."))
                case .damaged(let how): return (address, damage("The record \(how)."))
                case .unknownFormat(let format): return (address, damage("The record has the unknown format \(format)."))
                }
            }
        }

        private static func probe(_ content: RowContent, _ revision: StorageRevision) -> StorageProbe {
            switch content.kind {
            case .value: .value(StorageRecord(payload: .bytes(content.payload), metadata: content.metadata, revision: revision))
            case .tombstone: .tombstone(StorageTombstone(metadata: content.metadata, revision: revision))
            }
        }
    }

    // MARK: Native values

    /// A row contains bytes. The library's internal stores, such as the ledger, keep native values: their canonical
    /// encoding, under a serializer name that no other row has.
    extension RowContent {
        fileprivate static let native = "LocalData native value"

        init(_ address: StorageAddress, native value: NativeValue, _ metadata: StorageMetadata) {
            var metadata = metadata
            metadata.serializer = Self.native
            self.init(address, .value, metadata, payload: value.canonicalBytes)
        }
    }

    extension StorageProbe {
        /// The result of a read with the native value in the place of its encoding.
        var withNativeValue: StorageProbe {
            guard case .value(var record) = self, record.metadata.serializer == RowContent.native, case .bytes(let bytes) = record.payload
            else { return self }
            var reader = ByteReader(bytes[...])
            guard let value = try? NativeValue.decode(from: &reader), reader.isAtEnd else {
                return .corrupt(StorageCorruption(bytes: bytes, revision: record.revision, reason: "The native value is damaged."))
            }
            record.payload = .native(value)
            record.metadata.serializer = nil
            return .value(record)
        }
    }
#endif
