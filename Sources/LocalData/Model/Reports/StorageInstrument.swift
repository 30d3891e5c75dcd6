/// Observes the calls of a router and its background events, for metrics and traces.
///
/// Add it to ``StorageConfiguration/instruments``. The trait `Observability` has instruments for swift-metrics and
/// swift-distributed-tracing. Operations and events contain no value and no name of a key, record, suite, service or
/// database.
///
/// `observe` runs in the task of the call. In a module without the upcoming feature `NonisolatedNonsendingByDefault`,
/// write `nonisolated(nonsending)` as in this sample.
///
/// ```swift
/// struct CallLog: StorageInstrument {
///     nonisolated(nonsending) func observe<R>(
///         _ operation: StorageOperation, _ body: nonisolated(nonsending) () async throws -> R
///     ) async throws -> R {
///         defer { print(operation.name) }
///         return try await body()
///     }
///
///     func record(_ event: StorageEvent) { print(event.name) }
/// }
/// ```
public protocol StorageInstrument: Sendable {
    /// Runs a call of the program.
    ///
    /// ```swift
    /// nonisolated(nonsending) func observe<R>(
    ///     _ operation: StorageOperation, _ body: nonisolated(nonsending) () async throws -> R
    /// ) async throws -> R {
    ///     let start = ContinuousClock.now
    ///     defer { if start.duration(to: .now) > .seconds(1) { report(operation.name) } }
    ///     return try await body()
    /// }
    /// ```
    /// - Parameters:
    ///   - operation: The call.
    ///   - body: The work of the call. Call it exactly once, and return its result or throw its error.
    func observe<R>(_ operation: StorageOperation, _ body: () async throws -> R) async throws -> R

    /// Receives an event that is no call. Return quickly: the router waits.
    ///
    /// ```swift
    /// func record(_ event: StorageEvent) {
    ///     if case .changesLost(let count) = event { report("Another program overwrote \(count) changes.") }
    /// }
    /// ```
    func record(_ event: StorageEvent)
}

/// Describes a call of the program to a router, as an instrument sees it.
///
/// ```swift
/// let label = "\(operation.name) in \(operation.domain?.name ?? "several stores")"  // such as "get in keychain"
/// ```
public struct StorageOperation: Sendable, Hashable {
    /// The name of the router's function, such as `get` or `sweep`. Names stay the same in later releases.
    public let name: String
    /// The kind of the store; nil for a call that uses several stores.
    public let domain: StorageDomain.Kind?
}

/// Describes something that a router did or found outside of a call of the program, such as a completed sweep.
///
/// Instruments receive events, and ``StorageConfiguration/logger`` logs them. The name of an event stays the same in
/// later releases.
///
/// ```swift
/// switch event {
/// case .migrationFailed(let code): warn("A migration failed: \(code)")
/// case .sweepEnded(isComplete: false, _, _, let blocked, let failed): warn("\(blocked) keys are blocked, \(failed) failed.")
/// default: break
/// }
/// ```
public enum StorageEvent: Sendable, Hashable {
    /// Migrations moved or converted a number of values.
    case migrated(values: Int)
    /// A migration failed. The value is still in its previous location.
    case migrationFailed(StorageError.Code)
    /// A sweep of registered keys ended. It is complete if no key is blocked, pending or failed, and no older copy remains.
    case sweepEnded(isComplete: Bool, keys: Int, moved: Int, blocked: Int, failed: Int)
    /// A registered key has a problem that does not refuse its catalog.
    case catalogProblem
    /// A value was read at a legacy location, because its destination cannot be written now.
    case readUnmigrated(StorageError.Code)
    /// A legacy location could not be updated for programs of an earlier release. A sweep tries again.
    case mirrorPending(StorageError.Code)
    /// A damaged record was left out of an enumeration.
    case damagedRecordSkipped(StorageError.Code)
    /// Another program overwrote a property list with an older copy, and a number of changes were written again.
    case changesRepeated(Int)
    /// Another program overwrote a property list with an older copy, and a number of changes are lost.
    case changesLost(Int)

    /// The name of the event, in logs and metrics.
    public var name: String {
        switch self {
        case .migrated: "localdata.migrated"
        case .migrationFailed: "localdata.migration_failed"
        case .sweepEnded: "localdata.sweep_ended"
        case .catalogProblem: "localdata.catalog_problem"
        case .readUnmigrated: "localdata.read_unmigrated"
        case .mirrorPending: "localdata.mirror_pending"
        case .damagedRecordSkipped: "localdata.damaged_record_skipped"
        case .changesRepeated: "localdata.changes_repeated"
        case .changesLost: "localdata.changes_lost"
        }
    }
}
