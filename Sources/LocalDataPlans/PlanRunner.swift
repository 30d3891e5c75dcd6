import LocalData

/// Runs verified steps. It runs the parts of a step in order: the hook before the step, the units of work, and the hook
/// after the step. A hook is a closure of the program. The runner records the progress in the schema stamps, small
/// records beside the data. ``DocumentRecords`` writes the records of entities (keys and collections).
struct PlanRunner: Sendable {
    let session: PlanSession
    let scene: PlanSession.Scene

    var records: DocumentRecords { session.host.documents {} }

    /// Access to the records for one part of a step. A write fails if another program has already completed the part.
    private func records(of run: StepRun, _ part: Int) -> DocumentRecords {
        session.host.documents { [session] in try await session.requireTurn(run, part) }
    }

    /// Runs the remaining parts of a step.
    /// - Parameter positions: For each entity, the index of its present version in the plan's versions. Entities that
    ///   have reached the step's last version are skipped.
    /// - Returns: The number of changed records; nil if the step was already complete for these entities.
    func run(_ step: BuiltStep, _ positions: [String: Int]) async throws -> Int? {
        let end = scene.versions.firstIndex(of: step.to) ?? 0
        func isConcerned(_ entities: [String]) -> Bool { entities.contains { positions[$0].map { $0 < end } ?? false } }
        let units = step.units.filter { isConcerned($0.involved) }
        if units.isEmpty, !step.units.isEmpty, session.configuration != nil || positions.values.allSatisfy({ $0 >= end }) { return nil }
        let run = try await session.begin(StepRun(step, positions, session, scene))
        let done = run.start
        if done == 0, step.willMigrate == nil {
            try await unlessOvertaken(run, 0) { try await check(step, isConcerned) }
        }
        var count = 0
        for part in step.parts.indices where part >= done {
            try Task.checkCancellation()
            let index = part - (step.willMigrate == nil ? 0 : 1)
            if step.units.indices.contains(index), !isConcerned(step.units[index].involved) { continue }
            // Do not record that the first hook has begun. A program of an earlier version refuses data if a step is
            // recorded as begun. If the hook fails, no record was migrated, so such a program may still use the data.
            if index < 0 { try await session.requireTurn(run, part) } else { try await session.note(run, begun: part) }
            count += try await unlessOvertaken(run, part) {
                switch index {
                case step.units.indices: return try await self.run(step.units[index], records(of: run, part))
                case ..<0:
                    // Check the records after the hook, because it may repair records that the step could not convert. The hook is
                    // complete only after the check succeeds, so a corrected hook can run again.
                    try await call("willMigrate of \(step.to)", step.willMigrate)
                    try await check(step, isConcerned)
                default: try await call("didMigrate of \(step.to)", step.didMigrate)
                }
                return 0
            }
        }
        if count > 0 { session.host.noteWork(of: "\(session.catalog):plan:\(step.from)>\(step.to)") }
        return count
    }

    private func call(_ what: String, _ hook: SchemaPlan.Hook?) async throws {
        guard let hook else { return }
        try session.host.requireReal(what, session.catalog)
        try await session.calling(what) { try await hook(session.router) }
    }

    /// Runs a part of a step. If it fails, checks whether another program has completed the part since this run began.
    /// - Throws: ``Overtaken`` if another program has completed the part; otherwise the error of the part.
    private func unlessOvertaken<R>(_ run: StepRun, _ part: Int, _ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch let error as StorageError where !(error.code == StorageError.cancelled) {
            do { try await session.requireTurn(run, part) } catch is Overtaken { throw Overtaken() } catch {}
            throw error
        }
    }

