#if SQLite
    import BackendContract
    import BackendRuntime
    import Sealing
    import Synchronization

    /// Updates a database's freshness anchor after its commits, and compares the anchor with the database when the
    /// database is opened. The anchor records the latest state outside the database, so that an older file is detected.
    /// The anchor stores a mark: the id of the database, the number of its commits and a digest of its state.
    ///
    /// A separate task writes the anchor, so that no commit waits for this write. Its writes are at least ``interval``
    /// apart. A failed write is repeated with the next commit, with `synchronize`, and when the store is closed.
    final class AnchorFollower: Sendable {
        /// The minimum time between two writes of the anchor. So the mark in the anchor can be older than the last
        /// commit by this time, plus the time of a write.
        /// Reason: "No commit waits for the anchor" in Docs/Decisions/Database.md.
        static let interval = Duration.seconds(1)

        private struct State {
            /// The mark of the last commit; nil if the anchor already contains this mark.
            var latest: FreshnessMark?
            /// The mark that the anchor contained when it was last read or written.
            var held: FreshnessMark?
            var isFollowing = false
            /// Whether a call of ``accept(_:)`` is running. That call writes the anchor. The separate task writes
            /// nothing until the call has ended.
            var isPaused = false
            /// The earliest time of the next write.
            var next = MonotonicInstant(nanoseconds: .min)
            /// The reason why the database must not be used any more.
            var refusal: BackendError?
        }

        private let anchor: any FreshnessAnchor
        private let runtime: Runtime
        private let state = Mutex(State())

        init(_ anchor: any FreshnessAnchor, runtime: Runtime) {
            self.anchor = anchor
            self.runtime = runtime
        }

        /// The reason why the database must not be used any more; nil as long as it may be used.
        var refusal: BackendError? { state.withLock(\.refusal) }

        /// Returns the anchor's mark. Call this before the database is read. If another process commits between these
        /// two reads, the database that is read is later than the mark, which is allowed.
        func expected() async throws(BackendError) -> FreshnessMark? { try await anchor.load() }

        func unlock() async throws(BackendError) { try await anchor.unlock() }

        // MARK: Comparing

        /// Checks that a database is not older than its anchor.
        /// - Parameters:
        ///   - expected: The anchor's mark, read before the database.
        ///   - database: The id of the database.
        ///   - mark: The mark of the database's state; nil if the state is missing or does not open.
        ///   - isAnchored: Whether the state says that the database had an anchor before.
        /// - Throws: ``BackendError`` with `rolledBack`. The message compares the database with the anchor.
        func check(
            _ expected: FreshnessMark?, database: [UInt8], mark: FreshnessMark?, isAnchored: Bool
        ) throws(BackendError) {
            guard let expected else {
                if isAnchored {
                    throw refused("\(anchor.name) is empty, although it contained the mark of the database. The mark was lost or removed")
                }
                // The anchor contains no mark, and the state does not say that the database had an anchor before.
                if let mark { note(mark) }
                return
            }
            guard expected.database == database else {
                throw refused(
                    "\(anchor.name) has the mark of the database \(hexadecimalText(of: expected.database)), but this one is \(hexadecimalText(of: database))"
                )
            }
            guard let mark else {
                throw refused(
                    "\(anchor.name) records \(expected.commits) commits, and the database does not say how many it has: its sealed state is damaged or missing"
                )
            }
            try compare(mark, expected)
            state.withLock { $0.held = expected }
            // The anchor does not contain the last commit. The process that committed was killed before it wrote the
            // anchor, or its program does not use the anchor.
            if mark != expected { note(mark) }
        }

        private func compare(_ mark: FreshnessMark, _ expected: FreshnessMark) throws(BackendError) {
            if mark.commits < expected.commits {
                throw refused(
                    "The database has \(mark.commits) commits, and \(anchor.name) records \(expected.commits): an older file replaced it"
                )
            }
            if mark.commits == expected.commits, mark.digest != expected.digest {
                throw refused(
                    "The database and \(anchor.name) both have \(mark.commits) commits, but not the same ones: another file replaced it"
                )
            }
        }

        /// Returns the error for a database that is missing although the anchor contains a mark of it.
        func missing(_ expected: FreshnessMark) -> BackendError {
            refused(
                "\(anchor.name) records a database with \(expected.commits) commits, and there is none. Removed values could return with an empty one"
            )
        }

        private func refused(_ what: String) -> BackendError {
            BackendError(
                .rolledBack,
                "\(what). Put the latest file back, or accept this one with StorageRouter.acceptOlderFile(of:). Nothing was changed."
            )
        }

        /// Returns the error for an open database whose state has become older.
        static func wentBack(from latest: Int64, to found: Int64) -> BackendError {
            BackendError(
                .rolledBack,
                "The database had \(latest) commits a moment ago and has \(found) now: an older file replaced it. Put the latest file back, or accept this one with StorageRouter.acceptOlderFile(of:). Nothing was changed."
            )
        }

        // MARK: Following

        /// Remembers the mark of a commit, and starts the task that writes it to the anchor.
        func note(_ mark: FreshnessMark) {
            let mustStart = state.withLock { state in
                if let latest = state.latest, latest.database == mark.database, latest.commits >= mark.commits { return false }
                state.latest = mark
                guard !state.isFollowing, !state.isPaused else { return false }
                state.isFollowing = true
                return true
            }
            if mustStart { runtime.tasks.spawn { await self.follow() } }
        }

        private func follow() async {
            let clock = runtime.clock
            while true {
                let pause = state.withLock { state in clock.now < state.next ? clock.now.duration(to: state.next) : nil }
                if let pause { await clock.wait(pause) }
                let mark = state.withLock { state in
                    state.next = clock.now.advanced(by: Self.interval)
                    if state.latest == nil || state.isPaused { state.isFollowing = false }
                    return state.isFollowing ? state.latest : nil
                }
                guard let mark else { return }
                do throws(BackendError) { try await write(mark) } catch {
                    return state.withLock { $0.isFollowing = false }
                }
            }
        }

        /// Writes the mark of the last commit to the anchor now, unless the anchor already contains it.
        /// - Throws: ``BackendError`` of the anchor; `rolledBack` if the anchor contains the mark of another database,
        ///   or a mark with the same number of commits and another digest.
        func flush() async throws(BackendError) {
            if let mark = state.withLock(\.latest) { try await write(mark) }
        }

        private func write(_ mark: FreshnessMark) async throws(BackendError) {
            do throws(BackendError) { try await advance(to: mark) } catch {
                if error.code == .rolledBack { state.withLock { $0.refusal = error } }
                throw error
            }
            state.withLock { if $0.latest == mark { $0.latest = nil } }
        }

        /// Advances the anchor to a mark. Keeps a later mark that another process has written.
        private func advance(to mark: FreshnessMark) async throws(BackendError) {
            var known = state.withLock(\.held)
            for _ in 0..<Self.attempts {
                if let known {
                    guard known.database == mark.database else {
                        throw refused("\(anchor.name) now has the mark of another database, \(hexadecimalText(of: known.database))")
                    }
                    if known.commits > mark.commits || known == mark { return }
                    try compare(mark, known)
                }
                if try await anchor.store(mark, replacing: known) { return state.withLock { $0.held = mark } }
                known = try await anchor.load()
                state.withLock { [known] in $0.held = known }
            }
            throw busy
        }

        private static let attempts = 16

        private var busy: BackendError {
            BackendError(.timedOut, "Other programs keep changing \(anchor.name). Try again.")
        }

        // MARK: Accepting

        /// Accepts an older file as the latest state: `work` commits to the database with a higher number of commits
        /// than the anchor's mark has. Then the anchor gets the mark of that commit.
        /// - Parameter work: Receives the anchor's mark, commits to the database, and returns the mark of the commit.
        func accept(
            _ work: (FreshnessMark?) async throws(BackendError) -> FreshnessMark
        ) async throws(BackendError) {
            state.withLock { $0.isPaused = true }
            defer { state.withLock { $0.isPaused = false } }
            for _ in 0..<Self.attempts {
                let known = try await anchor.load()
                let mark = try await work(known)
                guard try await anchor.store(mark, replacing: known) else { continue }
                return state.withLock { ($0.latest, $0.held, $0.refusal) = (nil, mark, nil) }
            }
            throw busy
        }
    }
#endif
