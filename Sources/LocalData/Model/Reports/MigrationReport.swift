public import BackendContract
internal import Foundation

/// The result of a sweep, which migrates the values of all keys of a catalog. It has a row for each key.
///
/// A sweep throws no errors: a key that fails has a row with the error. Call ``requireComplete()`` to get an error
/// instead.
///
/// ```swift
/// let report = await storage.sweep()
/// for row in report.moved { print("\(row.key): \(row.from) -> \(row.to), \(row.bytes) bytes") }
/// for row in report.failed { print("\(row.key) failed (\(row.errorCode?.name ?? "")): \(row.message ?? "")") }
/// ```
public struct MigrationReport: Sendable, Codable {
    /// The state of one key after a sweep.
    ///
    /// ```swift
    /// for row in report.rows {
    ///     switch row.state {
    ///     case .failed: print("\(row.key) stays in its legacy location: \(row.message ?? "")")
    ///     case .blocked: print("\(row.key) waits for its store")
    ///     case .leftOver: print("\(row.key) is retired, and its slot still has a value")
    ///     default: break
    ///     }
    /// }
    /// ```
    public enum State: String, Sendable, Codable, CaseIterable {
        /// The value was moved to its destination.
        case moved
        /// The value of another key was copied. The other key keeps its value.
        case copied
        /// The value at the destination was converted to another type, serializer or seal.
        case converted
        /// The value was already migrated. A copy in a legacy location, where earlier versions of the program stored
        /// it, was purged.
        case purged
        /// A legacy location had a different value, and the key's conflict policy was applied.
        case resolved
        /// The value is at its destination, and its legacy location is up to date for programs of an earlier release.
        case mirrored
        /// The legacy location could not be updated for programs of an earlier release. In an audit it also means that
        /// the next sweep moves or converts the value.
        case pending
        /// Only in an audit: a legacy location has a different value, and the next sweep applies the key's conflict
        /// policy.
        case conflict
        /// The state is unknown. In a plan or an audit, a custom migration (code of the program) would run, and its
        /// effects cannot be predicted. In a sweep, the slot of a retired key (a key that is no longer used) could not
        /// be read.
        case cannotTell
        /// The value was already migrated and current.
        case unchanged
        /// No location has a value.
        case absent
        /// The value was removed.
        case removed
        /// The value has expired. It was purged, or it is kept until a day after a sweep first found it expired. In the
        /// second case the row has a message.
        case expired
        /// The key is retired, and its slot still contains a value. Nothing was changed.
        case leftOver
        /// The value could not be migrated or checked now. For example, a store is locked or unavailable, or the sweep
        /// was cancelled. A later sweep retries.
        case blocked
        /// The migration failed. The value is still in its previous location.
        case failed
    }

    /// The result for one key or collection.
    ///
    /// ```swift
    /// for row in report.rows where row.protectionBefore.map({ $0 > row.protection }) == true {
    ///     print("\(row.key) had better protection in \(row.from)")
    /// }
    /// ```
    public struct Row: Sendable, Codable, Hashable {
        /// The key's name.
        public var key: String
        /// The part of the program that is responsible for the value.
        public var owner: String
        /// The locations from which the value was moved; empty if nothing was moved.
        public var from: [StoragePlace] = []
        /// The domain of the destination.
        public var to: StorageDomain
        /// The protection of the value in its previous location.
        public var protectionBefore: ProtectionLevel?
        /// The protection of the value at its destination.
        public var protection: ProtectionLevel
        /// The stored size of the value in bytes; 0 if nothing was moved.
        public var bytes: Int
        /// The state of the key.
        public var state: State
        /// The durable changes, in their order. If the run failed, these are the changes before the failure.
        public var steps: [Step] = []
        /// The result of a conflict; nil if there was none.
        public var conflict: Conflict?
        /// Older copies that could not be removed yet.
        public var residue: [String]
        /// The copy in a legacy location that a release window keeps up to date; nil if there is none.
        public var keeps: KeptCopy?
        /// The number of records of a collection that were moved, converted, resolved or purged; nil for a single key.
        /// For a retired collection, it is the number of remaining records.
        public var records: Int?
        /// A message for people that states an error or what remains to be done; nil if there is none.
        public var message: String?
        /// The code of the error for programs; nil if there is none.
        public var errorCode: StorageError.Code?
        /// The duration of the run.
        public var duration: Duration
    }

    /// The rows, in the order of the catalogs.
    public var rows: [Row]
    /// The problems of a catalog that was registered nevertheless.
    public var problems: [CatalogProblem] = []
    /// The duration of the sweep.
    public var duration: Duration

