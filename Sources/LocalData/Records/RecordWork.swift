import BackendContract

/// The result of moving, converting and purging the records of a collection.
struct RecordWork: Sendable {
    /// Records that were moved from a legacy location.
    var moved = 0
    /// Records that were converted to a new shape in their slot.
    var converted = 0
    /// Records that were purged because they had expired.
    var expired = 0
    /// Expired records that were kept, because no sweep found them expired a day ago or earlier.
    var waiting = 0
    /// Records of which an older copy was deleted or a conflict was resolved.
    var reconciled = 0
    /// Records whose legacy location is up to date for an earlier release.
    var mirrored = 0
    /// Visits that could not update a legacy location.
    var pending: [Visit] = []
    var bytes = 0
    var residue: [String] = []
    /// The records that failed.
    var failures: [Failure] = []

    /// A record that failed.
    struct Failure: Sendable {
        let id: String
        let error: StorageError
        /// Identifies the record, if the reason is its content, so that other records are not affected. Otherwise nil.
        let damaged: DamagedRecord?
    }

    static func += (left: inout RecordWork, right: RecordWork) {
        for count in [\RecordWork.moved, \.converted, \.expired, \.waiting, \.reconciled, \.mirrored, \.bytes] {
            left[keyPath: count] += right[keyPath: count]
        }
        left.pending += right.pending
        left.residue += right.residue
        left.failures += right.failures
    }

    /// Adds the result of a visit of a single record.
    mutating func add(_ visit: Visit) {
        switch visit.state {
        case .moved, .copied: moved += 1
        case .converted: converted += 1
        case .expired: expired += 1
        case .purged, .resolved: reconciled += 1
        case .removed where !visit.from.isEmpty: reconciled += 1
        case .mirrored: mirrored += 1
        case .pending: pending.append(visit)
        default: break
        }
        bytes += visit.bytes
        residue += visit.residue
    }

    /// Notes that a record failed.
    /// - Parameter damaged: Identifies the record, if its content may be the reason.
    /// - Throws: The error, if it is not a ``StorageError``: for example, a cancellation.
    mutating func fail(_ id: String, _ error: any Error, _ damaged: DamagedRecord? = nil) throws {
        guard let error = error as? StorageError else { throw error }
        failures.append(Failure(id: id, error: error, damaged: error.concernsOneRecord ? damaged : nil))
    }

    /// Notes the damaged slots of a page as failures.
    mutating func failDamaged(_ page: RecordPage) {
        for slot in page.damaged {
            failures.append(Failure(id: page.collection, error: page.reason(slot), damaged: page.record(slot)))
        }
    }

    /// Throws an error that names the first record that failed, if there is one.
    func throwFirst() throws {
        guard let first = failures.first else { return }
        throw StorageError(
            first.error.code, key: first.id,
            "\(failures.count == 1 ? "A record" : "\(failures.count) records") could not be read or migrated, \(first.id) first: \(first.error.message)",
            outcome: first.error.outcome, underlying: first.error.underlying)
    }

    /// Throws the error of the first record that failed for a reason other than its content: the content of its slot is unknown.
    func requireKnown() throws { if let first = failures.first(where: { $0.damaged == nil }) { throw first.error } }
}

extension StorageError {
    /// Whether the error is about the content of one record, so that other records can still be read.
    var concernsOneRecord: Bool { meansUndecodable || code == StorageError.incompatibleSchema || code == StorageError.migrationFailed }
}

extension DamagedRecord {
    /// Creates a value for an entry of a page; nil if the slot has no revision, because the whole store is damaged.
    init?(_ domain: StorageDomain, _ entry: StoragePage.Entry) {
        guard let revision = entry.record?.revision ?? entry.corruption?.revision else { return nil }
        self.init(domain, .named(entry.address, revision))
    }
}
