import BackendContract
import Crypto
import LocalData

/// One unit of work in a step of a plan. A step leads from one schema version to a later one. Each unit is completed
/// before the next one begins.
struct PlanUnit: Sendable {
    enum Work: Sendable {
        /// Converts an entity's records to the last version of a chain of versions.
        case update(String, EvolutionChain)
        /// Copies an entity's records to another entity, at the given version. The chain converts the records; without a chain, records
        /// of any version are read. A move removes the originals.
        case copy(String, to: String, version: Int, EvolutionChain?, isMove: Bool)
        /// Removes an entity's records.
        case remove(String, keepsBackup: Bool)
    }

    let work: Work
    /// The description of the unit in the schema stamps, the records beside the data that store a plan's progress. A
    /// plan can continue a step only if its units have the same names.
    let name: String

    init(_ work: Work, _ name: String) {
        self.work = work
        self.name = name
    }

    /// The entities that the unit reads or changes.
    var involved: [String] {
        switch work {
        case .update(let name, _), .remove(let name, _): [name]
        case .copy(let name, let other, _, _, _): [name, other]
        }
    }
}

/// An entity that a step creates. The step must verify that the entity has no records of an earlier version, because no chain could read
/// them.
struct PlanBeginning: Sendable {
    let entity: String
    /// The version of its first records.
    let version: Int
    /// The change of the plan that creates the entity, for messages.
    let spelling: String
    /// The number of units of the step that come before the creation of this entity.
    let unitsBefore: Int
}

/// The planned operations of a step: its units of work, and the entities that it creates.
struct PlanWork: Sendable {
    var units: [PlanUnit] = []
    var beginnings: [PlanBeginning] = []
}

/// A verified step, with its planned operations.
struct BuiltStep: Sendable {
    let from: String
    let to: String
    let kind: PlanReport.Step.Kind
    let work: PlanWork
    var willMigrate: SchemaPlan.Hook?
    var didMigrate: SchemaPlan.Hook?

    var units: [PlanUnit] { work.units }
    /// The name of the step in the stamps.
    var name: String { "\(from)>\(to)" }
    /// The names of the step's parts in the stamps, in order: the hook before the step, the units, and the hook after
    /// the step. A hook is a closure of the program.
    var parts: [String] {
        (willMigrate == nil ? [] : ["willMigrate"]) + units.map(\.name) + (didMigrate == nil ? [] : ["didMigrate"])
    }

    /// The names of the step's parts in the stamp of a store with the given entities. A part that involves entities of other stores is
    /// stored as a digest, because a store must not reveal their names.
    func noted(in entities: [String]) -> [String] {
        let strangers = Set(units.filter { !Set($0.involved).isSubset(of: entities) }.map(\.name))
        return parts.map { strangers.contains($0) ? Self.digest($0) : $0 }
    }

    /// Returns a form of a part's name that hides the entities: the first word of the name, and a digest of the whole
    /// name.
    private static func digest(_ part: String) -> String {
        "\(part.prefix { $0 != " " }) #\(hexadecimalText(of: SHA256.hash(data: Array(part.utf8)).prefix(8)))"
    }
}

/// The verified plans of a policy. All kinds of policies are converted to this form.
struct BuiltPlan: Sendable {
    /// The names of all versions. A version comes before every version to which steps lead from it.
    let versions: [String]
    var steps: [BuiltStep] = []
    /// For each entity of the last version, the chain of versions that converts its earlier records. Empty if the
    /// policy has several plans and no chain of steps. Such plans may begin at different versions of the catalog, but a
    /// record contains only the version of its entity. Its conversion would therefore be ambiguous.
    var chains: [String: EvolutionChain] = [:]

    var current: String { versions.last ?? "" }
}

/// Verifies a policy's plans against the declared schema and the registered entities, and builds the steps. It reads and writes no data.
struct PlanBuilder {
    let adHoc: [SchemaPlan.AdHocMigration]
    let chain: SchemaPlan.MigrationChain?
    let schema: CatalogSchema?
    let entities: RegisteredEntities
    let keepsRemoved: Bool

