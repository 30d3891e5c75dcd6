import BackendContract

/// What was done with a collection's records.
struct RecordWork: Sendable {
    /// Moved from a legacy location.
    var moved = 0
    /// Given a new shape in their place.
    var converted = 0
    /// Purged, since their lifetime was over.
    var expired = 0
    /// Kept although their lifetime is over: they were not found expired a day ago.
    var waiting = 0
    /// Older copies that were deleted, or conflicts that were resolved.
    var reconciled = 0
    /// Records whose older place was brought up to date.
    var mirrored = 0
    /// Visits that could not bring an older place up to date.
    var pending: [Visit] = []
    var bytes = 0
    var residue: [String] = []
    /// What failed.
    var failures: [Failure] = []

    /// A record that failed.
    struct Failure: Sendable {
        let id: String
        let error: StorageError
        /// The record, if it is its own content that cannot be read: the others are not affected.
        let damaged: DamagedRecord?
    }

    static func += (left: inout RecordWork, right: RecordWork) {
        left.moved += right.moved
        left.converted += right.converted
        left.expired += right.expired
        left.waiting += right.waiting
        left.reconciled += right.reconciled
        left.mirrored += right.mirrored
        left.pending += right.pending
        left.bytes += right.bytes
        left.residue += right.residue
        left.failures += right.failures
    }

    /// Adds what a visit of a single record did.
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
    /// - Parameter damaged: The record as it was seen, where its own content may be the reason.
    /// - Throws: An error that is none of the library's, such as a cancellation.
    mutating func fail(_ id: String, _ error: any Error, _ damaged: DamagedRecord? = nil) throws {
        guard let error = error as? StorageError else { throw error }
        failures.append(Failure(id: id, error: error, damaged: error.concernsOneRecord ? damaged : nil))
    }

    /// Notes the damaged slots of a page.
    mutating func failDamaged(_ page: RecordPage) {
        for slot in page.damaged {
            failures.append(Failure(id: page.collection, error: page.reason(slot), damaged: page.record(slot)))
        }
    }

    /// Fails with the first record that did.
    func throwFirst() throws {
        guard let first = failures.first else { return }
        throw StorageError(
            first.error.code, key: first.id,
            "\(failures.count == 1 ? "A record" : "\(failures.count) records") could not be read or migrated, \(first.id) first: \(first.error.message)",
            outcome: first.error.outcome, underlying: first.error.underlying)
    }

    /// Fails with the first record that failed for another reason than its own content: what stands there is not known.
    func requireKnown() throws { if let first = failures.first(where: { $0.damaged == nil }) { throw first.error } }
}

extension StorageError {
    /// Whether the error is about the content of one record: it does not keep others from being read.
    var concernsOneRecord: Bool { meansUndecodable || code == StorageError.incompatibleSchema || code == StorageError.migrationFailed }
}

extension DamagedRecord {
    /// A record as it was found on a page; nil where the slot cannot be told apart from the rest of its store.
    init?(_ domain: StorageDomain, _ entry: StoragePage.Entry) {
        guard let revision = entry.record?.revision ?? entry.corruption?.revision else { return nil }
        self.init(domain, .named(entry.address, revision))
    }
}
