import BackendContract
import LocalData
import Logging

/// One run of a migration policy over a catalog. It reads the stored versions, verifies the plan, and runs the steps
/// from the stored version to the current one.
struct PlanSession: Sendable {
    let host: any PlanHost
    /// The router that is passed to the hooks of a plan, which are closures of the program.
    let router: StorageRouter
    let catalog: String
    let schema: CatalogSchema?
    let entries: [AnyStorageKey]
    /// The group of entities to migrate; nil for all entities.
    let configuration: String?

    /// The maximum number of restarts after another program completed a part of a step first.
    private static let mostAttempts = 64

    /// The entities, versions and stores of a run.
    struct Scene: Sendable {
        let entities: RegisteredEntities
        /// The names of the entities to migrate.
        let concerned: [String]
        let versions: [String]
        /// The stamps of the stores, each with the entities in that store.
        let stamps: [StampedStore]
    }

    struct StampedStore: Sendable {
        let key: StorageKey<SchemaStamp>
        let entities: [String]
    }

    /// The result of a run: its report, and a chain of versions for each entity. Reads use the chain to convert earlier
    /// records to the declared schema.
    struct Outcome: Sendable {
        var report: PlanReport
        var chains: [String: EvolutionChain] = [:]
    }

    func run(_ policy: SchemaPlan.Policy) async throws -> Outcome {
        switch policy.form {
        case .custom(let own): return try await run(own)
        case .lightweight:
            let scene = try scene([], versions: schema.map { [$0.version] } ?? [])
            return try await alone(scene) { Outcome(report: try await infer(scene, nil), chains: inferred(scene)) }
        case .plans(let adHoc, let chain):
            let changes = (chain?.migrations.flatMap(\.changes) ?? []) + adHoc.flatMap(\.changes)
            let builder = PlanBuilder(
                adHoc: adHoc, chain: chain, schema: schema, entities: RegisteredEntities(entries, changes),
                keepsRemoved: policy.options.keepsRemovedEntities)
            let scene = try scene(changes, versions: try checked { () throws(PlanProblem) in try builder.versions() })
            return try await alone(scene) { try await run(builder, policy.options, scene) }
        }
    }

    // MARK: Policies

    private func run(_ builder: PlanBuilder, _ options: SchemaPlan.Policy.Options, _ scene: Scene) async throws -> Outcome {
        var stored = try await read(scene)
        if stored.isCurrent(scene), !stored.isUnfinished, !options.forceValidateModel {
            // All data is current, so the plan need not be verified. Its chains of versions are still needed: an
            // earlier program may store records, and reads must convert these records.
            let chains = (try? builder.build()).map { own($0.chains, scene) } ?? [:]
            return Outcome(report: PlanReport(from: scene.versions.last, to: scene.versions.last), chains: chains)
        }
        let plan = try checked { () throws(PlanProblem) in
            if let schema { try entities(of: schema, builder.entities) }
            return try builder.build()
        }
        try checkConfiguration(builder.changes, scene)
        try checkProtection(plan, scene)
        try stored.refuseLater(scene, catalog, steps: plan.steps.map(\.name))
        let chains = own(plan.chains, scene)
        if stored.isCurrent(scene) { return Outcome(report: PlanReport(from: plan.current, to: plan.current), chains: chains) }
        try await look(at: &stored, scene)
        var report = PlanReport(from: stored.common(scene))
        var isOvertaken = 0
        do {
            while true {
                let positions = try stored.positions(scene, catalog)
                let start = positions.values.min() ?? scene.versions.count - 1
                if start == scene.versions.count - 1 { break }
                guard let step = step(plan, from: start, positions, scene, stored) else {
                    throw incompatible("No plan leads from \(scene.versions[start]) to \(plan.current), for all of \(catalog)'s entities.")
                }
                do {
                    if let records = try await PlanRunner(session: self, scene: scene).run(step, positions) {
                        report.steps.append(PlanReport.Step(from: step.from, to: step.to, kind: step.kind, records: records))
                    }
                    try await stamp(step.to, scene)
                } catch is Overtaken {
                    isOvertaken += 1
                    if isOvertaken > Self.mostAttempts {
                        throw StorageError(
                            StorageError.conflict, key: catalog,
                            "The plan of \(catalog) is being run by others again and again. Run it again when they are done.")
                    }
                }
                stored = try await read(scene)
                try await look(at: &stored, scene)
            }
        } catch let error as StorageError where options.lightWeightBackup && Self.allowsFallback(error) {
            host.logger.notice(
                "A migration plan could not be carried out; what can be inferred is done instead.",
                metadata: ["event": "localdata.plan_inferred", "catalog": "\(catalog)", "code": "\(error.code)"])
            do { report.steps += try await infer(scene, error).steps } catch let second as StorageError {
                throw StorageError(
                    second.code, key: second.keyName, "\(error.message) What can be inferred failed too: \(second.message)",
                    outcome: second.outcome, underlying: second.underlying)
            }
            report.fallback = error.description
            report.to = plan.current
            return Outcome(report: report, chains: inferred(scene))
        }
        // Entities without a stamp and without data are current.
        if !stored.isCurrent(scene) { try await stamp(plan.current, scene) }
        report.to = plan.current
        return Outcome(report: report, chains: chains)
    }

