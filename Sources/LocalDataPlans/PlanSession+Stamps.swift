import BackendContract
import LocalData

/// What the stores say of their schema.
struct StoredStamps: Sendable {
    var stamps: [SchemaStamp?]
    /// The store of each concerned entity.
    let stores: [String: Int]
    /// Of the entities without a stamp, whether there is data; those that are not in it were not looked at.
    var hasData: [String: Bool] = [:]

    func version(of entity: String) -> String? { stores[entity].flatMap { stamps[$0]?.version(of: entity) } }

    /// Whether everything is stamped with the current version.
    func isCurrent(_ scene: PlanSession.Scene) -> Bool {
        guard let current = scene.versions.last else { return false }
        return zip(stamps, scene.stamps).allSatisfy { stamp, store in
            guard let stamp else { return false }
            return store.entities.isEmpty ? stamp.version == current : store.entities.allSatisfy { stamp.version(of: $0) == current }
        }
    }

    /// Where each concerned entity is among the versions: without a stamp at the first where there is data; without both with the rest, and at the last where there is no other.
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
                    "What is stored of \(catalog) has the version \(version), and no plan of this program begins there: it is unknown, or a later one. It was left as it is."
                )
            }
            positions[entity] = index
        }
        // What is not there yet goes with the rest: a step may be about to fill it.
        let rest = positions.values.min() ?? scene.versions.count - 1
        for entity in scene.concerned where positions[entity] == nil { positions[entity] = rest }
        return positions
    }

    /// Refuses what a later program has migrated, or has begun to: this one would take it for its own.
    /// - Parameter steps: The steps that this program knows.
    func refuseLater(_ scene: PlanSession.Scene, _ catalog: String, steps: [String]) throws {
        guard let current = scene.versions.last else { return }
        for (stamp, store) in zip(stamps, scene.stamps) {
            guard let stamp else { continue }
            let versions = store.entities.compactMap { stamp.version(of: $0) }
            if let later = versions.first(where: { !scene.versions.contains($0) }), stamp.earlier?.contains(current) == true {
                throw StorageError(
                    StorageError.incompatibleSchema, key: catalog,
                    "What is stored of \(catalog) has the version \(later), which is later than \(current), this program's. Update the program; it was left as it is."
                )
            }
            if let begun = stamp.progress?.step, !steps.contains(begun) {
                throw StorageError(
                    StorageError.incompatibleSchema, key: catalog,
                    "What is stored of \(catalog) is in the midst of the step \(begun), which this program's plan does not have. Run the program that began it again, or give the plan that step; it was left as it is."
                )
            }
        }
    }

    /// Whether a step was begun and not ended.
    var isUnfinished: Bool { stamps.contains { $0?.progress != nil } }

    /// The versions that something is stored in; those without a stamp as nil.
    func versions(_ scene: PlanSession.Scene) -> Set<String?> {
        Set(scene.concerned.filter { version(of: $0) != nil || hasData[$0] == true }.map { version(of: $0) })
    }

    /// The one version that everything is stored in.
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
    /// What is concerned, and where.
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
            // What its entities were made of, and is there no more, is theirs.
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

    /// Refuses a plan that a configuration would carry out in part.
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

    /// Refuses a declared schema that names what the catalog does not have.
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

    /// Runs work while no other call of this process does any on the catalog's schema.
    func alone<R: Sendable>(_ scene: Scene, _ body: () async throws -> R) async throws -> R {
        try await host.withLanes(of: scene.stamps.map(\.key), named: catalog, body)
    }

    /// What the stores say.
    func read(_ scene: Scene) async throws -> StoredStamps {
        var stamps: [SchemaStamp?] = []
        var stores: [String: Int] = [:]
        for (index, store) in scene.stamps.enumerated() {
            stamps.append(try await host.read(store.key))
            for entity in store.entities { stores[entity] = index }
        }
        return StoredStamps(stamps: stamps, stores: stores)
    }

    /// Whether there is data of what has no stamp.
    func look(at stored: inout StoredStamps, _ scene: Scene, all: Bool = false) async throws {
        for entity in scene.concerned where all || stored.version(of: entity) == nil {
            guard let place = scene.entities.place(of: entity) else { continue }
            stored.hasData[entity] = try await host.documents {}.hasRecords(place)
        }
    }

    /// Notes that everything concerned has a version. What another process has noted meanwhile, and is later, stays.
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

/// A step that is being run, by what is noted of it.
struct StepRun: Sendable {
    let step: BuiltStep
    let configuration: String?
    /// The stamps of the stores that were not at the step's end when it was begun.
    let stores: [PlanSession.StampedStore]
    /// The versions from the step's end on.
    let ends: Set<String>
    /// How many parts each of the stores said were done when the run began; nil where it said nothing of the step.
    var seen: [Int?] = []
    /// The first part to run.
    var start: Int { seen.contains(nil) ? 0 : seen.compactMap(\.self).max() ?? 0 }

    init(_ step: BuiltStep, _ positions: [String: Int], _ session: PlanSession, _ scene: PlanSession.Scene) {
        let end = scene.versions.firstIndex(of: step.to) ?? 0
        self.step = step
        configuration = session.configuration
        stores = scene.stamps.filter { store in store.entities.contains { positions[$0].map { $0 < end } ?? true } }
        ends = Set(scene.versions[end...])
    }

    /// How many parts a stamp says are done; nil where it says nothing of the step.
    func done(_ stamp: SchemaStamp?) -> Int? {
        guard let progress = stamp?.progress, progress.step == step.name, progress.configuration == configuration else { return nil }
        return progress.done
    }

    /// Whether a store's stamp says that another program has done a part since the run began.
    func isPast(_ part: Int, _ stamp: SchemaStamp?, at index: Int) -> Bool {
        guard let stamp else { return false }
        if let done = done(stamp), done > part, done != seen[index] { return true }
        return stores[index].entities.allSatisfy { stamp.version(of: $0).map(ends.contains) ?? false }
    }
}

/// Another program is further with a step: what this run has read of it is out of date.
struct Overtaken: Error {}

extension PlanSession {
    /// Looks how far an unfinished run of a step is. A part is noted once those before it are done everywhere, so the store that is furthest tells; but one that says
    /// nothing was not there then.
    /// - Throws: ``StorageError`` with `invalidEvolution` where what is done is not what the step begins with.
    func begin(_ run: StepRun) async throws -> StepRun {
        var next = run
        for store in run.stores {
            let stamp = try await host.read(store.key)
            next.seen.append(run.done(stamp))
            guard run.done(stamp) != nil, let progress = stamp?.progress else { continue }
            let parts = run.step.noted(in: store.entities)
            for (index, part) in progress.parts.enumerated() where !parts.dropFirst(index).starts(with: [part]) {
                // What was begun and changes records where they are may be mended: each of them is changed as long as it has the earlier version.
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

    /// Notes that a part of a step is begun, and those before it are done.
    /// - Throws: ``Overtaken`` when another program is further.
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

    /// Fails when another program is further with a step.
    func requireTurn(_ run: StepRun, _ part: Int) async throws {
        for (index, store) in run.stores.enumerated() where run.isPast(part, try await host.read(store.key), at: index) {
            throw Overtaken()
        }
    }
}
