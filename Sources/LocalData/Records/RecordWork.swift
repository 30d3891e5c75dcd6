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
    var bytes = 0
    var residue: [String] = []
    /// What failed, by the record's id.
    var failures: [(id: String, error: StorageError)] = []

    static func += (left: inout RecordWork, right: RecordWork) {
        left.moved += right.moved
        left.converted += right.converted
        left.expired += right.expired
        left.waiting += right.waiting
        left.reconciled += right.reconciled
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
        case .collected, .resolved: reconciled += 1
        default: break
        }
        bytes += visit.bytes
        residue += visit.residue
    }

    /// Notes that a record failed.
    /// - Throws: An error that is none of the library's, such as a cancellation.
    mutating func fail(_ id: String, _ error: any Error) throws {
        guard let error = error as? StorageError else { throw error }
        failures.append((id, error))
    }

    /// Fails with the first record that did.
    func throwFirst() throws {
        guard let first = failures.first else { return }
        throw StorageError(
            first.error.code, key: first.id,
            "\(failures.count == 1 ? "A record" : "\(failures.count) records") could not be migrated, \(first.id) first: \(first.error.message)",
            outcome: first.error.outcome, underlying: first.error.underlying)
    }
}
