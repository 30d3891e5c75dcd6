import BackendContract

/// Moves a value from legacy locations to the destination.
///
/// The order of the steps is safe: read the value, write it to a destination without a usable value, make it durable, read it
/// back, and only then delete the copies.
struct Mover: EnginePart, Sendable {
    let engine: Engine

    /// The content of a destination without a usable value.
    enum Occupant: Sendable {
        case none
        /// A record that does not decode as the key's type.
        case undecodable(StorageRecord, any Error)
        /// Bytes that are not a record.
        case corrupt(StorageCorruption)
    }

    /// The result of one attempt to run a migration.
    enum Attempt {
        /// The key is settled.
        case finished(Visit)
        /// The destination changed since it was read.
        case lookAgain
        /// Every source is empty.
        case foundNothing
        /// The condition of the migration does not hold, or the migration does not make a value yet.
        case waits
    }

    /// Tries one migration for a destination without a usable value.
    func attempt<Value>(
        _ migration: AnyStorageMigration, _ slot: Slot<Value>, _ run: MigrationRun, _ occupant: Occupant
    ) async throws -> Attempt {
        do {
            switch migration.form {
            case .custom(let custom): return try await attempt(custom, migration.id, slot, run)
            case .step:
                guard let step = migration.step(for: Value.self) else { return .waits }
                return try await attempt(step, slot, run, occupant)
            }
        } catch {
            history.ledger.counts.failed(migration.id, error)
            throw error
        }
    }

    /// Tries a ready-made migration for a destination without a usable value.
    func attempt<Value>(
        _ step: MigrationStep<Value>, _ slot: Slot<Value>, _ run: MigrationRun, _ occupant: Occupant
    ) async throws -> Attempt {
        guard try await program.wrappingUserErrors(slot.name, { try await step.mayRun(run) }) else { return .waits }
        try checkProtection(of: step.sources, step.options, slot.untyped)
        if case .none = occupant, try await settleInPlace(step.sources, slot.id, run) { return .lookAgain }
        // Read the removal epoch before the sources. The write of the value fails if another epoch has begun since.
        let epoch = try await RemovalEpochs(engine: engine).current(for: slot.untyped)
        var probes: [SourceReader.Probe] = []
        for source in step.sources {
            probes.append(
                try await SourceReader(engine: engine).read(
                    source.base, for: slot.untyped, occupant, step.options, run, keeps: step.keepsSources))
        }
        if !step.isAggregating, case .removed = probes.first {
            if let isSealed = try await SealedRemovals(engine: engine).seal(occupant, slot.untyped, as: step.sources[0]) {
                return isSealed ? .finished(Visit(state: .removed)) : .lookAgain
            }
            // The source was removed, so values of older sources do not count. Unreadable content at the destination stays, and the
            // call throws.
            guard case .none = occupant else { return try await Self.emptiness(occupant, slot.route).map(Attempt.finished) ?? .lookAgain }
            return .finished(Visit(state: .removed))
        }
        let readings = probes.compactMap { if case .value(let reading) = $0 { reading } else { nil } }
        if readings.isEmpty { return .foundNothing }
        let values = probes.map { probe -> (any Sendable)? in if case .value(let reading) = probe { reading.value } else { nil } }
        guard let value = try await program.wrappingUserErrors(slot.name, { try step.combine(values) }) else { return .waits }
        return try await move(value, step, slot, run, occupant, readings, epoch)
    }

    /// Runs the migrations of sources that are in the slot of the key itself. If no earlier release ran, these migrations have not moved
    /// the value to this slot yet.
    /// - Returns: Whether the slot may have a value now.
    private func settleInPlace(_ sources: [AnyStorageKey], _ destination: PhysicalSlot, _ run: MigrationRun) async throws -> Bool {
        func settle<Key: TypedKey>(_ key: Key) async throws -> Bool {
            let slot = try slots.routes.slot(for: key.typed)
            guard slot.id == destination, slot.key.hasMigration else { return false }
            // The caller holds the lane of this slot.
            let visit = try await Settler(engine: engine).settle(slot, await program.run(run.reason, slot.id, within: run))
            return ![.absent, .removed, .expired].contains(visit.state)
        }
        for source in sources where try await settle(source.base) { return true }
        return false
    }

    // MARK: Custom migrations

    private func attempt<Value>(
        _ custom: AnyStorageMigration.CustomMigration, _ id: String, _ slot: Slot<Value>, _ run: MigrationRun
    ) async throws -> Attempt {
        guard let result = try await self.run(custom, id, slot.name, run) else { return .waits }
        switch try await slot.route.read() {
        case .value(let record):
            do { _ = try await coder.decode(record, slot) } catch let error as StorageError where error.meansUndecodable {
                return .waits
            }
            return .finished(
                Visit(state: .moved, from: result.sources, bytes: max(result.bytes, record.payload.byteCount)))
        case .tombstone: return .finished(Visit(state: .removed))
        default: return .waits
        }
    }

    /// Runs a custom migration; returns nil if its `shouldMigrate` returns false.
    func run(
        _ custom: AnyStorageMigration.CustomMigration, _ id: String, _ name: String, _ run: MigrationRun
    ) async throws -> MigrationResult? {
        let result = try await program.wrappingUserErrors(name) { () -> MigrationResult? in
            guard try await custom.shouldMigrate(run) else { return nil }
            try program.requireReal("The migration \(id)", name)
            return try await custom.migrate(run)
        }
        guard let result else { return nil }
        guard result.isSuccess else {
            throw StorageError(
                StorageError.migrationFailed, key: name,
                "The migration \(id) reported that it failed. Older values are where it left them.", underlying: result.errors.first)
        }
        history.ledger.worked(id)
        return result
    }