    private func run(_ own: any StorageMigrationPolicy) async throws -> Outcome {
        guard let schema else {
            throw StorageError(.invalidEvolution, key: catalog, "A custom policy needs the catalog's declared schema. Nothing was changed.")
        }
        let scene = try scene([], versions: [schema.version])
        var stored = try await read(scene)
        try await look(at: &stored, scene, all: true)
        let told = stored.told(scene)
        let fits = try await calling("validateModel") { try await own.validateModel(schema, in: told) }
        var description = StorageMigrationDescription()
        own.configureStoreDescription(&description)
        if fits {
            if !stored.isCurrent(scene) { try await alone(scene) { try await stamp(schema.version, scene) } }
            return Outcome(report: PlanReport(from: told.version, to: schema.version))
        }
        var policy = try await calling("resolveIncompatible") { try await own.resolveIncompatible(dataModel: schema, in: told) }
        if case .custom = policy.form {
            throw StorageError(
                StorageError.invalidEvolution, key: catalog,
                "A custom policy must choose one of the built-in policies, but it chose a custom one again. Nothing was changed.")
        }
        policy.options.lightWeightBackup = policy.options.lightWeightBackup || description.lightWeightBackup
        policy.options.keepsRemovedEntities = description.keepsRemovedEntities
        return try await run(policy)
    }

    /// Applies the changes that can be inferred from the declared schema, and stamps its version.
    private func infer(_ scene: Scene, _ failure: StorageError?) async throws -> PlanReport {
        if let schema { try checked { () throws(PlanProblem) in try entities(of: schema, scene.entities) } }
        var stored = try await read(scene)
        let current = schema?.version
        if current != nil, stored.isCurrent(scene), !stored.isUnfinished, failure == nil { return PlanReport(from: current, to: current) }
        if failure == nil { try stored.refuseLater(scene, catalog, steps: []) }
        try await look(at: &stored, scene)
        var report = PlanReport(from: stored.common(scene), to: current)
        let records = try await PlanRunner(session: self, scene: scene).infer()
        let begins = stored.versions(scene)
        let isOther = begins.contains { $0 != current }
        if records > 0 || (isOther && current != nil) || failure != nil {
            report.steps.append(
                PlanReport.Step(from: report.from, to: current ?? report.from ?? "", kind: .lightweight, records: records))
        }
        if let current { try await stamp(current, scene) }
        return report
    }

    /// The chains whose last version matches the declared version of the entity.
    private func own(_ chains: [String: EvolutionChain], _ scene: Scene) -> [String: EvolutionChain] {
        chains.filter { name, chain in
            guard scene.concerned.contains(name), !scene.entities.ambiguous.contains(name), let entity = scene.entities.all[name] else {
                return false
            }
            return !entity.hasChain && entity.version == chain.version && !chain.steps.isEmpty && chain.problem == nil
        }
    }

    private func inferred(_ scene: Scene) -> [String: EvolutionChain] {
        let runner = PlanRunner(session: self, scene: scene)
        var chains: [String: EvolutionChain] = [:]
        for name in scene.concerned { chains[name] = runner.inferredChain(name) }
        return chains
    }

    /// The next step from a version: the step from this version that was already begun, or else the longest possible
    /// step. A step is possible if every entity has the step's first version, or the step's last version or a later
    /// one.
    private func step(
        _ plan: BuiltPlan, from start: Int, _ positions: [String: Int], _ scene: Scene, _ stored: StoredStamps
    ) -> BuiltStep? {
        func index(_ version: String) -> Int { scene.versions.firstIndex(of: version) ?? 0 }
        let begun = Set(stored.stamps.compactMap { $0?.progress?.step })
        if let step = plan.steps.first(where: { begun.contains($0.name) && index($0.from) == start }) { return step }
        return plan.steps.filter { step in
            index(step.from) == start && positions.values.allSatisfy { $0 == start || $0 >= index(step.to) }
        }
        // If two steps reach the same version, prefer the one outside the chain.
        .max { (index($0.to), $0.kind == .adHoc ? 1 : 0) < (index($1.to), $1.kind == .adHoc ? 1 : 0) }
    }

    /// Throws if a plan copies or moves records to a location with weaker protection.
    private func checkProtection(_ plan: BuiltPlan, _ scene: Scene) throws {
        let runner = PlanRunner(session: self, scene: scene)
        for unit in plan.steps.flatMap(\.units) {
            guard case .copy(let name, let other, _, _, _) = unit.work else { continue }
            try runner.records.checkProtection(try runner.place(name), try runner.place(other))
        }
    }

    // Reason: "A plan is checked before it writes" in Docs/Decisions/Evolution.md.
    private static func allowsFallback(_ error: StorageError) -> Bool {
        !error.isTransient && error.code != StorageError.invalidEvolution
    }

    // MARK: Errors

    func checked<R>(_ body: () throws(PlanProblem) -> R) throws -> R {
        do throws(PlanProblem) { return try body() } catch {
            throw StorageError(
                StorageError.invalidEvolution, key: catalog,
                "The plan of \(catalog) cannot be used. \(error.place): \(error.what). No record was read or changed.")
        }
    }

    func incompatible(_ message: String) -> StorageError {
        StorageError(StorageError.incompatibleSchema, key: catalog, "\(message) The stored data was not changed.")
    }

    /// Runs a closure of the program. Errors other than `StorageError` and `CancellationError` become `migrationFailed`.
    func calling<R>(_ what: String, _ body: () async throws -> R) async throws -> R {
        do { return try await body() } catch let error as StorageError { throw error } catch let error as CancellationError {
            throw error
        } catch {
            throw StorageError(.migrationFailed, key: catalog, "\(what) of \(catalog)'s migration policy failed.", underlying: error)
        }
    }
}