    /// The versions of the plans, the current one last.
    func versions() throws(PlanProblem) -> [String] {
        let links = chain?.migrations.map(\.version) ?? []
        var seen: Set<String> = []
        for version in links where !seen.insert(version).inserted {
            throw PlanProblem(place: "ModelMigration \(version)", what: "two steps lead to \(version): a circle")
        }
        if chain != nil, links.isEmpty { throw PlanProblem(place: "MigrationChain", what: "it has no step") }
        guard let current = links.last ?? schema?.version else {
            throw PlanProblem(place: "adHoc", what: "nothing says which version the plans lead to: declare the catalog's schema")
        }
        if let schema, schema.version != current {
            throw PlanProblem(
                place: "MigrationChain",
                what: links.contains(schema.version)
                    ? "it goes on to \(current), and the catalog's schema is \(schema.version)"
                    : "it ends in \(current), and no step leads from there to \(schema.version), the catalog's schema: a gap")
        }
        let strangers = adHoc.filter { chain == nil || ends(of: $0, links).from == $0.name && !links.contains($0.name) }.map(\.name)
        for name in strangers where name == current {
            throw PlanProblem(place: "AdHocMigration \(name)", what: "it begins at the version that it leads to: a circle")
        }
        for (index, name) in strangers.enumerated() where strangers[..<index].contains(name) {
            throw PlanProblem(place: "AdHocMigration \(name)", what: "two plans begin at \(name). Remove one of them")
        }
        return strangers + (links.isEmpty ? [current] : links)
    }

    /// The version at which a plan begins, and the version to which it leads. The latter is nil for the current
    /// version.
    private func ends(of plan: SchemaPlan.AdHocMigration, _ links: [String]) -> (from: String, to: String?) {
        if plan.target != nil || links.contains(plan.name) { return (plan.name, plan.target) }
        for from in links where plan.name.hasPrefix("\(from)To") {
            let rest = String(plan.name.dropFirst(from.count + 2))
            if links.contains(rest) { return (from, rest) }
        }
        return (plan.name, nil)
    }

    /// All changes of all steps.
    var changes: [SchemaPlan.EntityChange] { (chain?.migrations.flatMap(\.changes) ?? []) + adHoc.flatMap(\.changes) }

    func build() throws(PlanProblem) -> BuiltPlan {
        let versions = try versions()
        var plan = BuiltPlan(versions: versions)
        var models: [String: PlanModel] = [:]
        var model = PlanModel()
        for (index, migration) in (chain?.migrations ?? []).enumerated() {
            let place = "ModelMigration \(migration.version)"
            if migration.stage == .lightweight, migration.willMigrate != nil || migration.didMigrate != nil {
                throw PlanProblem(place: place, what: "a lightweight stage has no hooks: make it a custom one")
            }
            let work = try apply(migration.changes, to: &model, place, migration.stage, targets: nil)
            if index > 0, let before = chain?.migrations[index - 1].version {
                plan.steps.append(
                    BuiltStep(
                        from: before, to: migration.version, kind: .incremental, work: work, willMigrate: migration.willMigrate,
                        didMigrate: migration.didMigrate))
            }
            models[migration.version] = model
        }
        plan.chains = model.entities.mapValues(\.chain)
        if chain != nil { try check(end: model, "MigrationChain") }
        for migration in adHoc {
            let (step, end) = try build(migration, versions, models)
            plan.steps.append(step)
            if chain == nil, adHoc.count == 1 { plan.chains = end.entities.mapValues(\.chain) }
        }
        return plan
    }

    private func build(
        _ migration: SchemaPlan.AdHocMigration, _ versions: [String], _ models: [String: PlanModel]
    ) throws(PlanProblem) -> (step: BuiltStep, end: PlanModel) {
        let place = "AdHocMigration \(migration.name)"
        let ends = ends(of: migration, chain?.migrations.map(\.version) ?? [])
        let to = ends.to ?? versions.last ?? ""
        guard let first = versions.firstIndex(of: ends.from), let last = versions.firstIndex(of: to) else {
            throw PlanProblem(place: place, what: "it leads to \(to), which is no version of the chain: a gap")
        }
        if first >= last {
            throw PlanProblem(place: place, what: "it leads from \(ends.from) to \(to): a circle. A step must lead to a later version")
        }
        let links = chain?.migrations.map(\.version) ?? []
        let alike = adHoc.filter { other in
            let theirs = self.ends(of: other, links)
            return theirs.from == ends.from && (theirs.to ?? versions.last) == to
        }
        if alike.count > 1 {
            throw PlanProblem(
                place: place,
                what: "two plans lead from \(ends.from) to \(to): \(alike.map(\.name).joined(separator: " and ")). Remove one of them")
        }
        var model = models[ends.from] ?? PlanModel(isOpen: true)
        var targets: [String: Int] = [:]
        if let target = models[to] { targets = target.entities.mapValues(\.version) } else { targets = entities.versions }
        var work = try apply(migration.changes, to: &model, place, .custom, targets: targets)
        if let target = models[to] {
            let differences = model.differences(in: target)
            if !differences.isEmpty {
                throw PlanProblem(
                    place: place, what: "it ends otherwise than the chain does in \(to): there, \(differences.joined(separator: ", "))")
            }
            for (name, entity) in model.entities.sorted(by: { $0.key < $1.key }) {
                guard let version = targets[name], version != entity.version else { continue }
                guard version > entity.version else { throw versionProblem(place, name, entity.version, version) }
                let chain = entity.chain.reaching(version, from: entity.version...entity.version, [])
                work.units.append(PlanUnit(.update(name, chain), "UpdateEntity \(name)"))
            }
        } else {
            try check(end: model, place)
        }
        return (BuiltStep(from: ends.from, to: to, kind: .adHoc, work: work), model)
    }

