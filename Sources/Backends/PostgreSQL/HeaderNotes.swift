#if PostgreSQL
    package import BackendContract
    import BackendRuntime
    import Sealing
    import Synchronization

    /// The latest header of each database that this process and this machine have seen.
    ///
    /// The server stores the header, so its administrator can put an earlier one back. Then a recovery key that was removed
    /// would be a recipient again, and a data key that was destroyed would seal. A process that has seen a later header
    /// notices that the counter is lower. So the latest header is noted in memory, and in a file outside the server.
    /// Reason: "Each machine notes the latest header" in Docs/Decisions/Server.md.
    package final class HeaderNotes: Sendable {
        /// Returns the place of the note about a database, given the id of the database; nil if the machine keeps none.
        package typealias Place = @Sendable (_ database: [UInt8]) throws(BackendError) -> (any FreshnessAnchor)?

        private struct State {
            var marks: [[UInt8]: FreshnessMark] = [:]
            var warning: String?
        }

        private let place: Place
        private let state = Mutex(State())

        /// Creates notes that are empty in memory.
        init(_ place: @escaping Place) { self.place = place }

        /// The limit of these notes on this machine; nil if there is none.
        var warning: String? { state.withLock(\.warning) }

        /// Returns the latest header that was noted of a database; nil if there was none.
        func latest(of database: [UInt8]) async throws(BackendError) -> FreshnessMark? {
            let noted = try await place(database)?.load()
            return Self.later(noted, state.withLock { $0.marks[database] })
        }

        private static func later(_ one: FreshnessMark?, _ two: FreshnessMark?) -> FreshnessMark? {
            guard let one, let two else { return one ?? two }
            return one.commits > two.commits ? one : two
        }

        /// Checks that a header is not older than the latest one, and notes it. The header is authentic.
        /// - Parameter isOwn: Whether this process has written the header.
        /// - Throws: ``BackendError``: `rolledBack` for an older header; the errors of a note that cannot be read.
        func require(_ mark: FreshnessMark, isOwn: Bool = false) async throws(BackendError) {
            let anchor = try place(mark.database)
            let noted = try await anchor?.load()
            let known = state.withLock { $0.marks[mark.database] }
            for former in [noted, known] { try Self.compare(mark, former) }
            if noted == nil, known == nil, !isOwn { warn(Self.firstSight) }
            try await note(mark, replacing: noted, in: anchor)
        }

        /// Throws `rolledBack` for a header that is older than the latest one. Notes nothing, so the header need not be authentic.
        func refuseOlder(_ mark: FreshnessMark) async throws(BackendError) {
            try Self.compare(mark, try await latest(of: mark.database))
        }

        /// Notes a header that a person has accepted, or that this process has written, whatever was noted before.
        func replace(_ mark: FreshnessMark) async throws(BackendError) {
            let anchor = try place(mark.database)
            try await note(mark, replacing: try await anchor?.load(), in: anchor)
        }

        /// Returns whether a header is older than the latest one, as that of a standby may be.
        func isOlder(_ mark: FreshnessMark) async throws(BackendError) -> Bool {
            guard let latest = try await latest(of: mark.database) else { return false }
            return mark.commits < latest.commits
        }

        private func note(
            _ mark: FreshnessMark, replacing noted: FreshnessMark?, in anchor: (any FreshnessAnchor)?
        ) async throws(BackendError) {
            state.withLock { $0.marks[mark.database] = Self.later(mark, $0.marks[mark.database]) }
            guard let anchor else { return warn(Self.withoutFile) }
            var noted = noted
            for _ in 0..<Self.attempts {
                if let noted, noted.commits >= mark.commits { return }
                do throws(BackendError) {
                    if try await anchor.store(mark, replacing: noted) { return }
                } catch {
                    // A program on a read-only disk goes on. It knows in memory what it has seen.
                    return warn("\(Self.unnoted) \(error.reason)")
                }
                // Another process has noted a header.
                noted = try await anchor.load()
            }
        }

        private static let attempts = 16

        private static func compare(_ mark: FreshnessMark, _ former: FreshnessMark?) throws(BackendError) {
            guard let former, mark.commits < former.commits || mark.commits == former.commits && mark.digest != former.digest else {
                return
            }
            throw BackendError(
                .rolledBack,
                "The server returned the keys of the database after only \(mark.commits) changes, and this machine has noted \(mark.commits == former.commits ? "others with as many" : "\(former.commits)"). Older key tables were put back, or a copy of the server was restored. Restore the latest tables. Or accept these with StorageRouter.acceptFailover(), and check the recipients with keyRecipients(of:). Nothing was changed."
            )
        }

        private func warn(_ text: String) { state.withLock { $0.warning = text } }

        private static let firstSight =
            "This machine sees the keys of the database for the first time, so it does not know whether the server returned older ones. Compare the recipients with those on another machine."
        private static let withoutFile =
            "The configuration has no folder for a note about the keys of the database. Another process does not notice that the server returns older ones."
        private static let unnoted =
            "The keys of the database could not be noted, so another process does not notice that the server returns older ones."
    }
#endif
