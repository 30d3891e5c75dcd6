import BackendContract

/// The content of a settled destination.
enum Settled<Value: Sendable>: Sendable {
    case value(StorageRecord, Value)
    case removed(StorageTombstone)

    var metadata: StorageMetadata {
        switch self {
        case .value(let record, _): record.metadata
        case .removed(let tombstone): tombstone.metadata
        }
    }

    var revision: StorageRevision {
        switch self {
        case .value(let record, _): record.revision
        case .removed(let tombstone): tombstone.revision
        }
    }

    var isRemoved: Bool { if case .removed = self { true } else { false } }

    /// The record of the value; nil after a removal.
    var record: StorageRecord? { if case .value(let record, _) = self { record } else { nil } }
}

/// The result of one visit of a key.
struct Visit: Sendable {
    var state: MigrationReport.State
    var from: [StoragePlace] = []
    var protectionBefore: ProtectionLevel?
    var bytes = 0
    var residue: [String] = []
    var message: String?
    /// The code of the error because of which the key needs another visit.
    var errorCode: StorageError.Code?
}

extension Visit {
    /// Returns the combined result of an earlier visit of the same key and this one.
    func after(_ earlier: Visit?) -> Visit {
        guard let earlier else { return self }
        var visit = self
        switch state {
        case .unchanged, .mirrored, .purged, .absent: visit.state = earlier.state
        case .removed where earlier.state != .moved: visit.state = earlier.state
        default: break
        }
        visit.from = earlier.from.isEmpty ? from : earlier.from
        visit.protectionBefore = earlier.protectionBefore ?? protectionBefore
        visit.bytes = max(bytes, earlier.bytes)
        visit.message = message ?? earlier.message
        return visit
    }
}