    private func versionProblem(_ place: String, _ entity: String, _ plan: Int, _ declared: Int) -> PlanProblem {
        PlanProblem(
            place: place,
            what:
                "it brings \(entity) to version \(plan), and \(entity) is declared with version \(declared). Declare it with .version(\(plan))"
        )
    }

    /// Verifies that the last version of a plan matches the declarations of the program.
    private func check(end model: PlanModel, _ place: String) throws(PlanProblem) {
        if let schema {
            let differences = model.differences(in: schema)
            if !differences.isEmpty {
                throw PlanProblem(
                    place: place,
                    what: "it ends otherwise than the catalog declares \(schema.version): there, \(differences.joined(separator: ", "))")
            }
        }
        for (name, entity) in model.entities.sorted(by: { $0.key < $1.key }) {
            guard let declared = entities.versions[name] else {
                throw PlanProblem(place: place, what: "it ends with \(name), and the catalog has no key or collection of that name")
            }
            if entity.version > 0, entity.version != declared { throw versionProblem(place, name, entity.version, declared) }
        }
    }

    // MARK: Changes

    /// Applies the changes of a step to a model, and returns the planned operations of the step.
    /// - Parameter targets: The final versions of the entities. Nil for a step of a chain, which increments each
    ///   version by one.
    private func apply(
        _ changes: [SchemaPlan.EntityChange], to model: inout PlanModel, _ step: String, _ stage: SchemaPlan.Stage, targets: [String: Int]?
    ) throws(PlanProblem) -> PlanWork {
        var work = PlanWork()
        for (index, change) in changes.enumerated() {
            let place = "\(step), \(change.spelling)"
            for name in change.involved {
                if let problem = entities.problem(of: name) { throw PlanProblem(place: place, what: problem) }
            }
            if let problem = entities.contradiction(in: change) { throw PlanProblem(place: place, what: problem) }
            let application = PlanChange(
                change: change, later: changes[(index + 1)...], place: place, stage: stage, targets: targets, keepsRemoved: keepsRemoved)
            try application.apply(to: &model, &work, entities)
        }
        return work
    }
}

/// A change of a step that is applied to the model of a plan.
private struct PlanChange {
    let change: SchemaPlan.EntityChange
    /// The changes of the step that come after this one.
    let later: ArraySlice<SchemaPlan.EntityChange>
    /// The change, for messages.
    let place: String
    let stage: SchemaPlan.Stage
    /// The final versions of the entities, if the step leads to the catalog's schema.
    let targets: [String: Int]?
    let keepsRemoved: Bool

    func apply(to model: inout PlanModel, _ work: inout PlanWork, _ entities: RegisteredEntities) throws(PlanProblem) {
        switch change.verb {
        case .copy where stage == .lightweight, .remove where stage == .lightweight:
            throw PlanProblem(place: place, what: "it cannot be inferred: make the stage a custom one")
        case .add(let attributes): try add(attributes, to: &model, &work)
        case .update(let attributes): try update(attributes, in: &model, &work)
        case .copy(let name), .rename(let name): try copy(to: name, in: &model, &work, entities)
        case .remove(let keepsBackup):
            _ = try model.existing(change.entity, at: place)
            model.remove(change.entity)
            work.units.append(PlanUnit(.remove(change.entity, keepsBackup: keepsBackup && keepsRemoved), change.identity))
        }
    }

