import BackendContract
import BackendRuntime
import Foundation
import Synchronization

/// Counts the successes and failures of migrations since the last write of the ledger, adds these counts to the ledger, and reads the
/// history from it.
final class LedgerHistory: Sendable {
    private struct State {
        var migrations: [String: MigrationHistory.Migration] = [:]
        /// The last migration of each value, by the text of its destination (``Place/text``).
        var values: [String: MigrationHistory.Value] = [:]
    }

    private let noted: Mutex<State>
    private let runtime: Runtime
    private let version: String?
    /// Receives an event for each noted success or failure; nil in a rehearsal.
    private let events: EventReport?

    /// - Parameter version: The application's version.
    init(_ runtime: Runtime, version: String?, events: EventReport) {
        self.runtime = runtime
        self.version = version
        self.events = events
        noted = Mutex(State())
    }

    /// Creates a copy of the notes for a rehearsal. It sends no events.
    init(copying other: LedgerHistory) {
        runtime = other.runtime
        version = other.version
        events = nil
        noted = Mutex(other.noted.withLock(\.self))
    }

    private var now: Date { Date(timeIntervalSince1970: runtime.clock.wallSeconds) }

    // MARK: Noting

    /// Notes that a migration succeeded, and for how many values.
    func worked(_ migration: String, values: Int) {
        let now = now
        change(migration) { entry in
            entry.successes += 1
            entry.values += values
            entry.firstWorked = entry.firstWorked ?? now
            entry.lastWorked = now
        }
        events?.send(.migrated(values: values), "Values were migrated.", ["values": "\(values)"])
    }

    /// Notes that a migration failed.
    func failed(_ migration: String, _ error: any Error) {
        guard let error = error as? StorageError, error.code != StorageError.cannotTell else { return }
        let now = now
        change(migration) { entry in
            entry.failures += 1
            entry.lastFailed = now
            entry.lastError = "\(error.code): \(error.message)"
        }
        events?.send(.migrationFailed(error.code), "A migration failed.", ["code": "\(error.code.name)"])
    }

    private func change(_ id: String, _ body: (inout MigrationHistory.Migration) -> Void) {
        noted.withLock { state in
            var entry = state.migrations[id] ?? MigrationHistory.Migration(id: id, successes: 0, failures: 0, values: 0)
            body(&entry)
            entry.applicationVersion = version
            state.migrations[id] = entry
        }
    }

    /// Notes the sources from which the value of a single key came. The records of a collection are only counted.
    func brought(_ destination: Route, from sources: [Route], by migration: String) {
        guard destination.slot.placeholder == nil else { return }
        let value = MigrationHistory.Value(
            place: destination.place.description, sources: sources.map(\.place.description), migration: migration, date: now,
            applicationVersion: version)
        noted.withLock { $0.values[destination.place.text] = value }
    }

    // MARK: The ledger's store

    /// Adds the notes to the entries in the ledger. Notes that cannot be written are dropped, because no value depends on them.
    func flush(_ backend: any StorageBackend) async throws(BackendError) {
        let state = noted.withLock { state in
            defer { state = State() }
            return state
        }
        if state.migrations.isEmpty, state.values.isEmpty { return }
        let migrations = state.migrations.values.sorted { $0.id < $1.id }
        let addresses = migrations.map { StorageAddress(MigrationLedger.shortened("history:\($0.id)")) }
        for await _ in Attempts(runtime) {
            let probes = try await backend.read(addresses, .fresh)
            var changes: [StorageMutation] = []
            for ((entry, address), probe) in zip(zip(migrations, addresses), probes) {
                let sum = probe.record.flatMap { MigrationHistory.Migration($0.payload) }.map { entry.added(to: $0) } ?? entry
                changes.append(.put(sum.payload, at: address, if: probe.unchanged))
            }
            for (place, value) in state.values.sorted(by: { $0.key < $1.key }) {
                changes.append(.put(value.payload, at: StorageAddress(MigrationLedger.shortened("value:\(place)"))))
            }
            let results = try await backend.apply(changes)
            // After a conflict, the loop reads the entries again: another process has changed them since they were read.
            if !results.contains(where: { if case .conflict = $0 { true } else { false } }) { return }
        }
    }