    /// Converts records without writing them, for all parts that do not depend on earlier parts. Therefore a record that cannot be
    /// converted fails the step before anything is written.
    private func check(_ step: BuiltStep, _ isConcerned: ([String]) -> Bool) async throws {
        var touched: Set<String> = []
        for index in 0...step.units.count {
            for beginning in step.work.beginnings where beginning.unitsBefore == index && !touched.contains(beginning.entity) {
                if isConcerned([beginning.entity]) { try await check(beginning) }
            }
            guard step.units.indices.contains(index), isConcerned(step.units[index].involved) else { continue }
            let unit = step.units[index]
            if case .update(let name, let chain) = unit.work, !touched.contains(name) {
                try await records.check(try place(name), chain)
            }
            touched.formUnion(unit.involved)
        }
    }

    /// Fails if a new entity already has records of an earlier version. No chain could convert or read them.
    private func check(_ beginning: PlanBeginning) async throws {
        guard let version = try await records.earliestVersion(of: try place(beginning.entity), below: beginning.version) else { return }
        throw session.incompatible(
            "\(beginning.spelling): \(beginning.entity) has records of version \(version) already, and it begins with version \(beginning.version). Convert them with UpdateEntity, or remove them first."
        )
    }

    private func run(_ unit: PlanUnit, _ records: DocumentRecords) async throws -> Int {
        switch unit.work {
        case .update(let name, let chain):
            return try await records.update(try place(name), chain)
        case .copy(let name, let other, let version, let chain, let isMove):
            return try await records.transfer(try place(name), to: try place(other), version, chain, isMove: isMove)
        case .remove(let name, let keepsBackup): return try await records.remove(try place(name), keepsBackup: keepsBackup)
        }
    }

    func place(_ name: String) throws -> DocumentPlace {
        if let place = scene.entities.place(of: name) { return place }
        throw StorageError(StorageError.invalidEvolution, key: session.catalog, "Nothing says where \(name) is. Nothing was changed.")
    }

    // MARK: Inferred changes

    /// Converts records of earlier versions to the declared schema. It renames attributes by their original names, and adds defaults for
    /// missing attributes.
    func infer() async throws -> Int {
        var count = 0
        for name in scene.concerned {
            guard let chain = inferredChain(name) else { continue }
            let place = try place(name)
            try await records.check(place, chain)
            count += try await records.update(place, chain)
        }
        return count
    }

    /// The chain that converts an entity's earlier records to its declared schema. Nil if the entity has no earlier version, or if the
    /// program declares its own chain.
    func inferredChain(_ name: String) -> EvolutionChain? {
        guard let entity = scene.entities.all[name], !entity.hasChain, !scene.entities.ambiguous.contains(name), entity.version > 1 else {
            return nil
        }
        let shape = session.schema?.entity(name)?.attributes ?? []
        var chain = EvolutionChain(base: 1)
        chain.steps.append(
            EvolutionStep(from: 1...(entity.version - 1), to: entity.version, role: .link) { value, context in
                try value.changeDocument { try Self.infer(shape, &$0, context) }
            })
        chain.version = entity.version
        return chain
    }

    private static func infer(_ shape: [AttributeDescription], _ document: inout StoredDocument, _ context: EvolutionContext) throws {
        if shape.isEmpty { return }
        guard var properties = document.root.object else {
            throw StorageError(
                StorageError.migrationFailed, key: context.record,
                "The record \(context.record) of \(context.entity) has no attributes. It was not changed.")
        }
        for attribute in shape where properties[attribute.name] == nil || properties[attribute.name] == .null {
            if let old = attribute.originalName.flatMap({ properties.removeValue(forKey: $0) }) { properties[attribute.name] = old }
            if let value = properties[attribute.name], value != .null { continue }
            if let value = attribute.defaultValue {
                properties[attribute.name] = value
            } else if !attribute.isOptional {
                throw StorageError(
                    StorageError.migrationFailed, key: context.record,
                    "The attribute \(attribute.name) of the record \(context.record) of \(context.entity) is missing, and nothing says what it is. The record was not changed."
                )
            }
        }
        document.root = .object(properties)
    }
}
