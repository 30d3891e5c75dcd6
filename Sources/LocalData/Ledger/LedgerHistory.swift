import BackendContract
import BackendRuntime
import Foundation
import Synchronization

/// Notes the successes and failures of migrations since the last flush, appends these notes to the log of the history, and reads the
/// history from it.
final class LedgerHistory: Sendable {
    private struct State {
        /// The last migration of each value, by the text of its destination (``Place/text``).
        var moved: [String: HistoryPage.Moved] = [:]
        var work: [String: HistoryPage.Work] = [:]

        mutating func count(_ value: HistoryPage.Moved) { work[value.by, default: HistoryPage.Work()].add(successes: 1, values: 1) }

        /// Replaces the moved values by their counts. A log that is full does so, too.
        mutating func countMoved() {
            if work.count > HistoryPage.maximumOfTotals { work = work.filter { $0.value.failures > 0 } }
            for value in moved.values.sorted(by: { $0.to < $1.to }).suffix(HistoryPage.maximumOfTotals) { count(value) }
            moved = [:]
        }
    }

    /// The maximum number of moved values that are noted one by one. A sweep of more values fills no log with them.
    private static let mostMoved = 4_096

    private let noted: Mutex<State>
    private let runtime: Runtime
    private let version: String?
    /// Receives an event for each noted success or failure; nil in a rehearsal.
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

    /// Notes that a migration made a value, and from which sources. Records of a collection are only counted.
    func moved(to destination: Route, from sources: [Route], by migration: String) {
        guard destination.slot.placeholder == nil else { return worked(migration, values: 1) }
        let place = destination.place.text
        let moved = HistoryPage.Moved(to: place, from: sources.map(\.place.text), by: migration)
        noted.withLock { state in
            if let before = state.moved.updateValue(moved, forKey: place) { state.count(before) }
            if state.moved.count > Self.mostMoved { state.countMoved() }
        }
        tell(1)
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
        page.moved = state.moved.values.sorted { $0.to < $1.to }
        page.work = state.work
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
            for moved in page.moved {
                values[moved.to] = MigrationHistory.Value(
                    place: Self.words(moved.to), sources: moved.from.map(Self.words), migration: moved.by, date: moved.at ?? page.at,
                    applicationVersion: moved.version ?? page.version)
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
                guard let page = HistoryPage(line: line) else { return line }
                let kept = page.without(isForgotten)
                return kept.moved.count == page.moved.count ? line : (try? kept.line) ?? line
            }
            return kept == lines ? nil : kept
        }
    }
}
