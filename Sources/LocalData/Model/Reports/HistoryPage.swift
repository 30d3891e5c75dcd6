import Foundation

/// A part of the history of migrations: what one flush of the notes adds, or the totals of parts that were dropped.
///
/// `Docs/Formats.md` describes it as JSON.
struct HistoryPage: Codable, Sendable {
    /// A value of a single key that a migration moved. It counts as one success of the migration, with one value.
    struct Moved: Codable, Sendable {
        /// The destination (``Place/text``).
        var to: String
        /// The locations from which the value was made (``Place/text``).
        var from: [String]
        /// The id of the migration.
        var by: String

        /// Appends the value as JSON. A page may have thousands of them, which takes `JSONEncoder` many times as long.
        fileprivate func append(to text: inout [UInt8]) {
            text.append("{\"by\":", quoting: [by], ",\"from\":[")
            text.append("", quoting: from, "],\"to\":")
            text.append("", quoting: [to], "")
            text += "}".utf8
        }
    }

    /// The work of a migration that ``moved`` does not contain.
    struct Work: Codable, Sendable {
        var successes = 0
        var values = 0
        var failures = 0
        /// The code and the message of the last error.
        var error: String?

        mutating func add(successes: Int, values: Int) {
            self.successes += successes
            self.values += values
        }
    }

    /// The time of the page. Pages are merged in the order of their times.
    var at: Date
    /// The version of the program.
    var version: String?
    var moved: [Moved]?
    /// By the ids of migrations.
    var work: [String: Work]?
    /// The totals of dropped pages.
    var totals: [MigrationHistory.Migration]?

    /// The maximum number of migrations in the totals of dropped pages. The migrations that ran last are kept.
    static let maximumOfTotals = 1_000

    // MARK: As text

    /// The page as JSON without a line break.
    var line: [UInt8] {
        get throws {
            var page = self
            page.moved = nil
            var text = Array(try Coders.jsonEncoder.encode(page))
            guard let moved, !moved.isEmpty else { return text }
            text.removeLast()
            text += ",\"moved\":[".utf8
            for (index, value) in moved.enumerated() {
                if index > 0 { text += ",".utf8 }
                value.append(to: &text)
            }
            return text + "]}".utf8
        }
    }

    /// Decodes a page; nil for a line that is damaged or was written partly.
    init?(line: [UInt8]) {
        guard let page = try? Coders.jsonDecoder.decode(HistoryPage.self, from: Data(line)) else { return nil }
        self = page
    }

    init(at: Date, version: String?) { (self.at, self.version) = (at, version) }

    // MARK: Several pages

    /// Returns the pages of lines in the order of their times, each with its line. Ignores damaged lines.
    static func pages(_ lines: [[UInt8]]) -> [(page: HistoryPage, line: [UInt8])] {
        lines.compactMap { line in HistoryPage(line: line).map { ($0, line) } }.sorted { $0.0.at < $1.0.at }
    }

    /// Returns shorter lines for the same history. Keeps the latest pages up to a size, and adds the totals of all others.
    static func trimmed(_ lines: [[UInt8]], to size: Int) -> [[UInt8]] {
        var kept: [[UInt8]] = []
        var dropped: [HistoryPage] = []
        var rest = size
        for (page, line) in pages(lines).reversed() {
            if page.totals == nil, dropped.isEmpty, line.count <= rest {
                rest -= line.count
                kept.append(line)
            } else {
                dropped.append(page)
            }
        }
        guard let last = dropped.first else { return kept.reversed() }
        var totals = HistoryPage(at: last.at, version: nil)
        var all = Totals()
        for page in dropped.reversed() { all.add(page) }
        totals.totals = Self.latest(all.migrations.values)
        // Long ids could fill the log with totals.
        while let line = try? totals.line, line.count > size / 2, let migrations = totals.totals, !migrations.isEmpty {
            totals.totals = Self.latest(migrations, atMost: migrations.count / 2)
        }
        return (try? [totals.line] + kept.reversed()) ?? lines
    }

    /// Returns the page without what it says about the values of some locations; nil if it says nothing about them.
    func without(_ isForgotten: (String) -> Bool) -> HistoryPage? {
        var page = self
        page.moved = moved?.filter { moved in
            if !([moved.to] + moved.from).contains(where: isForgotten) { return true }
            page.work = page.work ?? [:]
            page.work?[moved.by, default: Work()].add(successes: 1, values: 1)
            return false
        }
        return page.moved?.count == moved?.count ? nil : page
    }

    /// The sums of several pages, by the ids of migrations.
    struct Totals {
        private(set) var migrations: [String: MigrationHistory.Migration] = [:]

        /// Adds a page. Pages are added in the order of their times.
        mutating func add(_ page: HistoryPage) {
            for migration in page.totals ?? [] { change(migration.id) { $0 = migration.added(to: $0) } }
            for moved in page.moved ?? [] { add(Work(successes: 1, values: 1), moved.by, page.at, page.version) }
            for (id, work) in page.work ?? [:] { add(work, id, page.at, page.version) }
        }

        private mutating func add(_ work: Work, _ id: String, _ date: Date, _ version: String?) {
            change(id) { migration in
                migration.successes += work.successes
                migration.values += work.values
                migration.failures += work.failures
                if work.successes > 0 {
                    migration.firstWorked = migration.firstWorked ?? date
                    migration.lastWorked = date
                }
                if work.failures > 0 {
                    migration.lastFailed = date
                    migration.lastError = work.error
                }
                migration.applicationVersion = version ?? migration.applicationVersion
            }
        }

        private mutating func change(_ id: String, _ body: (inout MigrationHistory.Migration) -> Void) {
            body(&migrations[id, default: MigrationHistory.Migration(id: id, successes: 0, failures: 0, values: 0)])
        }
    }

    /// Returns the migrations that ran last, sorted by their ids.
    static func latest(
        _ migrations: some Sequence<MigrationHistory.Migration>, atMost maximum: Int = maximumOfTotals
    ) -> [MigrationHistory.Migration] {
        func last(_ migration: MigrationHistory.Migration) -> Date {
            max(migration.lastWorked ?? .distantPast, migration.lastFailed ?? .distantPast)
        }
        let latest = migrations.sorted { (last($0), $1.id) > (last($1), $0.id) }.prefix(maximum)
        return latest.sorted { $0.id < $1.id }
    }
}

extension MigrationHistory.Migration {
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
