import BackendContract
import LocalData

/// The schema stamps of all stores of a run. A stamp is a small record that stores the version of the data and the
/// progress of a step.
struct StoredStamps: Sendable {
    var stamps: [SchemaStamp?]
    /// For each entity, the index in `stamps` of the store that contains the entity.
    let stores: [String: Int]
    /// Whether an entity has data. Entities that were not checked are missing; only those without a stamp are usually checked.
    var hasData: [String: Bool] = [:]

    func version(of entity: String) -> String? { stores[entity].flatMap { stamps[$0]?.version(of: entity) } }

    /// Whether every entity is stamped with the current version.
    func isCurrent(_ scene: PlanSession.Scene) -> Bool {
        guard let current = scene.versions.last else { return false }
        return zip(stamps, scene.stamps).allSatisfy { stamp, store in
            guard let stamp else { return false }
            return store.entities.isEmpty ? stamp.version == current : store.entities.allSatisfy { stamp.version(of: $0) == current }
        }
    }

    /// The index of each entity's version in the plan's versions. An entity with data but without a stamp has the first
    /// version. An entity with neither data nor a stamp has the lowest version of the other entities. If there are no
    /// others, it has the current version.
    func positions(_ scene: PlanSession.Scene, _ catalog: String) throws -> [String: Int] {
        var positions: [String: Int] = [:]
        for entity in scene.concerned {
            guard let version = version(of: entity) else {
                if hasData[entity] == true { positions[entity] = 0 }
                continue
            }
            guard let index = scene.versions.firstIndex(of: version) else {
                throw StorageError(
                    StorageError.incompatibleSchema, key: catalog,
                    "The stored data of \(catalog) has the version \(version), and no plan of this program begins there: it is unknown, or a later one. It was not changed."
                )
            }
            positions[entity] = index
        }
        // An entity with neither data nor a stamp gets the lowest position of the others, because a step may create its
        // records.
        // Reason: "Data without a stamp has the first version" in Docs/Decisions/Evolution.md.
        let rest = positions.values.min() ?? scene.versions.count - 1
        for entity in scene.concerned where positions[entity] == nil { positions[entity] = rest }
        return positions
    }

    /// Throws `incompatibleSchema` if a later program has migrated the data or has begun to migrate it. This program
    /// would misread the data.
    /// - Parameter steps: The names of the steps in this program's plan.
    func refuseLater(_ scene: PlanSession.Scene, _ catalog: String, steps: [String]) throws {
        guard let current = scene.versions.last else { return }
        for (stamp, store) in zip(stamps, scene.stamps) {
            guard let stamp else { continue }
            let versions = store.entities.compactMap { stamp.version(of: $0) }
            if let later = versions.first(where: { !scene.versions.contains($0) }), stamp.earlier?.contains(current) == true {
                throw StorageError(
                    StorageError.incompatibleSchema, key: catalog,
                    "The stored data of \(catalog) has the version \(later), which is later than \(current), this program's. Update the program; it was not changed."
                )
            }
            if let begun = stamp.progress?.step, !steps.contains(begun) {
                throw StorageError(
                    StorageError.incompatibleSchema, key: catalog,
                    "The stored data of \(catalog) is in the midst of the step \(begun), which this program's plan does not have. Run the program that began it again, or give the plan that step; it was not changed."
                )
            }
        }
    }

    /// Whether a step was begun and not completed.
    var isUnfinished: Bool { stamps.contains { $0?.progress != nil } }

    /// The versions of the stored data; nil for data without a stamp.
    func versions(_ scene: PlanSession.Scene) -> Set<String?> {
        Set(scene.concerned.filter { version(of: $0) != nil || hasData[$0] == true }.map { version(of: $0) })
    }

    /// The version of all stored data; nil if there are several. Data without a stamp counts as the first version if the plan has
    /// several.
    func common(_ scene: PlanSession.Scene) -> String? {
        let versions = versions(scene)
        guard versions.count == 1, let only = versions.first else { return nil }
        return only ?? (scene.versions.count > 1 ? scene.versions.first : nil)
    }

    func told(_ scene: PlanSession.Scene) -> StoredSchema {
        var known: [String: String] = [:]
        for entity in scene.concerned { known[entity] = version(of: entity) }
        return StoredSchema(versions: known, entitiesWithData: Set(hasData.filter(\.value).keys))
    }
}

