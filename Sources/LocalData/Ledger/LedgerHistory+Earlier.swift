import BackendContract
import Foundation

/// The entries of earlier releases, which kept the history in the ledger: one for each value and one for each migration.
extension LedgerHistory {
    private static let valuePrefix = "value:"

    /// Returns whether an entry of the ledger belongs to the history of an earlier release.
    static func isEarlier(_ name: String) -> Bool { name.hasPrefix(valuePrefix) || name.hasPrefix("history:") }

    /// Returns the page for entries of an earlier release, with the values that were moved last.
    static func page(of entries: [(name: String, payload: StoragePayload)]) -> HistoryPage {
        let migrations = HistoryPage.latest(entries.compactMap { MigrationHistory.Migration($0.payload) })
        let moved = entries.compactMap { HistoryPage.Moved($0.payload, at: String($0.name.dropFirst(valuePrefix.count))) }
        let latest = moved.sorted { ($0.at ?? .distantPast, $1.to) > ($1.at ?? .distantPast, $0.to) }.prefix(HistoryPage.maximumOfTotals)
        var page = HistoryPage(at: latest.first?.at ?? migrations.compactMap(\.lastWorked).max() ?? .distantPast, version: nil)
        page.moved = Array(latest)
        // The values of the page are counted separately, so the totals leave them out.
        let counts = Dictionary(grouping: latest, by: \.by).mapValues(\.count)
        page.totals = migrations.map { migration in
            var total = migration
            total.successes = max(0, total.successes - (counts[total.id] ?? 0))
            total.values = max(0, total.values - (counts[total.id] ?? 0))
            return total
        }
        return page
    }
}

extension MigrationHistory.Migration {
    /// Decodes an entry of an earlier release.
    fileprivate init?(_ payload: StoragePayload) {
        guard case .native(.dictionary(let entries)) = payload, let id = entries["id"]?.text else { return nil }
        self.init(
            id: id, successes: entries["successes"]?.number ?? 0, failures: entries["failures"]?.number ?? 0,
            values: entries["values"]?.number ?? 0, firstWorked: entries["firstWorked"]?.date, lastWorked: entries["lastWorked"]?.date,
            lastFailed: entries["lastFailed"]?.date, lastError: entries["lastError"]?.text,
            applicationVersion: entries["applicationVersion"]?.text)
    }
}

extension HistoryPage.Moved {
    /// Decodes an entry of an earlier release.
    /// - Parameter location: The destination's text in the name of the entry. A long one was cut.
    fileprivate init?(_ payload: StoragePayload, at location: String) {
        guard case .native(.dictionary(let entries)) = payload, let place = entries["place"]?.text,
            let migration = entries["migration"]?.text, let date = entries["date"]?.date
        else { return nil }
        var sources: [String] = []
        if case .array(let texts)? = entries["sources"] { sources = texts.compactMap(\.text) }
        self.init(
            to: Place(text: location) == nil ? place : location, from: sources, by: migration, at: date,
            version: entries["applicationVersion"]?.text)
    }
}

extension NativeValue {
    fileprivate var text: String? { if case .string(let text) = self { text } else { nil } }
    fileprivate var number: Int? { if case .integer(let number) = self { Int(exactly: number) } else { nil } }
    fileprivate var date: Date? { if case .date(let seconds) = self { Date(timeIntervalSinceReferenceDate: seconds) } else { nil } }
}