    /// Creates a report.
    public init(rows: [Row] = [], duration: Duration = .zero) {
        self.rows = rows
        self.duration = duration
    }

    /// The rows whose value was moved or copied to its destination, or converted. A conflict that was resolved is none of them: either value
    /// may be in the quarantine now.
    public var moved: [Row] { rows { $0 == .moved || $0 == .copied || $0 == .converted } }
    /// The rows whose values could not be migrated or checked now, for example because a store is locked or
    /// unavailable.
    public var blocked: [Row] { rows { $0 == .blocked } }
    /// The rows whose legacy location could not be updated for programs of an earlier release.
    public var pending: [Row] { rows { $0 == .pending } }
    /// The rows that failed.
    public var failed: [Row] { rows { $0 == .failed } }
    /// Whether the sweep is complete: no row is blocked, pending or failed, and no older copy remains.
    public var isComplete: Bool {
        blocked.isEmpty && pending.isEmpty && failed.isEmpty && rows.indices.allSatisfy { rows[$0].residue.isEmpty }
    }

    private func rows(_ isWanted: (State) -> Bool) -> [Row] {
        // Copying a row takes as long as 50 comparisons of a state.
        rows.indices.filter { isWanted(rows[$0].state) }.map { rows[$0] }
    }

    /// Throws unless the sweep is complete for every key and no older copy remains.
    ///
    /// ```swift
    /// let report = try await storage.registerCatalog(AppKeys(), migrateImmediately: true)
    /// do { try report.requireComplete() } catch StorageError.locked {
    ///     print("\(report.blocked.count) values wait for the keyring.")
    /// } catch StorageError.residueRemains {
    ///     print("All values were moved. Older copies remain, and the next sweep tries again.")
    /// }
    /// ```
    /// - Throws: ``StorageError``. If keys failed, for any reason, the code is `migrationFailed`, and the message names
    ///   the first of them. The cause, such as `encryptionKeyMissing`, is in ``MigrationReport/Row/errorCode``.
    ///   Otherwise, if rows are blocked or pending, it is the code of the first one, such as `locked` or `unavailable`.
    ///   If only older copies remain, it is `residueRemains`.
    public func requireComplete() throws {
        func names(_ rows: [Row]) -> String {
            rows.prefix(5).map(\.key).joined(separator: ", ") + (rows.count > 5 ? " and \(rows.count - 5) more" : "")
        }
        if let first = failed.first {
            throw StorageError(
                StorageError.migrationFailed, key: first.key,
                "\(failed.count) of \(rows.count) keys failed: \(names(failed)). \(first.message ?? "")")
        }
        let waiting = blocked + pending
        if let first = waiting.first {
            throw StorageError(
                first.errorCode ?? StorageError.unavailable, key: first.key,
                "\(waiting.count) of \(rows.count) keys could not be migrated yet: \(names(waiting)). Sweep again once their stores can be used. \(first.message ?? "")"
            )
        }
        let residues = rows.filter { !$0.residue.isEmpty }
        if let first = residues.first {
            throw StorageError(
                StorageError.residueRemains, key: first.key,
                "Older copies of \(names(residues)) remain: \(first.residue.joined(separator: ", ")). Sweep again.", outcome: .applied)
        }
    }
}

/// The progress of a sweep, for a progress bar or a log. It is reported after each record of a collection, and after
/// each key.
///
/// ```swift
/// await storage.sweep { progress in
///     let records = progress.records.map { ", record \($0.finished) of \($0.total ?? 0)" } ?? ""
///     print("\(progress.finished) of \(progress.total) keys, \(progress.key)\(records)")
/// }
/// ```
public struct MigrationProgress: Sendable {
    /// The progress of the sweep of one collection.
    public struct Records: Sendable, Hashable {
        /// The number of records that are done. Each one was read, and was moved, converted or removed if necessary.
        public var finished: Int
        /// The number of all records, as counted when the collection's sweep began; nil if they could not be counted.
        public var total: Int?
        /// The average number of records per second since the collection's sweep began; nil if no time has passed.
        public var perSecond: Double?
    }

    /// The number of keys that are done.
    public var finished: Int
    /// The number of all keys.
    public var total: Int
    /// The number of keys whose value was moved or converted.
    public var moved: Int
    /// The key that was just done, or the collection that is being swept.
    public var key: String
    /// The progress of the collection that is being swept; nil after a key or collection is done.
    public var records: Records?
}
