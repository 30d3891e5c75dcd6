import BackendContract

/// Copying, moving and removing an entity's records.
extension DocumentRecords {
    // MARK: Copying and moving

    private struct Transfer: Sendable {
        var puts: [Committer.Change] = []
        var copies: [SourceRecord] = []
        var routes: [Route] = []
        /// Records that a sweep first found expired at least a day ago. A move deletes them with the others, but does not write them to the
        /// destination.
        var expired: [SourceRecord] = []
    }

    /// Writes the records of an entity to another entity, under the same ids. A move also removes them from the source: in the same commit,
    /// or once the new records are certain to last.
    package func transfer(
        _ source: DocumentPlace, to destination: DocumentPlace, _ version: Int, _ chain: EvolutionChain?, isMove: Bool
    ) async throws -> Int {
        var count = 0
        try await forEachPage(source) { page in
            count += try await slots.unbroken {
                let lanes = try page.flatMap { entry in
                    [try route(source, entry.address.name).slot, try route(destination, destination.id(of: entry.address.name)).slot]
                }
                return try await slots.lanes.withLanes(lanes, keyName: destination.entity) {
                    try await repeating(page, source) { try await transfer($0, source, destination, version, chain, isMove: isMove) }
                }
            }
        }
        return count
    }

    /// Throws an error if the destination protects less than the source.
    package func checkProtection(_ source: DocumentPlace, _ destination: DocumentPlace) throws {
        let (from, to) = (try route(source, source.entity), try route(destination, destination.entity))
        guard to.protection >= from.protection else {
            throw StorageError(
                StorageError.weakerProtection, key: destination.entity,
                "\(destination.entity) in \(to.domain) is protected less than \(source.entity) in \(from.domain). Nothing was changed.")
        }
    }

    /// Performs work on a page of records. If another process or task changes one of them, re-reads the records and repeats the work.
    private func repeating(
        _ page: [StoragePage.Entry], _ place: DocumentPlace, _ body: ([StoragePage.Entry]) async throws -> Int?
    ) async throws -> Int {
        var page = page
        for await _ in slots.attempts {
            if let count = try await body(page) { return count }
            try Task.checkCancellation()
            let routes = try page.map { try route(place, $0.address.name) }
            page = try zip(routes, try await Route.probes(routes)).compactMap { route, probe in
                switch probe {
                case .value(let record): StoragePage.Entry(route.address, .record(record))
                case .corrupt(let corruption): throw route.corrupted(corruption)
                default: nil
                }
            }
        }
        throw StorageError(
            StorageError.conflict, key: place.entity,
            "The records of \(place.entity) are being changed by others again and again. Run the plan again when they are done.")
    }

    /// Makes one attempt to write, or move, a page of records.
    /// - Returns: The number of written or moved records. Nil if another process or task has changed one of them since it was read. The
    ///   records that the attempt has written remain, and the next attempt finds them.
    private func transfer(
        _ page: [StoragePage.Entry], _ source: DocumentPlace, _ destination: DocumentPlace, _ version: Int, _ chain: EvolutionChain?,
        isMove: Bool
    ) async throws -> Int? {
        let plan = try await transfers(page, source, destination, version, chain)
        let backend = try slots.routes.backend(for: destination.domain, key: destination.entity).1
        guard let origin = (plan.copies.first ?? plan.expired.first)?.route else { return 0 }
        if isMove, backend.identity == origin.slot.store, backend.capabilities.atomicBatch {
            var gone: [Committer.Change] = []
            for copy in plan.copies + plan.expired {
                let erasure = try await Purger(engine: engine).deletion(of: .value(copy.record), copy.route)
                gone.append(Committer.Change(erasure, copy.route, if: .revision(copy.record.revision)))
            }
            return try await executor.run(Moves(writes: plan.puts + gone)) == nil ? nil : plan.copies.count
        }
        guard var achieved = try await executor.run(Moves(writes: plan.puts))?.durability else { return nil }
        guard isMove else { return plan.puts.count }
        if plan.puts.count < plan.copies.count, let route = plan.routes.first {
            // Some records were already in the destination. The run that wrote them may have ended before they were durable, so make them
            // durable now.
            achieved = min(achieved, try await settledDurability(of: route, nil))
        }
        let residue = await executor.purge(plan.copies, for: plan.routes, achieved: achieved).flatMap(\.self)
        if !residue.isEmpty {
            throw StorageError(
                StorageError.residueRemains, key: destination.entity,
                "The records of \(source.entity) are in \(destination.entity), and older copies remain: \(residue.joined(separator: "; ")). Run the plan again.",
                outcome: .applied)
        }
        for copy in plan.expired { _ = try await Purger(engine: engine).delete(copy.route, over: .value(copy.record)) }
        return plan.copies.count
    }