    private func add(
        _ attributes: [SchemaPlan.AttributeChange], to model: inout PlanModel, _ work: inout PlanWork
    ) throws(PlanProblem) {
        try model.requireAbsence(of: change.entity, at: place)
        var entity = EntityModel(version: version(of: change.entity, after: 0))
        entity.chain.version = entity.version
        entity.chain = EvolutionChain(base: 1).reaching(entity.version, from: 1...max(1, entity.version - 1), [])
        try entity.apply(attributes, place, areRecordsThere: false, stage)
        begin(change.entity, entity, in: &model, &work)
    }

    private func update(
        _ attributes: [SchemaPlan.AttributeChange], in model: inout PlanModel, _ work: inout PlanWork
    ) throws(PlanProblem) {
        var entity = try model.existing(change.entity, at: place)
        try entity.apply(attributes, place, areRecordsThere: true, stage)
        if entity.version == 0 {
            let end = targets?[change.entity] ?? 1
            if end < 2 {
                throw PlanProblem(
                    place: place,
                    what: "its records get a new version, and \(change.entity) is declared with version 1. Declare it with .version(2)")
            }
            entity.chain = EvolutionChain(base: 1).reaching(end, from: 1...(end - 1), attributes)
            entity.version = end
        } else {
            let next = version(of: change.entity, after: entity.version)
            entity.chain = entity.chain.reaching(next, from: entity.version...entity.version, attributes, isLink: targets == nil)
            entity.version = next
        }
        model.entities[change.entity] = entity
        work.units.append(PlanUnit(.update(change.entity, entity.chain), change.identity))
    }

    /// Copies or renames the entity.
    private func copy(
        to name: String, in model: inout PlanModel, _ work: inout PlanWork, _ entities: RegisteredEntities
    ) throws(PlanProblem) {
        let entity = try model.existing(change.entity, at: place)
        try model.requireAbsence(of: name, at: place)
        if let problem = entities.kindsDiffer(change.entity, name) { throw PlanProblem(place: place, what: problem) }
        var new = entity
        new.version = version(of: name, after: 0)
        new.chain = EvolutionChain(base: 1).reaching(new.version, from: 1...max(1, new.version - 1), [])
        begin(name, new, in: &model, &work)
        let reading = entity.version == 0 ? nil : entity.chain
        let isMove = if case .rename = change.verb { true } else { false }
        if isMove { model.remove(change.entity) }
        work.units.append(PlanUnit(.copy(change.entity, to: name, version: new.version, reading, isMove: isMove), change.identity))
    }

    /// Adds an entity to the model, and notes that its records begin with this change.
    private func begin(_ name: String, _ entity: EntityModel, in model: inout PlanModel, _ work: inout PlanWork) {
        model.entities[name] = entity
        model.removed.remove(name)
        work.beginnings.append(
            PlanBeginning(entity: name, version: entity.version, spelling: place, unitsBefore: work.units.count))
    }

    /// The version of the records that this change writes. It is the final version if no later change of the step
    /// updates the entity.
    private func version(of name: String, after current: Int) -> Int {
        let isLast = !later.contains { later in
            if case .update = later.verb { return later.entity == name }
            return false
        }
        return isLast ? max(current + 1, targets?[name] ?? current + 1) : current + 1
    }
}

extension EntityModel {
    fileprivate mutating func apply(
        _ changes: [SchemaPlan.AttributeChange], _ place: String, areRecordsThere: Bool, _ stage: SchemaPlan.Stage
    ) throws(PlanProblem) {
        for change in changes {
            do throws(PlanProblem) {
                if !areRecordsThere, case .add = change.verb {
                } else if !areRecordsThere {
                    throw PlanProblem(place: change.spelling, what: "a new entity only has attributes that are added")
                }
                try apply(change, areRecordsThere: areRecordsThere, stage: stage)
            } catch { throw PlanProblem(place: "\(place), \(error.place)", what: error.what) }
        }
    }
}

extension EvolutionChain {
    /// This chain with one more step, or this chain unchanged if it has already reached the version.
    func reaching(
        _ version: Int, from: ClosedRange<Int>, _ changes: [SchemaPlan.AttributeChange], isLink: Bool = true
    ) -> EvolutionChain {
        guard version > from.upperBound else { return self }
        var next = self
        next.steps.append(
            EvolutionStep(from: from, to: version, role: isLink ? .link : .shortcut) { value, context in
                try value.changeDocument { try changes.apply(to: &$0, context) }
            })
        next.version = version
        return next
    }
}
