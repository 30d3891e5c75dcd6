import BackendContract
import BackendRuntime
import Foundation
import Synchronization

/// Notes the successes and failures of migrations since the last flush, appends these notes to the log of the history, and reads the
/// history from it.
final class LedgerHistory: Sendable {
    private struct State {
        /// The values in the order in which they were moved.
        var moved: [HistoryPage.Moved] = []
        var work: [String: HistoryPage.Work] = [:]

        mutating func count(_ value: HistoryPage.Moved) { work[value.by, default: HistoryPage.Work()].add(successes: 1, values: 1) }

        /// Replaces the moved values by their counts. A log that is full does so, too.
        mutating func countMoved() {
            if work.count > HistoryPage.maximumOfTotals { work = work.filter { $0.value.failures > 0 } }
            for value in moved.suffix(HistoryPage.maximumOfTotals) { count(value) }
            moved = []
        }
    }

    /// The maximum number of moved values that are noted one by one. A sweep of more values fills no log with them.
    private static let mostMoved = 4_096

    private let noted: Mutex<State>
    private let runtime: Runtime
    private let version: String?
    /// Receives the events of the noted successes and failures; nil in a rehearsal.
    private let events: EventReport?
    /// The log of the history; nil in a rehearsal, which writes no history.
    let log: (any HistoryLog)?

    /// - Parameter version: The application's version.
    init(_ runtime: Runtime, version: String?, events: EventReport, log: any HistoryLog) {
        (self.runtime, self.version, self.events, self.log) = (runtime, version, events, log)
        noted = Mutex(State())
    }

    /// Creates a copy of the notes for a rehearsal. It sends no events.
    init(copying other: LedgerHistory) {
        (runtime, version, events, log) = (other.runtime, other.version, nil, nil)
        noted = Mutex(other.noted.withLock(\.self))
    }

    /// The number of characters of an error that the history keeps.
    private static let longestError = 300

    private var now: Date { Date(timeIntervalSince1970: runtime.clock.wallSeconds) }

    // MARK: Noting

    /// Notes that a migration succeeded, and for how many values.
    func worked(_ migration: String, values: Int) {
        noted.withLock { $0.work[migration, default: HistoryPage.Work()].add(successes: 1, values: values) }
        tell(values)
    }

    /// A value that a migration made, with the locations from which it was made.
    typealias Move = (destination: Route, sources: [Route], migration: String)

    /// Notes that migrations made values. Records of a collection are only counted.
    func moved(_ moves: [Move]) {
        let values = moves.map { move in
            HistoryPage.Moved(to: move.destination.place.text, from: move.sources.map(\.place.text), by: move.migration)
        }
        noted.withLock { state in
            for (value, move) in zip(values, moves) {
                if move.destination.slot.placeholder == nil { state.moved.append(value) } else { state.count(value) }
                if state.moved.count > Self.mostMoved { state.countMoved() }
            }
        }
        tell(moves.count)
    }

    private func tell(_ values: Int) { events?.send(.migrated(values: values), "Values were migrated.", ["values": "\(values)"]) }

    /// Notes that a migration failed.
    func failed(_ migration: String, _ error: any Error) {
        guard let error = error as? StorageError, error.code != StorageError.cannotTell else { return }
        noted.withLock { state in
            state.work[migration, default: HistoryPage.Work()].failures += 1
            state.work[migration]?.error = String("\(error.code): \(error.message)".prefix(Self.longestError))
        }
        events?.send(.migrationFailed(error.code), "A migration failed.", ["code": "\(error.code.name)"])
    }

    // MARK: The log

    /// Appends the notes to the log, as one page. Notes that cannot be written are dropped, because no value depends on them.
    func flush() async throws(BackendError) {
        let state = noted.withLock { state in
            defer { state = State() }
            return state
        }
        if state.moved.isEmpty, state.work.isEmpty { return }
        var page = HistoryPage(at: now, version: version)
        if !state.moved.isEmpty { page.moved = state.moved }
        if !state.work.isEmpty { page.work = state.work }
        try await append(page)
    }

    /// Appends a page to the log.
    func append(_ page: HistoryPage) async throws(BackendError) {
        let line: [UInt8]
        do { line = try page.line } catch { throw BackendError(.failed, "The history of migrations cannot be encoded: \(error)") }
        try await log?.append(line)
    }

    /// Reads the history from the log, without the versions.
    func read() async throws(BackendError) -> MigrationHistory {
        var values: [String: MigrationHistory.Value] = [:]
        var totals = HistoryPage.Totals()
        for (page, _) in HistoryPage.pages(try await log?.lines() ?? []) {
            totals.add(page)
            for moved in page.moved ?? [] {
                values[moved.to] = MigrationHistory.Value(
                    place: Self.words(moved.to), sources: moved.from.map(Self.words), migration: moved.by, date: page.at,
                    applicationVersion: page.version)
            }
        }
        return MigrationHistory(
            values: values.sorted { $0.key < $1.key }.map(\.value), migrations: totals.migrations.values.sorted { $0.id < $1.id })
    }

    private static func words(_ text: String) -> String { Place(text: text)?.description ?? text }

    /// Deletes what the log says about the values of some locations.
    func forget(_ isForgotten: @escaping @Sendable (Place) -> Bool) async throws(BackendError) {
        try await log?.rewrite { lines in
            let kept = lines.map { line in
                (try? HistoryPage(line: line)?.without { Place(text: $0).map(isForgotten) ?? false }?.line) ?? line
            }
            return kept == lines ? nil : kept
        }
    }
}

/// The storage of the history of migrations: lines of text, each a page of the history, in the order in which they were appended.
///
/// Appending a line reads and writes no other line, so its cost does not grow with the history. The size is bounded: when the log is
/// full, the earliest lines are replaced by their totals. No value depends on the history, so a line is not flushed to disk when it is
/// appended. A power loss may take back the latest lines.
protocol HistoryLog: Sendable {
    /// Appends a line.
    func append(_ line: [UInt8]) async throws(BackendError)
    /// Returns all lines.
    func lines() async throws(BackendError) -> [[UInt8]]
    /// Replaces all lines. Nothing changes if the closure returns nil.
    func rewrite(_ change: @escaping @Sendable ([[UInt8]]) -> [[UInt8]]?) async throws(BackendError)
}