    // MARK: Protection

    /// Throws `weakerProtection` if the destination protects less or is less durable than a source, unless the options allow
    /// it. It needs only the declarations of the keys, so it is called before anything is read.
    func checkProtection(of sources: [AnyStorageKey], _ options: MigrationOptions, _ slot: UntypedSlot) throws {
        if options.allowsWeakerProtection { return }
        let route = slot.route
        for source in sources {
            let sourceRoute = try slots.routes.route(for: source)
            if route.protection < sourceRoute.protection {
                throw StorageError(
                    StorageError.weakerProtection, key: slot.name,
                    "\(source.name) is protected as \(sourceRoute.protection) in \(sourceRoute.domain); \(route.domain) with the policy \(slot.key.security) would protect it as \(route.protection) only. Choose a stronger place, or say allowsWeakerProtection."
                )
            }
            if route.capabilities.durability < sourceRoute.capabilities.durability {
                throw StorageError(
                    StorageError.weakerProtection, key: slot.name,
                    "\(source.name) is kept durably in \(sourceRoute.domain); \(route.domain) would not keep it as long. Choose a durable place, or say allowsWeakerProtection."
                )
            }
        }
    }

    // MARK: Moving

    private func move<Value>(
        _ value: Value, _ step: MigrationStep<Value>, _ slot: Slot<Value>, _ run: MigrationRun, _ occupant: Occupant,
        _ readings: [SourceReader.Reading], _ epoch: Committer.Change?
    ) async throws -> Attempt {
        let route = slot.route
        let elsewhere = readings.filter { !$0.isInPlace }.map(\.source)
        try await origins.requireLasting(elsewhere, for: slot.untyped)
        let prepared = try ValuePreparer(engine: engine).prepare(
            value, slot, WriteAttributes.carried(from: readings.map(\.source.record.metadata)))
        let precondition = try await makeRoom(occupant, step, slot, elsewhere, isInPlace: elsewhere.count < readings.count)
        let kept = try windowPlaces.declared(by: slot.untyped)
        // `copied(from:)` keeps its sources. A release window keeps its legacy location until a sweep ends the window.
        let replaced = step.keepsSources ? [] : elsewhere
        let emptied = replaced.filter { $0.route.slot != kept?.route.slot }
        var origin = try await origins.made(of: replaced, migration: step.id, for: route)
        if let kept {
            origin.noteOpen(kept.name)
            if replaced.contains(where: { $0.route.slot == kept.route.slot }) { try await origins.noteMade(&origin, of: kept) }
        }
        // A value that was converted in its slot still replaces the copies that the origin of the former record named.
        for old in readings where old.isInPlace { origin.merge(try await origins.past(of: old.source, for: route)) }
        let holder = ReferenceHolder(
            route: route, copies: readings.map(\.source), allowsWeakerProtection: step.options.allowsWeakerProtection)
        let written = try await executor.run(
            prepared, slot, origin: origin, if: precondition, with: [epoch], replacing: emptied, for: holder)
        guard let written else { return .lookAgain }
        var visit = Visit(
            state: elsewhere.isEmpty ? .converted : step.keepsSources ? .copied : .moved,
            from: readings.map(\.source.route.reported),
            protectionBefore: readings.map(\.source.route.protection).min(), bytes: written.record.payload.byteCount)
        visit.residue = written.residue
        if let kept, kept.isOpen {
            let source = replaced.first { $0.route.slot == kept.route.slot }?.record
            await windows.afterMove(of: MirroredRecord(written.record, origin), prepared, from: source, at: kept)
        }
        history.ledger.counts.moved([(route, readings.map(\.source.route), step.id)])
        return .finished(visit)
    }

    /// Quarantines the content of the destination that the new value replaces. A record from which the new value was made is
    /// quarantined only with the option `keepsReplacedBytes`.
    /// - Returns: The precondition that the destination is unchanged since it was read.
    private func makeRoom<Value>(
        _ occupant: Occupant, _ step: MigrationStep<Value>, _ slot: Slot<Value>, _ elsewhere: [SourceRecord], isInPlace: Bool
    ) async throws -> StorageMutation.Precondition {
        let route = slot.route
        switch occupant {
        case .none: return .absent
        case .undecodable(let record, let error):
            if !isInPlace, (error as? StorageError)?.code == StorageError.encryptionKeyMismatch { throw error }
            // A record whose origin names these copies is newer than they are: it has another shape, and is not damaged.
            if !isInPlace, let past = try? await coder.origin(of: record.metadata, route),
                elsewhere.contains(where: { past.match($0.record, at: $0.route.place.text) != .none })
            {
                throw error
            }
            if !isInPlace || step.options.keepsReplacedBytes {
                try await history.quarantine.keep(record, of: route, beside: elsewhere.map(\.route), reason: "replaced: it did not decode")
            }
            return .revision(record.revision)
        case .corrupt(let corruption):
            return try await history.quarantine.keep(corruption, of: route, beside: elsewhere.map(\.route))
        }
    }

    /// Returns the result of a visit that found no value: `absent` if the destination is empty. Throws if the destination has
    /// content that cannot be read. Returns nil if the destination changed since it was read.
    static func emptiness(_ occupant: Occupant, _ route: Route) async throws -> Visit? {
        switch (occupant, try await route.read()) {
        case (.none, .absent): return Visit(state: .absent)
        case (.undecodable(let record, let error), .value(let now)) where now.revision == record.revision: throw error
        case (.corrupt(let corruption), .corrupt(let now)) where now == corruption: throw route.corrupted(corruption)
        default: return nil
        }
    }
}