    /// Reads the history from the ledger.
    static func read(_ backend: any StorageBackend) async throws(BackendError) -> MigrationHistory {
        var history = MigrationHistory()
        let addresses = try await backend.addresses(in: .values).sorted { $0.precedes($1) }
        for (address, probe) in zip(addresses, try await backend.read(addresses, .validated)) {
            guard let payload = probe.record?.payload else { continue }
            if address.name.hasPrefix("history:"), let entry = MigrationHistory.Migration(payload) { history.migrations.append(entry) }
            if address.name.hasPrefix("value:"), let value = MigrationHistory.Value(payload) { history.values.append(value) }
            if address.name.hasPrefix("version:"), case .native(.string(let version)) = payload {
                history.versions[String(address.name.dropFirst(8))] = version
            }
        }
        return history
    }
}

// MARK: As dictionaries of texts, numbers and dates

extension MigrationHistory.Migration {
    fileprivate var payload: StoragePayload {
        .dictionary([
            "id": .string(id), "successes": .integer(Int64(successes)), "failures": .integer(Int64(failures)),
            "values": .integer(Int64(values)),
            "firstWorked": firstWorked.map(\.native), "lastWorked": lastWorked.map(\.native), "lastFailed": lastFailed.map(\.native),
            "lastError": lastError.map { .string($0) }, "applicationVersion": applicationVersion.map { .string($0) },
        ])
    }

    fileprivate init?(_ payload: StoragePayload) {
        guard case .native(.dictionary(let entries)) = payload, let id = entries["id"]?.text else { return nil }
        self.init(
            id: id, successes: entries["successes"]?.number ?? 0, failures: entries["failures"]?.number ?? 0,
            values: entries["values"]?.number ?? 0, firstWorked: entries["firstWorked"]?.date, lastWorked: entries["lastWorked"]?.date,
            lastFailed: entries["lastFailed"]?.date, lastError: entries["lastError"]?.text,
            applicationVersion: entries["applicationVersion"]?.text)
    }

    /// Returns the sum of an earlier entry and this later one.
    fileprivate func added(to before: Self) -> Self {
        var sum = self
        sum.successes += before.successes
        sum.failures += before.failures
        sum.values += before.values
        sum.firstWorked = before.firstWorked ?? firstWorked
        sum.lastWorked = lastWorked ?? before.lastWorked
        sum.lastFailed = lastFailed ?? before.lastFailed
        sum.lastError = lastError ?? before.lastError
        sum.applicationVersion = applicationVersion ?? before.applicationVersion
        return sum
    }
}

extension MigrationHistory.Value {
    fileprivate var payload: StoragePayload {
        .dictionary([
            "place": .string(place), "sources": .array(sources.map { .string($0) }), "migration": .string(migration), "date": date.native,
            "applicationVersion": applicationVersion.map { .string($0) },
        ])
    }

    fileprivate init?(_ payload: StoragePayload) {
        guard case .native(.dictionary(let entries)) = payload, let place = entries["place"]?.text,
            let migration = entries["migration"]?.text, let date = entries["date"]?.date
        else { return nil }
        var sources: [String] = []
        if case .array(let texts)? = entries["sources"] { sources = texts.compactMap(\.text) }
        self.init(place: place, sources: sources, migration: migration, date: date, applicationVersion: entries["applicationVersion"]?.text)
    }
}

extension StoragePayload {
    fileprivate static func dictionary(_ entries: [String: NativeValue?]) -> StoragePayload {
        .native(.dictionary(entries.compactMapValues(\.self)))
    }
}

extension NativeValue {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
    fileprivate var number: Int? { if case .integer(let number) = self { Int(exactly: number) } else { nil } }
    fileprivate var date: Date? { if case .date(let seconds) = self { Date(timeIntervalSinceReferenceDate: seconds) } else { nil } }
}

extension Date {
    fileprivate var native: NativeValue { .date(timeIntervalSinceReferenceDate) }
}
