public import BackendContract
internal import Foundation

/// What a sweep found and did, a row for each key.
public struct MigrationReport: Sendable, Codable {
    /// What became of one key.
    public enum State: String, Sendable, Codable, CaseIterable {
        /// Its value is now in its place.
        case moved
        /// It begins with a copy of another key's value, which stays where it is.
        case copied
        /// Its value was given a new shape, serializer or seal, in its place.
        case converted
        /// It was in its place already; an older copy was removed.
        case purged
        /// A legacy location held something else, and the key's policy was applied.
        case resolved
        /// It is in its place, and its older place is up to date for programs of an earlier release.
        case mirrored
        /// Its older place could not be brought up to date for programs of an earlier release. In an audit also: the next sweep moves it, or gives it a new shape.
        case pending
        /// An audit only: a legacy location holds something else, and the next sweep applies the key's policy.
        case conflict
        /// A plan or an audit only: a migration of the program's own would run, and what it does cannot be told.
        case cannotTell
        /// It is in its place, and there was nothing to do.
        case unchanged
        /// There is no value anywhere.
        case absent
        /// It was removed.
        case removed
        /// Its lifetime is over. It was removed, or is kept until a day after a sweep first found it expired: then the row's message says so.
        case expired
        /// The key is retired, and its place still holds something. Nothing was done with it.
        case leftOver
        /// A store is locked or out of reach: try again later.
        case blocked
        /// It failed; the value is where it was.
        case failed
    }

    /// One key.
    public struct Row: Sendable, Codable, Hashable {
        /// The key's name.
        public var key: String
        /// The part of the program that answers for it.
        public var owner: String
        /// Where the value came from; empty when nothing was moved.
        public var from: [StoragePlace] = []
        /// Where it lives.
        public var to: StorageDomain
        /// How well it was protected where it came from.
        public var protectionBefore: ProtectionLevel?
        /// How well it is protected where it lives.
        public var protection: ProtectionLevel
        /// The size of the value in bytes, as it is stored; 0 when nothing was moved.
        public var bytes: Int
        /// What became of it.
        public var state: State
        /// What is done durably, in this order; of a visit that fails, what it did before.
        public var steps: [Step] = []
        /// What a conflict comes to, for both sides; nil where there is none.
        public var conflict: Conflict?
        /// Older copies that could not be removed yet.
        public var residue: [String]
        /// The older copy that a release window keeps up to date; nil where there is none.
        public var keeps: KeptCopy?
        /// How many records of a collection were moved, given a new shape, or removed; nil for a single key.
        public var records: Int?
        /// What went wrong or is left to do, for people; nil when nothing is.
        public var message: String?
        /// The code of the error, for programs; nil if there is none.
        public var errorCode: StorageError.Code?
        /// How long it took.
        public var duration: Duration
    }

    /// The rows, in the order of the catalogs.
    public var rows: [Row]
    /// What was found wrong with a catalog that was registered all the same.
    public var problems: [CatalogProblem] = []
    /// How long it took.
    public var duration: Duration

    /// Creates a report.
    public init(rows: [Row] = [], duration: Duration = .zero) {
        self.rows = rows
        self.duration = duration
    }

    /// The rows in which something was moved, converted, purged or resolved.
    public var moved: [Row] { rows.filter { [.moved, .copied, .converted, .purged, .resolved].contains($0.state) } }
    /// The rows that a locked or unreachable store kept from finishing.
    public var blocked: [Row] { rows.filter { $0.state == .blocked } }
    /// The rows whose older place could not be brought up to date for programs of an earlier release.
    public var pending: [Row] { rows.filter { $0.state == .pending } }
    /// The rows that failed.
    public var failed: [Row] { rows.filter { $0.state == .failed } }
    /// Whether nothing is blocked, pending, failed or left behind.
    public var isComplete: Bool {
        rows.allSatisfy { ![.blocked, .pending, .failed].contains($0.state) && $0.residue.isEmpty }
    }

    /// Fails unless every key is where it should be and no older copy remains.
    /// - Throws: ``StorageError`` with `migrationFailed` that names the first keys; if nothing failed but something is blocked, with `locked` or `unavailable`; or
    ///   with `residueRemains`.
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
                "\(waiting.count) of \(rows.count) keys wait for a store: \(names(waiting)). Sweep again once it can be used. \(first.message ?? "")"
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

/// How far a sweep is: reported after each record of a collection, and after each key.
public struct MigrationProgress: Sendable {
    /// How far the sweep of one collection is.
    public struct Records: Sendable, Hashable {
        /// The number of records that are done. Each is read; those that have to be are moved, converted or removed.
        public var finished: Int
        /// The number of records altogether, as far as it is known when the collection is begun.
        public var total: Int?
        /// How many were done in a second, on average since the collection was begun; nil before that can be told.
        public var perSecond: Double?
    }

    /// The number of keys that are done.
    public var finished: Int
    /// The number of keys altogether.
    public var total: Int
    /// The number of keys of which something was moved.
    public var moved: Int
    /// The key that was just done, or the collection that is being swept.
    public var key: String
    /// How far the collection is that is being swept; nil when a key or a collection was just done.
    public var records: Records?
}
