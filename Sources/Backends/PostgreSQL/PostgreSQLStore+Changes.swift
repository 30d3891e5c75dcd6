#if PostgreSQL
    package import BackendContract
    import BackendRuntime
    import Synchronization

    /// Changes of other machines.
    extension PostgreSQLStore: ObservableBackend {
        /// Reports that another machine, or this one, may have changed something. The changed slots are unknown, because
        /// their names are sealed. The stream reports once when watching begins.
        ///
        /// The server is asked every second whether there are rows with a higher stamp. Notices of the server (`NOTIFY`)
        /// make it faster: then it is asked every ten seconds, and each notice is reported at once. The watch sends itself
        /// a notice first, because a pooler may swallow them. It has its own connection.
        package func foreignChanges() -> AsyncStream<Set<StorageAddress>?> {
            let (stream, continuation) = AsyncStream.makeStream(of: Set<StorageAddress>?.self, bufferingPolicy: .bufferingNewest(1))
            let isOver = OverFlag()
            continuation.onTermination = { _ in isOver.value.store(true, ordering: .releasing) }
            let watch = ChangeWatch(ServerLink("postgresql.changes", facts), contextKey, hints.channel)
            let link = watch.link
            runtime.tasks.spawn { [runtime] in
                continuation.yield(nil)
                while !isOver.value.load(ordering: .acquiring), !Task.isCancelled {
                    let deadline = runtime.clock.now.advanced(by: .seconds(30))
                    let isNews = try? await link.lane.run(clock: runtime.clock, deadline: deadline, isMutation: false) {
                        (_) throws(BackendError) in watch.next()
                    }
                    if isNews ?? true { continuation.yield(nil) }
                }
                link.lane.enqueue { link.close() }
            }
            return stream
        }
    }

    private final class OverFlag: Sendable {
        let value = Atomic(false)
    }

    /// A watch of the changes of a database.
    ///
    /// `@unchecked Sendable`: the variables are used on the lane of the link only.
    private final class ChangeWatch: @unchecked Sendable {
        let link: ServerLink
        private let context: [UInt8]
        private let channel: String
        private let clock: any RuntimeClock
        /// The stamp from which rows are new; nil on a new connection. Another server uses the same stamps for other rows.
        private var stamp: String?
        /// The version of the header; nil before it was asked for, and without a database.
        private var version: [UInt8]?
        private var isHinted = false

        init(_ link: ServerLink, _ context: [UInt8], _ channel: String) {
            (self.link, self.context, self.channel) = (link, context, channel)
            clock = link.facts.runtime.clock
        }

        /// Waits for a change, at most for some seconds. Returns whether there may be one. Call this on the lane.
        func next() -> Bool {
            do throws(ServerFault) {
                return try link.use(until: clock.now.advanced(by: .seconds(10)), isReported: false) { (connection) throws(ServerFault) in
                    guard let known = stamp else {
                        isHinted = try probe(connection)
                        stamp = try poll(connection, since: "0").stamp
                        return true
                    }
                    let notice = isHinted ? try connection.notice(until: clock.now.advanced(by: .seconds(1))) : nil
                    if !isHinted { clock.pause(.seconds(1)) }
                    if notice == nil, isHinted {
                        quiet += 1
                        guard quiet >= 10 else { return false }
                    }
                    quiet = 0
                    let (later, isNews) = try poll(connection, since: known)
                    stamp = later
                    return isNews || notice != nil
                }
            } catch {
                // Changes may have been made while there was no connection. The next connection reports news.
                (stamp, version) = (nil, nil)
                clock.pause(.milliseconds(500))
                return false
            }
        }

        /// The number of seconds without a notice.
        private var quiet = 0

        private func poll(_ connection: ServerConnection, since known: String) throws(ServerFault) -> (stamp: String, isNews: Bool) {
            let results = try connection.run(
                [link.facts.tables.changes(context, since: known)], until: clock.now.advanced(by: .seconds(10)))
            guard let row = results.first?.rows.first else { throw .lost("The server did not answer.") }
            _ = try link.doubt(about: row, 2, isAbsence: false, connection, until: clock.now.advanced(by: .seconds(10)))
            let isRewritten = version != nil && version != row[3]
            // A dump may have been restored, whose rows have earlier stamps.
            if isRewritten { link.facts.epoch.suspect() }
            version = row[3]
            return (row.text(0), row.isTrue(1) || isRewritten)
        }

        /// Returns whether notices arrive on this connection.
        private func probe(_ connection: ServerConnection) throws(ServerFault) -> Bool {
            connection.keepsNotices = true
            let payload = hexadecimalText(of: link.facts.runtime.randomBytes(8))
            let listen = [ServerStatement("LISTEN \"\(channel)\""), ChangeHints.notice(channel, payload)]
            for statement in listen { _ = try connection.run([statement], until: clock.now.advanced(by: .seconds(10))) }
            let end = clock.now.advanced(by: .seconds(1))
            while let received = try connection.notice(until: end) { if received == payload { return true } }
            return false
        }
    }

    /// The notices that a store sends after its commits. One notice stands for all commits of 50 milliseconds, because
    /// the server sends notices one after the other.
    final class ChangeHints: Sendable {
        /// The channel of the database: its name contains the key of the database.
        let channel: String
        /// The link that sends the notices. The store owns it.
        private let link = Mutex(WeakLink())
        private let runtime: Runtime
        private let isScheduled = Atomic(false)

        init(_ context: [UInt8], _ runtime: Runtime) {
            channel = "localdata_" + hexadecimalText(of: context)
            self.runtime = runtime
        }

        private struct WeakLink {
            weak var link: ServerLink?
        }

        /// Sets the link that sends the notices.
        func send(on link: ServerLink) { self.link.withLock { $0.link = link } }

        /// Sends a notice soon, unless one is already due.
        func schedule() {
            guard !isScheduled.exchange(true, ordering: .acquiringAndReleasing) else { return }
            let clock = runtime.clock
            _ = clock.schedule(at: clock.now.advanced(by: .milliseconds(50))) { [self] in
                isScheduled.store(false, ordering: .releasing)
                guard let link = link.withLock({ $0.link }) else { return }
                link.lane.enqueue { [channel] in
                    let deadline = clock.now.advanced(by: .seconds(2))
                    // A lost notice delays the other machines until their next poll.
                    _ = try? link.use(until: deadline, isReported: false) { (connection) throws(ServerFault) in
                        try connection.run([Self.notice(channel, "")], until: deadline)
                    }
                }
            }
        }

        static func notice(_ channel: String, _ payload: String) -> ServerStatement {
            ServerStatement("SELECT pg_notify($1, $2)", [.text(channel), .text(payload)])
        }
    }
#endif