    private func transfers(
        _ page: [StoragePage.Entry], _ source: DocumentPlace, _ destination: DocumentPlace, _ version: Int, _ chain: EvolutionChain?
    ) async throws -> Transfer {
        var found: [(document: Decoded<StoredDocument>, slot: Slot<StoredDocument>, copy: SourceRecord)] = []
        var plan = Transfer()
        for entry in page {
            guard let record = entry.record else { throw try route(source, entry.address.name).damaged(entry) }
            let slot = try slots.routes.slot(for: source.key(entry.address.name, record.metadata, chain))
            let copy = SourceRecord(slot, record)
            if await history.expiries.mayPurge(record) {
                plan.expired.append(copy)
                continue
            }
            let document: Decoded<StoredDocument>
            do { document = try await coder.read(record, slot) } catch let error as StorageError {
                // No read returns an expired record, so one that cannot be converted is no error. It remains in the source.
                guard coder.isExpired(record), error.meansUndecodable else { throw error }
                continue
            }
            let id = destination.id(of: entry.address.name)
            if let declared = destination.declared, declared.version == version {
                try declared.require(document.value, coder, destination.entity, id)
            }
            let key = destination.key(id, record.metadata, version: version, demandsOwnTag: true)
            found.append((document, try slots.routes.slot(for: key), copy))
        }
        let probes = try await Route.probes(found.map(\.slot.route))
        try await requireTurn()
        for (one, probe) in zip(found, probes) {
            plan.copies.append(one.copy)
            plan.routes.append(one.slot.route)
            switch probe {
            case .value(let stored):
                let slot = try slots.routes.slot(for: destination.key(one.slot.name, stored.metadata))
                guard try await coder.decode(stored, slot) == one.document.value else {
                    throw StorageError(
                        StorageError.migrationFailed, key: one.slot.name,
                        "The record \(one.slot.name) is in \(source.entity) and, with another content, in \(destination.entity). Both are left as they are."
                    )
                }
                continue
            case .corrupt(let corruption): throw one.slot.route.corrupted(corruption)
            default: break
            }
            var prepared = try coder.prepare(one.document.value, one.slot, .carried(from: [one.copy.record.metadata]))
            if let references = one.document.references { prepared.references = references }
            plan.puts.append(
                try await executor.put(
                    prepared, origin: try await origins.kept(one.slot.untyped, over: probe), if: probe.unchanged,
                    for: ReferenceHolder(route: one.slot.route, copies: [one.copy])))
        }
        return plan
    }

    // MARK: Removing

    /// Removes the records of an entity. With `keepsBackup`, backs up each record in the same commit, or before it if the store has no
    /// atomic batches. Records that a sweep first found expired at least a day ago get no backup.
    package func remove(_ place: DocumentPlace, keepsBackup: Bool) async throws -> Int {
        var count = 0
        try await forEachPage(place) { page in
            count += try await slots.unbroken {
                let lanes = try page.map { try route(place, $0.address.name).slot }
                return try await slots.lanes.withLanes(lanes, keyName: place.entity) {
                    try await repeating(page, place) { try await remove($0, place, keepsBackup: keepsBackup) }
                }
            }
        }
        return count
    }

    private func remove(_ page: [StoragePage.Entry], _ place: DocumentPlace, keepsBackup: Bool) async throws -> Int? {
        try await requireTurn()
        var changes: [Committer.Change] = []
        for entry in page {
            let route = try route(place, entry.address.name)
            guard let record = entry.record else { throw route.damaged(entry) }
            if keepsBackup, await !history.expiries.mayPurge(record) {
                changes.append(Backups.change(of: record, at: route, version: record.metadata.schemaVersion ?? 1))
            }
            let erasure = try await Purger(engine: engine).deletion(of: .value(record), route)
            changes.append(Committer.Change(erasure, route, if: .revision(record.revision)))
        }
        return try await slots.committer.commit(changes).isCommitted ? page.count : nil
    }
}
