import BackendContract
import LocalData

/// Whether a run of shapes in place kept the rules: judged when everything is in reach again.
struct InPlaceVerdict: Sendable {
    let act: Act<ShapesInPlace>
    let scene: InPlaceScene
    let begins: [InPlaceModel]

    private var machine: Machine<ShapesInPlace> { scene.machine }
    private var plan: InPlacePlan { act.plan }

    /// How many sweeps may be needed.
    private static let sweeps = 4

    func reach() async throws {
        let last = await scene.launch("last", version: plan.later == .third ? 3 : 2)
        try await settle(last)
        try await compare(last)
        if plan.ends { try await end(last) }
        let found = try await found(last.router)
        for index in scene.keys.indices { machine.diary.add(index, .found(found), "what is found in the end") }
        if let leak = machine.leak { throw act.violation(.secrecy, leak) }
        for index in scene.keys.indices {
            var begin = begins[index]
            begin.cutsLeft = machine.diary.powerCuts
            try act.judge(machine.diary.history(of: index, scene.readers), from: begin, of: "key \(index)")
        }
    }

    /// Sweeps until nothing is left to do.
    private func settle(_ program: InPlaceScene.Running) async throws {
        var report = MigrationReport()
        var isIdle = false
        for number in 0..<Self.sweeps where !isIdle || !report.isComplete {
            let before = machine.disk.picture(without: ["own ledger"])
            report = await scene.sweep(program, "sweep \(number) in the end, of version \(program.version)")
            isIdle = machine.disk.picture(without: ["own ledger"]) == before
        }
        guard report.isComplete else { throw act.violation(.liveness, "\(Self.sweeps) sweeps did not finish: \(act.rows(of: report))") }
        guard isIdle else { throw act.violation(.twice, "sweep \(Self.sweeps) still changed something: \(act.rows(of: report))") }
    }

    /// Every version reads its part of the same value, unless the window is over.
    private func compare(_ program: InPlaceScene.Running) async throws {
        let versions = plan.later == .third ? [1, 2] : [1]
        for index in scene.keys.indices {
            guard case .read(let value) = try await read(index, program, "in the end") else {
                throw act.violation(.order, "key \(index) is refused in the end")
            }
            for version in versions {
                let older = await scene.launch("last, older", version: version)
                guard case .read(let seen) = try await read(index, older, "in the end"),
                    seen != value.map({ InPlaceModel.text(Array(InPlaceModel.parts(of: $0).prefix(version))) })
                else { continue }
                throw act.violation(.truth, "key \(index): version \(version) reads \(seen ?? "nothing"), the last \(value ?? "nothing")")
            }
        }
    }

    private func read(_ index: Int, _ program: InPlaceScene.Running, _ when: String) async throws -> InPlaceDeed {
        guard let calls = scene.keys[index].calls[program.version] else { return .look }
        let deed: InPlaceDeed
        do { deed = .read(try await calls.value(program.router)) } catch StorageError.incompatibleSchema {
            deed = .refusedVersion
        } catch let error as StorageError {
            machine.diary.check(message: "\(error)")
            throw act.violation(.order, "\(when) key \(index) cannot be read: \(error)")
        }
        machine.diary.add(index, deed, by: program.version, "\(when), version \(program.version), key \(index): \(deed)")
        return deed
    }

    /// The window ends: the slot holds the newest shape, nothing is beside it, and version 1 changes nothing any more.
    private func end(_ last: InPlaceScene.Running) async throws {
        var later = last
        if plan.end == .version || plan.later == .dropped { later = await scene.launch("later", version: plan.later == .third ? 4 : 3) }
        if plan.end == .release, plan.later != .dropped {
            for index in scene.keys.indices { await scene.release(last, index, "release \(index) in the end") }
        }
        try await settle(later)
        let older = await scene.launch("older, after the end", version: 1)
        let newest = plan.later == .third ? 3 : 2
        for (index, key) in scene.keys.enumerated() {
            let contents = machine.disk.contents(of: key.spot.medium)
            for version in 2...3 where contents[key.beside(version)] != nil {
                throw act.violation(.liveness, "the shape of version \(version) of key \(index) is still beside it")
            }
            for program in [later, last, older] { _ = try await read(index, program, "after the end") }
            guard case .value(_, let metadata, _)? = contents[key.spot.address] else { continue }
            guard metadata.schemaVersion == newest else {
                throw act.violation(.liveness, "key \(index) has version \(metadata.schemaVersion ?? 0) after the end of its window")
            }
            try await refuse(index, older)
        }
    }

    /// What version 1 sets is refused, and changes nothing.
    private func refuse(_ index: Int, _ older: InPlaceScene.Running) async throws {
        let before = machine.disk.picture(without: ["own ledger"])
        do {
            try await scene.keys[index].calls[1]?.set(older.router, Marks.text(of: 999_999))
            throw act.violation(.truth, "version 1 wrote over a later version of key \(index)")
        } catch StorageError.incompatibleSchema {}
        guard machine.disk.picture(without: ["own ledger"]) == before else {
            throw act.violation(.truth, "what version 1 was refused for key \(index) changed something")
        }
    }

    /// The numbers of the texts that stand in a slot or in quarantine.
    private func found(_ router: StorageRouter) async throws -> Set<Int> {
        var kept = try await act.quarantine(router)
        for name in scene.media where name != "own quarantine" {
            for case .value(let payload, _, _) in machine.disk.contents(of: name).values { kept.append(payload.canonicalBytes) }
        }
        return Set(kept.flatMap(Marks.numbers(in:)))
    }
}