extension PlanSession {
    /// Determines the entities to migrate and their stores.
    func scene(_ changes: [SchemaPlan.EntityChange], versions: [String]) throws -> Scene {
        let entities = RegisteredEntities(entries, changes)
        var concerned = Set(entities.all.keys).union(changes.flatMap(\.involved))
        if let configuration {
            guard let named = schema?.configurations[configuration] else {
                throw StorageError(
                    StorageError.invalidEvolution, key: catalog,
                    "\(catalog)'s schema has no configuration \(configuration). No record was read or changed.")
            }
            concerned = Set(named)
            // Include the former entities that are no longer registered, if the plan copies or renames them to entities
            // of the configuration.
            for _ in changes {
                for change in changes {
                    if case (let from, let to)? = change.pair, concerned.contains(to), entities.all[from] == nil { concerned.insert(from) }
                }
            }
        }
        let names = concerned.sorted()
        var stores: [(BackendIdentity, StampedStore)] = []
        for name in names {
            guard let place = entities.place(of: name) else { continue }
            let key = StorageKey<SchemaStamp>(schemaStampOf: catalog, in: place.domain)
            let store = try host.store(of: key)
            if let index = stores.firstIndex(where: { $0.0 == store }) {
                let known = stores[index].1
                stores[index].1 = StampedStore(key: known.key, entities: known.entities + [name])
            } else {
                stores.append((store, StampedStore(key: key, entities: [name])))
            }
        }
        return Scene(entities: entities, concerned: names, versions: versions, stamps: stores.map(\.1))
    }

    /// Throws `invalidEvolution` if a plan copies or renames an entity into or out of the configuration, the group of
    /// entities to migrate.
    func checkConfiguration(_ changes: [SchemaPlan.EntityChange], _ scene: Scene) throws {
        guard let configuration else { return }
        for change in changes {
            guard case (let from, let to)? = change.pair, scene.concerned.contains(from) != scene.concerned.contains(to) else { continue }
            throw StorageError(
                StorageError.invalidEvolution, key: catalog,
                "The plan of \(catalog) cannot be used. \(change.spelling): it reaches out of the configuration \(configuration). No record was read or changed."
            )
        }
    }

    /// Throws if a declared schema has entities that the catalog does not have.
    func entities(of schema: CatalogSchema, _ entities: RegisteredEntities) throws(PlanProblem) {
        for entity in schema.entities where entities.all[entity.name] == nil {
            throw PlanProblem(place: "The schema \(schema.version)", what: "the catalog has no key or collection \(entity.name)")
        }
        for (name, group) in schema.configurations.sorted(by: { $0.key < $1.key }) {
            for entity in group where entities.place(of: entity) == nil || entities.all[entity] == nil && !isMentioned(entity, schema) {
                throw PlanProblem(place: "The configuration \(name)", what: "the catalog has no key or collection \(entity)")
            }
        }
    }

    private func isMentioned(_ entity: String, _ schema: CatalogSchema) -> Bool { schema.entity(entity) != nil }

    /// Runs work while no other call of this process migrates the catalog.
    func alone<R: Sendable>(_ scene: Scene, _ body: () async throws -> R) async throws -> R {
        try await host.withLanes(of: scene.stamps.map(\.key), named: catalog, body)
    }

    /// Reads the stamps of all stores.
    func read(_ scene: Scene) async throws -> StoredStamps {
        var stamps: [SchemaStamp?] = []
        var stores: [String: Int] = [:]
        for (index, store) in scene.stamps.enumerated() {
            stamps.append(try await host.read(store.key))
            for entity in store.entities { stores[entity] = index }
        }
        return StoredStamps(stamps: stamps, stores: stores)
    }

    /// Checks which entities without a stamp have data.
    /// - Parameter all: Whether to check entities with a stamp, too.
    func look(at stored: inout StoredStamps, _ scene: Scene, all: Bool = false) async throws {
        for entity in scene.concerned where all || stored.version(of: entity) == nil {
            guard let place = scene.entities.place(of: entity) else { continue }
            stored.hasData[entity] = try await host.documents {}.hasRecords(place)
        }
    }

    /// Stamps all entities of the run with a version. It keeps a later version that another process has stamped.
    func stamp(_ version: String, _ scene: Scene) async throws {
        let versions = scene.versions
        @Sendable func isLater(_ other: String?) -> Bool {
            guard let index = other.flatMap({ versions.firstIndex(of: $0) }), let own = versions.firstIndex(of: version) else {
                return false
            }
            return index > own
        }
        let before = versions.firstIndex(of: version).map { versions[..<$0] } ?? []
        for store in scene.stamps {
            let entities = configuration == nil ? nil : store.entities
            try await host.update(store.key) { [isLater] stamp in
                var next = stamp ?? SchemaStamp()
                let earlier = Set(next.earlier ?? []).union(before).union(next.version.map { [$0] } ?? []).subtracting([version])
                next.earlier = earlier.isEmpty ? nil : earlier.sorted()
                if let entities {
                    var named = next.entities ?? [:]
                    for entity in entities where !isLater(next.version(of: entity)) { named[entity] = version }
                    next.entities = named
                } else {
                    if !isLater(next.version) { next.version = version }
                    let later = (next.entities ?? [:]).filter { isLater($0.value) }
                    next.entities = later.isEmpty ? nil : later
                }
                next.progress = nil
                stamp = next
            }
        }
    }
}

