#if PostgreSQL
    import BackendContract
    import BackendRuntime
    import Synchronization

    /// The cluster that the connections of a store lead to.
    struct ServerCluster: Hashable, Sendable {
        /// The identifier that `initdb` gave the cluster. A copy of its files has the same one.
        let systemIdentifier: Int64
        /// The timeline, which grows when a standby is promoted.
        let timeline: Int64
        /// Whether the server flushes its files.
        let isDurable: Bool
        /// Whether a commit waits for a standby.
        let waitsForStandby: Bool
    }

    /// The facts that all connections of a store share.
    final class ServerFacts: Sendable {
        let conninfo: String
        let tables: ServerTables
        let runtime: Runtime
        private let cluster = Mutex<ServerCluster?>(nil)
        private let isPrepared = Atomic(false)
        /// Sends other machines a hint that something was changed, soon; nil for none.
        let hint: (@Sendable () -> Void)?

        init(conninfo: String, tables: ServerTables, runtime: Runtime, hint: (@Sendable () -> Void)? = nil) {
            (self.conninfo, self.tables, self.runtime, self.hint) = (conninfo, tables, runtime, hint)
        }

        /// The durability of a commit. Durable as long as no server has said otherwise.
        var durability: StorageDurability { cluster.withLock { $0?.isDurable } == false ? .untilPowerLoss : .durable }

        /// Whether a commit waits for a standby.
        var waitsForStandby: Bool { cluster.withLock { $0?.waitsForStandby } ?? false }

        /// Checks the server of a new connection: the cluster must be the one of the other connections, and the tables must
        /// exist in a version that this release can use. Creates them if they do not exist and the role may create them.
        func check(_ connection: ServerConnection, until deadline: MonotonicInstant) throws(ServerFault) {
            let found = try connection.run(
                [
                    ServerStatement(
                        """
                        SELECT s.system_identifier, c.timeline_id::int8, current_setting('fsync') = 'on', \
                        extract(epoch FROM clock_timestamp())::float8, current_setting('synchronous_standby_names') <> '' \
                        FROM pg_control_system() s, pg_control_checkpoint() c
                        """)
                ], until: deadline)
            guard let row = found.first?.rows.first else { throw .lost("The server did not name its cluster.") }
            try pin(
                ServerCluster(
                    systemIdentifier: row.integer(0), timeline: row.integer(1), isDurable: row.isTrue(2), waitsForStandby: row.isTrue(4)))
            if let clock = runtime.clock as? ServerClock, row.bytes(3).count == 8 {
                clock.note(Double(bitPattern: UInt64(bitPattern: row.integer(3))))
            }
            if isPrepared.load(ordering: .acquiring) { return }
            try prepare(connection, until: deadline)
            isPrepared.store(true, ordering: .releasing)
        }

        private func pin(_ found: ServerCluster) throws(ServerFault) {
            let former = cluster.withLock { known -> ServerCluster? in
                if let known, known.systemIdentifier != found.systemIdentifier || found.timeline < known.timeline { return known }
                known = found
                return nil
            }
            guard let former else { return }
            throw ServerFault(
                "08L04",
                "The connection leads to cluster \(UInt64(bitPattern: found.systemIdentifier)), timeline \(found.timeline), instead of cluster \(UInt64(bitPattern: former.systemIdentifier)), timeline \(former.timeline).",
                isConnectionLost: true)
        }

        private func prepare(_ connection: ServerConnection, until deadline: MonotonicInstant) throws(ServerFault) {
            for _ in 0..<10 {
                do throws(ServerFault) {
                    guard let row = try connection.run([tables.readVersion], until: deadline).first?.rows.first else {
                        throw ServerFault("42P01", "The table schema_version is empty.")
                    }
                    let (version, compatible) = (row.integer(0), row.integer(1))
                    guard compatible <= ServerTables.version, version >= ServerTables.version else {
                        throw ServerFault(
                            "42703",
                            "The schema \(tables.name) has version \(version), usable by releases from version \(compatible); this release has version \(ServerTables.version)."
                        )
                    }
                    return
                } catch {
                    guard error.isSchemaMissing else { throw error }
                }
                do throws(ServerFault) {
                    let transaction = [ServerStatement("BEGIN")] + tables.creation.map { ServerStatement($0) } + [ServerTables.commit]
                    _ = try connection.run(transaction, until: deadline)
                } catch {
                    if error.isConnectionLost { throw error }
                    _ = try connection.run([ServerTables.rollback], until: deadline)
                    // Another machine creates the tables at the same time. Otherwise the error is the server's last word.
                    guard ["23505", "42P06", "42P07", "42710", "40P01"].contains(error.state) else { throw error }
                    runtime.clock.pause(.milliseconds(20))
                }
            }
            throw ServerFault("42P01", "The tables of the schema \(tables.name) could not be created.")
        }
    }

    /// A lane (a serial queue) with its connection. The connection is made when it is first needed, and made again after it
    /// was lost.
    ///
    /// `@unchecked Sendable`: the connection is used on the lane only.
    final class ServerLink: @unchecked Sendable {
        let lane: any Lane
        let facts: ServerFacts
        private var connection: ServerConnection?
        private let clock: any RuntimeClock

        init(_ name: String, _ facts: ServerFacts) {
            self.facts = facts
            clock = facts.runtime.clock
            lane = facts.runtime.makeLane(name)
        }

        /// Runs work with an open connection. Drops the connection if the work finds it lost.
        /// - Throws: The error of the work, or of the attempts to connect. They are repeated until the deadline, with
        ///   growing random pauses.
        func use<R>(
            until deadline: MonotonicInstant, _ work: (ServerConnection) throws(ServerFault) -> R
        ) throws(ServerFault) -> R {
            let connection = try opened(until: deadline)
            do throws(ServerFault) { return try work(connection) } catch {
                if error.isConnectionLost { self.connection = nil }
                throw error
            }
        }

        /// Runs work that can be repeated, and repeats it until the deadline if the connection is lost.
        func read<R>(
            until deadline: MonotonicInstant, _ work: (ServerConnection) throws(ServerFault) -> R
        ) throws(ServerFault) -> R {
            let last = lastAttempt(before: deadline)
            var pause = Duration.milliseconds(1)
            while true {
                do throws(ServerFault) { return try use(until: deadline, work) } catch {
                    let wait = jittered(pause)
                    guard error.isLinkLost, clock.now.advanced(by: wait) < last else { throw error }
                    clock.pause(wait)
                    pause = min(pause * 2, .milliseconds(200))
                }
            }
        }

        private func opened(until deadline: MonotonicInstant) throws(ServerFault) -> ServerConnection {
            if let connection { return connection }
            let last = lastAttempt(before: deadline)
            var pause = Duration.milliseconds(20)
            while true {
                do throws(ServerFault) {
                    let made = try ServerConnection.connect(facts.conninfo, deadline: deadline, clock: clock)
                    try facts.check(made, until: deadline)
                    connection = made
                    return made
                } catch {
                    guard error.isLinkLost || error.state == "53300" else { throw error }
                    let wait = jittered(pause)
                    guard clock.now.advanced(by: wait) < last else { throw error }
                    clock.pause(wait)
                    pause = min(pause * 2, .seconds(1))
                }
            }
        }

        /// Returns the time after which no attempt begins, so that the caller gets the error of the last attempt before
        /// its deadline.
        private func lastAttempt(before deadline: MonotonicInstant) -> MonotonicInstant {
            clock.now.advanced(by: clock.now.duration(to: deadline) * 4 / 5)
        }

        /// Returns a random part of a pause, at least half of it.
        func jittered(_ pause: Duration) -> Duration {
            pause / 2 + pause / 2 * Double(facts.runtime.randomBits() % 1_024) / 1_024
        }

        /// Closes the connection. Call this on the lane.
        func close() { connection = nil }
    }
#endif
