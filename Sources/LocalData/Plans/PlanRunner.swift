import BackendContract
import BackendRuntime

/// Carries out steps that were checked: unit by unit, and each of these page by page.
struct PlanRunner: Sendable {
    let session: PlanSession
    let scene: PlanSession.Scene
    /// The part of a step that is being run; nil for what can be inferred.
    var turn: (run: StepRun, part: Int)?

    init(session: PlanSession, scene: PlanSession.Scene, turn: (run: StepRun, part: Int)? = nil) {
        self.session = session
        self.scene = scene
        self.turn = turn
    }

    /// Fails when another program is further: what was read before may be what it has written since.
    func requireTurn() async throws {
        if let turn { try await session.requireTurn(turn.run, turn.part) }
    }

    var env: Environment { session.env }

    /// Runs what is left of a step.
    /// - Parameter positions: Where each entity is among the versions; what is at the step's end already is not touched.
    /// - Returns: How many records were changed; nil when there was nothing of the step left for these entities.
    func run(_ step: BuiltStep, _ positions: [String: Int]) async throws -> Int? {
        let end = scene.versions.firstIndex(of: step.to) ?? 0
        func isConcerned(_ unit: PlanUnit) -> Bool { unit.involved.contains { positions[$0].map { $0 < end } ?? false } }
        let units = step.units.filter(isConcerned)
        if units.isEmpty, !step.units.isEmpty, session.configuration != nil || positions.values.allSatisfy({ $0 >= end }) { return nil }
        let run = try await session.begin(StepRun(step, positions, session, scene))
        let done = run.start
        if done == 0, step.willMigrate == nil {
            try await unlessOvertaken(run, 0) { try await check(units) }
        }
        var records = 0
        for part in step.parts.indices where part >= done {
            try Task.checkCancellation()
            let index = part - (step.willMigrate == nil ? 0 : 1)
            if step.units.indices.contains(index), !isConcerned(step.units[index]) { continue }
            // A hook that comes first has not changed anything if it fails: an earlier program may go on as before.
            if index < 0 { try await session.requireTurn(run, part) } else { try await session.note(run, begun: part) }
            let runner = PlanRunner(session: session, scene: scene, turn: (run, part))
            records += try await unlessOvertaken(run, part) {
                switch index {
                case step.units.indices: return try await runner.run(step.units[index])
                case ..<0:
                    // The hook may mend what the step could not change: another version of it may be needed, so it is done once the step is known to succeed.
                    try await call("willMigrate of \(step.to)", step.willMigrate)
                    try await check(units)
                default: try await call("didMigrate of \(step.to)", step.didMigrate)
                }
                return 0
            }
        }
        if records > 0 { env.ledger.worked("\(session.catalog):plan:\(step.from)>\(step.to)") }
        return records
    }

    private func call(_ what: String, _ hook: SchemaPlan.RunHook?) async throws {
        guard let hook else { return }
        let run = MigrationRun(reason: .sweep, previousVersion: nil, host: session.host)
        try await session.calling(what) { try await hook(run) }
    }

    /// Runs work on a part of a step. What it fails with is nothing to tell when another program has done the part meanwhile.
    /// - Throws: ``Overtaken`` then.
    private func unlessOvertaken<R>(_ run: StepRun, _ part: Int, _ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch let error as StorageError where !(error.code == StorageError.cancelled) {
            do { try await session.requireTurn(run, part) } catch is Overtaken { throw Overtaken() } catch {}
            throw error
        }
    }

    /// Tries what a step does to its records, as far as no part of it depends on an earlier one: a record that cannot be changed fails the step before anything is written.
    private func check(_ units: [PlanUnit]) async throws {
        var touched: Set<String> = []
        for unit in units {
            if case .update(let name, let chain) = unit.work, !touched.contains(name) {
                let place = try place(name)
                let chain = checking(chain, place)
                for version in chain.older {
                    try await forEachPage(place, version: version) { page in
                        for entry in page { _ = try await conversion(of: entry, place, chain) }
                    }
                }
            }
            touched.formUnion(unit.involved)
        }
    }

    private func run(_ unit: PlanUnit) async throws -> Int {
        switch unit.work {
        case .update(let name, let chain):
            let place = try place(name)
            return try await update(place, checking(chain, place))
        case .copy(let name, let other, let version, let chain):
            return try await transfer(try place(name), to: try place(other), version, chain, isMove: false)
        case .rename(let name, let other, let version, let chain):
            return try await transfer(try place(name), to: try place(other), version, chain, isMove: true)
        case .remove(let name, let keepsBackup): return try await remove(try place(name), keepsBackup: keepsBackup)
        }
    }

    func place(_ name: String) throws -> EntityPlace {
        if let place = scene.entities.place(of: name) { return place }
        throw StorageError(StorageError.invalidEvolution, key: session.catalog, "Nothing says where \(name) is. Nothing was changed.")
    }

    // MARK: What can be inferred

