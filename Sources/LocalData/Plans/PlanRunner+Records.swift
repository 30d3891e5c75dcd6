import BackendContract
import BackendRuntime

/// Changing, copying, moving and removing the records of an entity without their type.
extension PlanRunner {
    // MARK: Changing

    /// What makes a record one of a chain's end; nil when it is already, or has expired.
    func conversion(
        of entry: StoragePage.Entry, _ place: EntityPlace, _ chain: EvolutionChain
    ) async throws -> MigrationEngine.RecordChange? {
        guard let record = entry.record else { throw try route(place, entry.address.name).damaged(entry) }
        return try await engine.conversion(of: entry, to: place.key(entry.address.name, record.metadata, chain))
    }

    /// Brings an entity's records to the end of a chain; each page is one commit, where the store can.
    func update(_ place: EntityPlace, _ chain: EvolutionChain) async throws -> Int {
        var count = 0
        for version in chain.older {
            try await forEachPage(place, version: version) { page in
                count += try await engine.unbroken { try await update(page, place, chain) }
            }
        }
        return count
    }

    private func update(_ page: [StoragePage.Entry], _ place: EntityPlace, _ chain: EvolutionChain) async throws -> Int {
        var changes: [MigrationEngine.RecordChange] = []
        for entry in page { if let change = try await conversion(of: entry, place, chain) { changes.append(change) } }
        try await requireTurn()
        let slots = changes.map(\.route.slot)
        if try await engine.lanes.withLanes(slots, keyName: place.entity, { [changes] in try await engine.commit(changes) }) {
            return changes.count
        }
        var count = 0
        for change in changes {
            let isWritten = try await engine.lanes.withLane(change.route.slot, keyName: change.route.keyName) {
                try await update(change.route, place, chain)
            }
            count += isWritten ? 1 : 0
        }
        return count
    }

    /// Writes one record in its new shape. False when it has that already, or is gone.
    private func update(_ route: Route, _ place: EntityPlace, _ chain: EvolutionChain) async throws -> Bool {
        for _ in 0..<MigrationEngine.attempts {
            guard case .value(let record) = try await engine.standing(route) else { return false }
            guard let change = try await conversion(of: StoragePage.Entry(route.address, .record(record)), place, chain) else {
                return false
            }
            try await requireTurn()
            try await engine.store(change.references, for: change.holder)
            if try await engine.write(change.mutations, at: [route], in: route.backend) != nil { return true }
        }
        throw route.error(for: .notAttempted)
    }

    // MARK: Copying and moving

    private struct Transfer: Sendable {
        var puts: [StorageMutation] = []
        var putRoutes: [Route] = []
        var copies: [SourceRecord] = []
        var routes: [Route] = []
        /// Records whose lifetime is over: they go with the others, and come nowhere.
        var expired: [SourceRecord] = []
    }

    /// Writes an entity's records to another, under their ids, and in a move removes them where they were once they are certain to stay.
    func transfer(
        _ source: EntityPlace, to destination: EntityPlace, _ version: Int, _ chain: EvolutionChain?, isMove: Bool
    ) async throws -> Int {
        var count = 0
        try await forEachPage(source) { page in
            count += try await engine.unbroken {
                let slots = try page.flatMap { entry in
                    let id = destination.kind == .key ? destination.entity : entry.address.name
                    return [try route(source, entry.address.name).slot, try route(destination, id).slot]
                }
                return try await engine.lanes.withLanes(slots, keyName: destination.entity) {
                    try await repeating(page, source) { try await transfer($0, source, destination, version, chain, isMove: isMove) }
                }
            }
        }
        return count
    }

    /// Fails for a destination that protects less than where the records are.
    func checkProtection(_ source: EntityPlace, _ destination: EntityPlace) throws {
        let (from, to) = (try route(source, source.entity), try route(destination, destination.entity))
        guard to.protection >= from.protection else {
            throw StorageError(
                StorageError.weakerProtection, key: destination.entity,
                "\(destination.entity) in \(to.domain) is protected less than \(source.entity) in \(from.domain). Nothing was changed.")
        }
    }