/// A step that is being run, with its recorded progress. The parts of a step are the hook before it, the units of work,
/// and the hook after it. A hook is a closure of the program.
struct StepRun: Sendable {
    let step: BuiltStep
    let configuration: String?
    /// The stores that had not reached the step's last version when it was begun.
    let stores: [PlanSession.StampedStore]
    /// The step's last version, and all later versions.
    let ends: Set<String>
    /// The number of completed parts in each store's stamp when the run began; nil if the stamp does not mention the step.
    var seen: [Int?] = []
    /// The index of the first part to run.
    var start: Int { seen.contains(nil) ? 0 : seen.compactMap(\.self).max() ?? 0 }

    init(_ step: BuiltStep, _ positions: [String: Int], _ session: PlanSession, _ scene: PlanSession.Scene) {
        let end = scene.versions.firstIndex(of: step.to) ?? 0
        self.step = step
        configuration = session.configuration
        stores = scene.stamps.filter { store in store.entities.contains { positions[$0].map { $0 < end } ?? true } }
        ends = Set(scene.versions[end...])
    }

    /// The number of completed parts in a stamp; nil if the stamp does not mention the step.
    func done(_ stamp: SchemaStamp?) -> Int? {
        guard let progress = stamp?.progress, progress.step == step.name, progress.configuration == configuration else { return nil }
        return progress.done
    }

    /// Whether another program has completed a part since the run began, according to a store's stamp.
    func isPast(_ part: Int, _ stamp: SchemaStamp?, at index: Int) -> Bool {
        guard let stamp else { return false }
        if let done = done(stamp), done > part, done != seen[index] { return true }
        return stores[index].entities.allSatisfy { stamp.version(of: $0).map(ends.contains) ?? false }
    }
}

/// Thrown if another program has completed a part of a step first. The data that this run has read is out of date.
struct Overtaken: Error {}

extension PlanSession {
    /// Reads the progress of an unfinished step from the stamps. A part is recorded after the previous parts are complete in all stores,
    /// so the furthest stamp is the progress of the step. If a store's stamp does not mention the step, the store is new, and the step
    /// starts from its first part.
    /// - Throws: `StorageError` with `invalidEvolution` if the completed parts differ from the first parts of the step.
    func begin(_ run: StepRun) async throws -> StepRun {
        var next = run
        for store in run.stores {
            let stamp = try await host.read(store.key)
            next.seen.append(run.done(stamp))
            guard run.done(stamp) != nil, let progress = stamp?.progress else { continue }
            let parts = run.step.noted(in: store.entities)
            for (index, part) in progress.parts.enumerated() where !parts.dropFirst(index).starts(with: [part]) {
                // The plan may change an unfinished update, because the update converts each record that still has the earlier version.
                if index == progress.done, !["RenameEntity", "CopyEntity", "RemoveEntity"].contains(where: { part.hasPrefix($0) }) {
                    continue
                }
                throw StorageError(
                    StorageError.invalidEvolution, key: catalog,
                    "The plan of \(catalog) cannot be used. The step \(run.step.name): an earlier run has \(index < progress.done ? "done" : "begun") \(part) as its part \(index + 1), and here that is \(run.step.parts.dropFirst(index).first ?? "missing"). Let the step begin with what was done. No record was read or changed."
                )
            }
        }
        return next
    }

    /// Records in the stamps that a part of a step has begun, and that the previous parts are complete.
    /// - Throws: ``Overtaken`` if another program has already completed the part.
    func note(_ run: StepRun, begun part: Int) async throws {
        for (index, store) in run.stores.enumerated() {
            let progress = SchemaStamp.Progress(
                step: run.step.name, configuration: configuration, done: part,
                parts: Array(run.step.noted(in: store.entities).prefix(part + 1)))
            let isPast = try await host.update(store.key) { stamp in
                if run.isPast(part, stamp, at: index) { return true }
                var next = stamp ?? SchemaStamp()
                next.progress = progress
                stamp = next
                return false
            }
            if isPast { throw Overtaken() }
        }
    }

    /// Throws ``Overtaken`` if another program has already completed a part of a step.
    func requireTurn(_ run: StepRun, _ part: Int) async throws {
        for (index, store) in run.stores.enumerated() where run.isPast(part, try await host.read(store.key), at: index) {
            throw Overtaken()
        }
    }
}
