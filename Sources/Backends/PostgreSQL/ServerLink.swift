#if PostgreSQL
    import BackendContract
    import BackendRuntime
    import Synchronization

    /// The facts that all connections of a store share.
    final class ServerFacts: Sendable {
        let conninfo: String
        let tables: ServerTables
        let runtime: Runtime
        /// The server, and whether its rows are complete.
        let epoch = ServerEpoch()
        private let isPrepared = Atomic(false)
        /// The positions of the hosts of the connection string that did not answer when a connection was last made.
        let silentHosts = Mutex<Set<Int>>([])
        /// Sends other machines a hint that something was changed, soon; nil for none.
        let hint: (@Sendable () -> Void)?

        init(conninfo: String, tables: ServerTables, runtime: Runtime, hint: (@Sendable () -> Void)? = nil) {
            (self.conninfo, self.tables, self.runtime, self.hint) = (conninfo, tables, runtime, hint)
        }

        /// The durability of a commit. Durable as long as no server has said otherwise.
        var durability: StorageDurability { epoch.isDurable == false ? .untilPowerLoss : .durable }

        /// Checks the server of a new connection: the cluster must be the one of the other connections, and the tables must
        /// exist in a version that this release can use. Creates or upgrades them if the role may.
        /// - Parameter isReported: Whether a caller gets the error.
        /// - Returns: The server's instance, and the generation of ``ServerEpoch`` that the connection has passed.
        func check(
            _ connection: ServerConnection, isReported: Bool, until deadline: MonotonicInstant
        ) throws(ServerFault) -> (instance: ServerInstance, generation: Int64) {
            let found = try connection.run(
                [
                    ServerStatement(
                        """
                        SELECT system_identifier, \(ServerTables.instance), current_setting('fsync') = 'on', \
                        extract(epoch FROM clock_timestamp())::float8, current_setting('synchronous_standby_names') <> '' \
                        FROM pg_control_system()
                        """), tables.readFiltered,
                ], until: deadline)
            try tables.requireUnfiltered(found.last)
            guard let row = found.first?.rows.first else { throw .lost("The server did not name its cluster.") }
            let cluster = ServerCluster(
                systemIdentifier: row.integer(0), instance: ServerInstance(row[1]), isDurable: row.isTrue(2), waitsForStandby: row.isTrue(4)
            )
            try epoch.requireSystem(cluster.systemIdentifier)
            if let clock = runtime.clock as? ServerClock, row.bytes(3).count == 8 {
                clock.note(row.double(3))
            }
            if !isPrepared.load(ordering: .acquiring) {
                try prepare(connection, until: deadline)
                isPrepared.store(true, ordering: .releasing)
            }
            return (cluster.instance, try epoch.check(cluster, connection, tables, isReported: isReported, until: deadline))
        }

        /// Checks the server of a new connection that may lead to a standby. Changes nothing.
        func checkCopy(_ connection: ServerConnection, until deadline: MonotonicInstant) throws(ServerFault) {
            let results = try connection.run(
                [ServerStatement("SELECT system_identifier FROM pg_control_system()"), tables.readVersion, tables.readFiltered],
                until: deadline)
            try tables.requireUnfiltered(results.last)
            try epoch.requireSystem(results[0].rows.first?.integer(0) ?? 0)
            let version = try TableVersion(results[1])
            guard version.isUsable else { throw version.refusal(tables.name) }
        }

        private func prepare(_ connection: ServerConnection, until deadline: MonotonicInstant) throws(ServerFault) {
            for _ in 0..<10 {
                let statements: [String]
                let refusal: ServerFault?
                do throws(ServerFault) {
                    let version = try TableVersion(try connection.run([tables.readVersion], until: deadline).first)
                    if version.isUsable { return }
                    guard version.number < ServerTables.version else { throw version.refusal(tables.name) }
                    (statements, refusal) = (tables.upgrade, version.refusal(tables.name))
                } catch {
                    guard error.isSchemaMissing else { throw error }
                    (statements, refusal) = (tables.creation, nil)
                }
                do throws(ServerFault) {
                    let transaction = [ServerStatement("BEGIN")] + statements.map { ServerStatement($0) } + [ServerTables.commit]
                    _ = try connection.endingFailed(deadline) { () throws(ServerFault) in try connection.run(transaction, until: deadline) }
                } catch {
                    if error.isConnectionLost { throw error }
                    // The role may not change the tables.
                    if let refusal, error.state == "42501" { throw refusal }
                    // Another machine creates the tables at the same time. Otherwise the error is the server's last word.
                    guard ["23505", "42P06", "42P07", "42710", "40P01"].contains(error.state) else { throw error }
                    runtime.clock.pause(.milliseconds(20))
                }
            }
            throw ServerFault("42P01", "The tables of the schema \(tables.name) could not be created.")
        }
    }

    /// The version of the tables of a schema.
    private struct TableVersion {
        let number: Int64
        /// The lowest version of a release that can use the tables.
        let compatible: Int64

        /// Reads the result of ``ServerTables/readVersion``.
        init(_ rows: ServerRows?) throws(ServerFault) {
            guard let row = rows?.rows.first else { throw ServerFault("42P01", "The table schema_version is empty.") }
            (number, compatible) = (row.integer(0), row.integer(1))
        }

        /// Whether this release can use the tables.
        var isUsable: Bool { compatible <= ServerTables.version && number >= ServerTables.version }

        /// The error for tables that this release cannot use.
        func refusal(_ schema: String) -> ServerFault {
            ServerFault(
                "42703",
                "The schema \(schema) has version \(number), usable by releases from version \(compatible); this release has version \(ServerTables.version)."
            )
        }
    }

    /// A lane (a serial queue) with its connection. The connection is made when it is first needed, and made again after it
    /// was lost.
    ///
    /// `@unchecked Sendable`: the connection is used on the lane only.
    final class ServerLink: @unchecked Sendable {
        let lane: any Lane
        let facts: ServerFacts
        /// Whether the connection may lead to a standby, for reads that allow a stale result.
        private let readsStandby: Bool
        private var connection: ServerConnection?
        /// The server's instance, when the connection was made.
        private var instance = ServerInstance(nil)
        /// The generation of ``ServerEpoch`` that the connection has passed.
        private var generation: Int64 = 0
        private let clock: any RuntimeClock

        init(_ name: String, _ facts: ServerFacts, readsStandby: Bool = false) {
            (self.facts, self.readsStandby) = (facts, readsStandby)
            clock = facts.runtime.clock
            lane = facts.runtime.makeLane(name)
        }

        /// Runs work with an open connection. Drops the connection if the work finds it lost.
        /// - Parameter isReported: Whether a caller gets the error. Work in the background that finds a loss must not hide it.
        /// - Throws: The error of the work, or of the attempts to connect. They are repeated until the deadline, with
        ///   growing random pauses.
        func use<R>(
            until deadline: MonotonicInstant, isReported: Bool = true, _ work: (ServerConnection) throws(ServerFault) -> R
        ) throws(ServerFault) -> R {
            if connection != nil, !readsStandby, facts.epoch.isOutdated(generation) {
                connection = nil
                throw .lost(ServerEpoch.moved)
            }
            let connection = try opened(until: deadline, isReported: isReported)
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

        private func opened(until deadline: MonotonicInstant, isReported: Bool) throws(ServerFault) -> ServerConnection {
            if let connection { return connection }
            let last = lastAttempt(before: deadline)
            var pause = Duration.milliseconds(20)
            while true {
                do throws(ServerFault) {
                    let attributes = readsStandby ? "prefer-standby" : "read-write"
                    var silent = facts.silentHosts.withLock(\.self)
                    defer { facts.silentHosts.withLock { $0 = silent } }
                    let made = try ServerConnection.connect(
                        facts.conninfo, attributes: attributes, silent: &silent, deadline: deadline, clock: clock)
                    if readsStandby {
                        try facts.checkCopy(made, until: deadline)
                    } else {
                        (instance, generation) = try facts.check(made, isReported: isReported, until: deadline)
                    }
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

        /// Checks which server has answered: behind a pooler, it can be another one than before. Call this in the work.
        /// - Parameters:
        ///   - row: A row of the answer, with ``ServerTables/instance`` in a column.
        ///   - isAbsence: Whether the answer is proof of absence.
        /// - Returns: The reason why a missing row proves nothing; nil if it proves that there is no value.
        func doubt(
            about row: [[UInt8]?]?, _ column: Int, isAbsence: Bool, _ connection: ServerConnection, until deadline: MonotonicInstant
        ) throws(ServerFault) -> ServerFault? {
            guard ServerInstance(row?[column]) == instance else { throw .lost(ServerEpoch.moved) }
            return isAbsence ? try facts.epoch.doubt(on: instance, connection, facts.tables, until: deadline) : nil
        }

        /// Notes that the server has acknowledged a transaction. Returns false if the server is no primary any more.
        func acknowledge(_ commit: AcknowledgedCommit) -> Bool {
            facts.epoch.acknowledge(commit, of: ObjectIdentifier(self), in: generation)
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