    /// Does work on a page of records, anew with what stands there then when somebody else has changed one of them meanwhile.
    private func repeating(
        _ page: [StoragePage.Entry], _ place: EntityPlace, _ body: ([StoragePage.Entry]) async throws -> Int?
    ) async throws -> Int {
        var page = page
        for _ in 0..<MigrationEngine.attempts {
            if let count = try await body(page) { return count }
            try Task.checkCancellation()
            let routes = try page.map { try route(place, $0.address.name) }
            guard let first = routes.first else { return 0 }
            page = try zip(routes, try await engine.probes(routes, in: first.backend)).compactMap { route, probe in
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

    /// Nil when somebody else has changed one of the records meanwhile: what was written until then stays, and is found.
    private func transfer(
        _ page: [StoragePage.Entry], _ source: EntityPlace, _ destination: EntityPlace, _ version: Int, _ chain: EvolutionChain?,
        isMove: Bool
    ) async throws -> Int? {
        let plan = try await transfers(page, source, destination, version, chain)
        let backend = try engine.routes.backend(for: destination.domain, key: destination.entity).1
        guard let origin = (plan.copies.first ?? plan.expired.first)?.route else { return 0 }
        let gone = (plan.copies + plan.expired).map { copy in
            StorageMutation(copy.route.address, MigrationEngine.erasure(of: .value(copy.record)), if: .revision(copy.record.revision))
        }
        if isMove, backend.identity == origin.slot.store, backend.capabilities.atomicBatch {
            let isWritten: Bool
            if plan.puts.isEmpty {
                isWritten = try await applyAll(gone, origin)
            } else {
                isWritten = try await engine.write(plan.puts, at: plan.putRoutes, in: backend, with: gone.map { ($0, origin) }) != nil
            }
            guard isWritten else { return nil }
            for copy in plan.copies + plan.expired { engine.hub.publish(nil, at: copy.route.slot) }
            return plan.copies.count
        }
        var achieved = StorageDurability.durable
        if backend.capabilities.atomicBatch, !plan.puts.isEmpty {
            guard let reached = try await engine.write(plan.puts, at: plan.putRoutes, in: backend) else { return nil }
            achieved = reached
        } else {
            for (put, route) in zip(plan.puts, plan.putRoutes) {
                guard let reached = try await engine.write([put], at: [route], in: backend) else { return nil }
                achieved = min(achieved, reached)
            }
        }
        guard isMove else { return plan.puts.count }
        if plan.puts.count < plan.copies.count, let route = plan.routes.first {
            // Some were there already: written by a run that may not have learnt whether they last.
            achieved = min(achieved, try await engine.settledDurability(of: route, nil))
        }
        let residue = try await engine.collectTogether(plan.copies, for: plan.routes, achieved: achieved)
        if !residue.isEmpty {
            throw StorageError(
                StorageError.residueRemains, key: destination.entity,
                "The records of \(source.entity) are in \(destination.entity), and older copies remain: \(residue.joined(separator: "; ")). Run the plan again.",
                outcome: .applied)
        }
        for copy in plan.expired { _ = try await engine.erase(copy.route, on: .value(copy.record)) }
        return plan.copies.count
    }

    private func transfers(
        _ page: [StoragePage.Entry], _ source: EntityPlace, _ destination: EntityPlace, _ version: Int, _ chain: EvolutionChain?
    ) async throws -> Transfer {
        var found: [(document: Decoded<StoredDocument>, key: StorageKey<StoredDocument>, copy: SourceRecord, route: Route)] = []
        var plan = Transfer()
        for entry in page {
            let sourceRoute = try route(source, entry.address.name)
            guard let record = entry.record else { throw sourceRoute.damaged(entry) }
            let sourceKey = source.key(entry.address.name, record.metadata, chain)
            let copy = SourceRecord(key: .key(sourceKey), route: sourceRoute, record: record)
            if record.metadata.isExpired(at: engine.runtime.clock.wallSeconds) {
                plan.expired.append(copy)
                continue
            }
            let document = try await engine.records.decodeTelling(record, sourceKey, sourceRoute)
            let id = destination.kind == .key ? destination.entity : entry.address.name
            if let registered = destination.registered, registered.version == version {
                try registered.require(document.value, engine.records, destination.entity, id)
            }
            let key = destination.key(id, record.metadata, version: version, demandsOwnTag: true)
            found.append((document, key, copy, try engine.routes.route(for: key)))
        }
        guard let first = found.first else {
            try await requireTurn()
            return plan
        }
        let probes = try await engine.probes(found.map(\.route), in: first.route.backend)
        try await requireTurn()
        for (one, probe) in zip(found, probes) {
            plan.copies.append(one.copy)
            plan.routes.append(one.route)
            switch probe {
            case .value(let standing):
                let mine = try await engine.records.decode(standing, destination.key(one.key.name, standing.metadata), one.route)
                guard mine == one.document.value else {
                    throw StorageError(
                        StorageError.migrationFailed, key: one.key.name,
                        "The record \(one.key.name) is in \(source.entity) and, with another content, in \(destination.entity). Both are left as they are."
                    )
                }
                continue
            case .corrupt(let corruption): throw one.route.corrupted(corruption)
            default: break
            }
            let references = one.document.references ?? ReferenceCollector()
            let (payload, metadata) = try await engine.records.encode(
                one.document.value, one.key, one.route, origin: nil, .carried(from: [one.copy.record.metadata]), references)
            try await engine.store(references, for: ReferenceHolder(route: one.route, copies: [one.copy]))
            plan.puts.append(.put(payload, metadata, at: one.route.address, if: probe.revision.map { .revision($0) } ?? .absent))
            plan.putRoutes.append(one.route)
        }
        return plan
    }

    // MARK: Removing

    /// Removes an entity's records, once copies of them are certain to be there if they are to be kept.
    func remove(_ place: EntityPlace, keepsBackup: Bool) async throws -> Int {
        var count = 0
        try await forEachPage(place) { page in
            count += try await engine.unbroken {
                let slots = try page.map { try route(place, $0.address.name).slot }
                return try await engine.lanes.withLanes(slots, keyName: place.entity) {
                    try await repeating(page, place) { try await remove($0, place, keepsBackup: keepsBackup) }
                }
            }
        }
        return count
    }

    private func remove(_ page: [StoragePage.Entry], _ place: EntityPlace, keepsBackup: Bool) async throws -> Int? {
        try await requireTurn()
        var (kept, gone, routes): ([StorageMutation], [StorageMutation], [Route]) = ([], [], [])
        for entry in page {
            let route = try route(place, entry.address.name)
            guard let record = entry.record else { throw route.damaged(entry) }
            if keepsBackup, !record.metadata.isExpired(at: engine.runtime.clock.wallSeconds),
                let backup = engine.backup(of: record, at: route, version: record.metadata.schemaVersion ?? 1)
            {
                kept.append(backup)
            }
            gone.append(StorageMutation(route.address, MigrationEngine.erasure(of: .value(record)), if: .revision(record.revision)))
            routes.append(route)
        }
        guard let first = routes.first else { return 0 }
        // Where the store has no commits of several changes, the copies come first.
        let parts = first.capabilities.atomicBatch ? [kept + gone] : (kept + gone).map { [$0] }
        for part in parts where !part.isEmpty {
            guard try await applyAll(part, first) else { return nil }
        }
        for route in routes { engine.hub.publish(nil, at: route.slot) }
        return gone.count
    }

    /// Makes changes of one store. False when somebody else changed one of the slots meanwhile.
    private func applyAll(_ mutations: [StorageMutation], _ route: Route) async throws -> Bool {
        let results = try await translatingErrors(key: route.keyName) { () throws(BackendError) in
            try await route.backend.apply(mutations)
        }
        for result in results {
            switch result {
            case .applied: continue
            case .conflict(.corrupt), .locked, .failed: throw route.error(for: result)
            case .conflict, .notAttempted: return false
            }
        }
        return true
    }
}