    /// Brings the records of earlier versions to the declared shape: with defaults for what is missing, and original names.
    func infer() async throws -> Int {
        var records = 0
        for name in scene.concerned {
            guard let entity = scene.entities.all[name], !entity.hasChain, !scene.entities.ambiguous.contains(name), entity.version > 1
            else { continue }
            let place = try place(name)
            let shape = session.schema?.entity(name)?.attributes ?? []
            var chain = EvolutionChain(base: 1)
            chain.steps.append(
                EvolutionStep(from: 1...(entity.version - 1), to: entity.version, role: .link) { value, context in
                    try value.changeDocument { try Self.infer(shape, &$0, context) }
                })
            chain.version = entity.version
            let checked = checking(chain, place)
            for version in checked.older {
                try await forEachPage(place, version: version) { page in
                    for entry in page { _ = try await conversion(of: entry, place, checked) }
                }
            }
            records += try await update(place, checked)
        }
        return records
    }

    private static func infer(_ shape: [AttributeDescription], _ document: inout StoredDocument, _ context: EvolutionContext) throws {
        if shape.isEmpty { return }
        guard var properties = document.root.object else {
            throw StorageError(
                StorageError.migrationFailed, key: context.record,
                "The record \(context.record) of \(context.entity) has no attributes. It is left as it is.")
        }
        for attribute in shape where properties[attribute.name] == nil || properties[attribute.name] == .null {
            if let old = attribute.originalName.flatMap({ properties.removeValue(forKey: $0) }) { properties[attribute.name] = old }
            if let value = properties[attribute.name], value != .null { continue }
            if let value = attribute.defaultValue {
                properties[attribute.name] = value
            } else if !attribute.isOptional {
                throw StorageError(
                    StorageError.migrationFailed, key: context.record,
                    "The attribute \(attribute.name) of the record \(context.record) of \(context.entity) is missing, and nothing says what it is. The record is left as it is."
                )
            }
        }
        document.root = .object(properties)
    }

    // MARK: Records

    /// A chain whose end has to be of the program's own type, where that is what the program declares.
    private func checking(_ chain: EvolutionChain, _ place: EntityPlace) -> EvolutionChain {
        guard let registered = place.registered, registered.version == chain.version else { return chain }
        var checked = chain
        checked.steps = chain.steps.map { step in
            guard step.to == chain.version else { return step }
            return EvolutionStep(from: step.from, to: step.to, role: step.role) { [coder = env.coder] value, context in
                try step.apply(&value, context)
                try registered.require(try value.document(), coder, context.entity, context.record)
            }
        }
        return checked
    }

    /// Whether an entity's place holds anything.
    func hasRecords(_ place: EntityPlace) async throws -> Bool {
        switch place.kind {
        case .key: return try await route(place, place.entity).probe().isOccupied
        case .collection:
            let (_, backend) = try env.routes.backend(for: place.domain, key: place.entity)
            var cursor: StorageCursor?
            repeat {
                let page = try await translatingErrors(key: place.entity) { [cursor] () throws(BackendError) in
                    try await backend.page(StorageQuery(place.namespace), after: cursor, limit: 1)
                }
                if !page.entries.isEmpty { return true }
                cursor = page.next
            } while cursor != nil
            return false
        }
    }

    /// The records of an entity, page by page; of one version, if it is given.
    func forEachPage(_ place: EntityPlace, version: Int? = nil, _ body: ([StoragePage.Entry]) async throws -> Void) async throws {
        switch place.kind {
        case .collection:
            let conditions = version.map { [StorageQuery.Condition.attribute(StorageMetadata.versionAttribute, String($0))] } ?? []
            let pages = RecordPages(
                routes: env.routes, domain: place.domain, collection: place.entity, query: StorageQuery(place.namespace, conditions),
                size: env.pageSize)
            for try await page in pages {
                try Task.checkCancellation()
                try await body(page)
            }
        case .key:
            let route = try route(place, place.entity)
            switch try await route.probe() {
            case .value(let record):
                if let version, version != record.metadata.schemaVersion ?? 1 { return }
                try await body([StoragePage.Entry(route.address, .record(record))])
            case .corrupt(let corruption): throw route.corrupted(corruption)
            default: return
            }
        }
    }

    func route(_ place: EntityPlace, _ id: String) throws -> Route {
        try env.routes.slot(for: place.key(id, StorageMetadata(schemaVersion: 1))).route
    }
}

extension StorageProbe {
    /// Whether there is something else than nothing, or the mark of a removal.
    fileprivate var isOccupied: Bool {
        switch self {
        case .value, .corrupt: true
        default: false
        }
    }
}

extension RegisteredEntities.Entity {
    /// Fails for a document that is none of the program's type.
    func require(_ document: StoredDocument, _ coder: RecordCoder, _ entity: String, _ record: String) throws {
        do { try check(coder, document) } catch {
            throw StorageError(
                StorageError.migrationFailed, key: record,
                "The record \(record) of \(entity) would not be a \(typeTag) as the program declares it: \(CodingFailure(error)). It is left as it is.",
                underlying: CodingFailure(error))
        }
    }
}
