#if PostgreSQL
    import BackendContract
    import BackendRuntime

    /// Reads that a standby may answer.
    extension PostgreSQLStore {
        /// Reads slots on a standby; on the primary if no standby can be reached. An absent slot was absent on that server.
        /// - Parameter limit: The age that the result may have.
        /// - Throws: ``BackendError``: `unavailable` if the result may be older.
        func readStale(
            _ addresses: [StorageAddress], upTo limit: Duration, _ deadline: MonotonicInstant
        ) async throws(BackendError) -> [StorageProbe] {
            var known = try await opened(deadline, staleUpTo: limit)
            while let session = known {
                let places = addresses.map(session.form.place)
                if places.isEmpty { return [] }
                let statement = facts.tables.read(contextKey, places, isStale: true)
                let rows = try await onLink(deadline, other: standby) { (connection, end) throws(ServerFault) in
                    let rows = try connection.run([statement], until: end)[0].rows
                    try Self.requireAge(rows.first, 1, upTo: limit)
                    return rows
                }
                if let probes = Self.probes(addresses, places, rows, session, nil) { return probes }
                // The standby has an earlier header, or a later one.
                known = try await opened(insteadOf: session, deadline, staleUpTo: limit)
            }
            return addresses.map(\.probeOfNothing)
        }

        /// Reads the header of the database on a standby; on the primary if no standby can be reached.
        /// - Throws: As ``readStale(_:upTo:_:)``.
        func staleHeader(_ deadline: MonotonicInstant, upTo limit: Duration) async throws(BackendError) -> StoredHeader? {
            let statements = facts.tables.header(contextKey, isStale: true)
            let results = try await onLink(deadline, other: standby) { (connection, end) throws(ServerFault) in
                let results = try connection.run(statements, until: end)
                try Self.requireAge(results[1].rows.first, 0, upTo: limit)
                return results
            }
            return try StoredHeader.parse(results, context: contextKey)
        }

        /// Throws if the result of a standby may be older than allowed.
        private static func requireAge(_ row: [[UInt8]?]?, _ column: Int, upTo limit: Duration) throws(ServerFault) {
            guard let row, row[column] != nil else {
                throw ServerFault("LD003", "The standby has replayed no transaction since it was started, so its age is not known.")
            }
            let age = row.double(column)
            guard Duration.seconds(age) <= limit else {
                throw ServerFault("LD003", "The last transaction that the standby has replayed is \(Int(age.rounded(.up))) seconds old.")
            }
        }
    }
#endif
