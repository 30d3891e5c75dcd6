import BackendContract
import LocalData

/// Whether a run of a release window kept the rules: judged when everything is in reach again.
struct WindowVerdict: Sendable {
    let act: Act<ReleaseWindows>
    let scene: WindowScene
    let begins: WindowBeginnings

    private var machine: Machine<ReleaseWindows> { scene.machine }
    private var plan: WindowPlan { act.plan }

    /// How many sweeps may be needed: what was left on the way is collected by a later one.
    private var sweeps: Int { plan.kind.isInPlace ? 4 : 6 }

    func reach() async throws {
        let last = await scene.launch("last", version: plan.newest)
        try await settle(last)
        try await compare(last)
        if plan.ends { try await end(last) }
        let found = try await found(last.router)
        for index in scene.keys.indices { machine.diary.add(index, .found(found), "what is found in the end") }
        if let leak = machine.leak { throw act.violation(.secrecy, leak) }
        switch begins {
        case .moved(let begins):
            for (index, var begin) in begins.enumerated() {
                begin.cutsLeft = machine.diary.powerCuts
                try act.judge(machine.diary.history(of: index, scene.isActive), from: begin, of: "key \(index)")
            }
        case .inPlace(let begins):
            for (index, var begin) in begins.enumerated() {
                begin.cutsLeft = machine.diary.powerCuts
                try act.judge(machine.diary.history(of: index, scene.readers), from: begin, of: "key \(index)")
            }
        }
    }

    /// Sweeps until nothing is left to do.
    private func settle(_ program: WindowScene.Running) async throws {
        var report = MigrationReport()
        var isIdle = false
        for number in 0..<sweeps where !isIdle || !isOver(report) {
            let before = machine.disk.picture(without: ["own ledger"])
            report = await scene.sweep(program, "sweep \(number) in the end, of version \(program.version)")
            isIdle = machine.disk.picture(without: ["own ledger"]) == before
        }
        guard isOver(report) else { throw act.violation(.liveness, "\(sweeps) sweeps did not finish: \(act.rows(of: report))") }
        guard isIdle else { throw act.violation(.twice, "sweep \(sweeps) still changed something: \(act.rows(of: report))") }
    }

    private func isOver(_ report: MigrationReport) -> Bool {
        if plan.kind.isInPlace { return report.isComplete }
        return report.rows.allSatisfy { $0.state != .blocked && $0.state != .failed && $0.residue.isEmpty }
    }

    /// Every version reads its part of the same value, unless the window is over.
    private func compare(_ program: WindowScene.Running) async throws {
        var older: [WindowScene.Running] = []
        for version in 1..<plan.newest { older.append(await scene.launch("last, older", version: version)) }
        for (index, key) in scene.keys.enumerated() {
            guard case .read(let value) = try await read(index, program, "in the end") else {
                throw act.violation(.order, "key \(index) is refused in the end")
            }
            for older in older {
                // A version that is refused has no part any more.
                guard case .read(let seen) = try await read(index, older, "in the end"),
                    seen != value.map({ part(of: $0, key, older.version) }), !isReleased(key)
                else { continue }
                throw act.violation(
                    .truth, "key \(index): version \(older.version) reads \(seen ?? "nothing"), the last \(value ?? "nothing")")
            }
        }
        for older in older { older.process.end() }
    }

    /// The part of a value that a version reads.
    private func part(of value: String, _ key: KeptKey, _ version: Int) -> String {
        guard plan.kind.isInPlace else { return key.rules.down(value) }
        return InPlaceModel.text(Array(InPlaceModel.parts(of: value).prefix(version)))
    }

    private func read(_ index: Int, _ program: WindowScene.Running, _ when: String) async throws -> WindowDeed {
        guard let calls = scene.keys[index].calls[program.version] else { return .look }
        let deed: WindowDeed
        do { deed = .read(try await calls.value(program.router)) } catch StorageError.incompatibleSchema where plan.kind.isInPlace {
            deed = .refusedVersion
        } catch let error as StorageError {
            machine.diary.check(message: "\(error)")
            throw act.violation(.order, "\(when), version \(program.version) cannot read key \(index): \(error)")
        }
        machine.diary.add(index, deed, by: program.version, "\(when), version \(program.version), key \(index): \(deed)")
        return deed
    }

    private func isReleased(_ key: KeptKey) -> Bool {
        key.older.map { WindowRow(key, $0, machine.disk, machine.weather).row == .released } ?? false
    }

    // MARK: The end of the window

    /// The window ends: only the newest value is left, and nothing of what the window kept.
    private func end(_ last: WindowScene.Running) async throws {
        var later = last
        // For values that move, a program that still keeps the window learns that it is over.
        if !plan.kind.isInPlace || !plan.endsByCall { later = await scene.launch("later", version: plan.newest + 1) }
        if plan.endsByCall {
            for index in scene.keys.indices { await scene.release(last, index, "release \(index) in the end") }
        }
        try await settle(later)
        var readers = [later, last]
        if plan.kind.isInPlace { readers.append(await scene.launch("older, after the end", version: 1)) }
        for (index, key) in scene.keys.enumerated() {
            let isRefused = try key.older == nil ? checkSlot(index, key) : checkOlderPlace(index, key)
            for program in readers { _ = try await read(index, program, "after the end") }
            if isRefused { try await refuse(index, key, readers[2]) }
        }
    }

    /// Checks that the legacy location holds no value, and that its mark is gone.
    /// - Returns: Whether version 1 is refused: never here.
    private func checkOlderPlace(_ index: Int, _ key: KeptKey) throws -> Bool {
        guard let place = key.older else { return false }
        let older = machine.disk.contents(of: place.spot.medium)
        if case .value? = older[place.spot.address] {
            throw act.violation(.liveness, "the older place of key \(index) still holds a value")
        }
        if older[KeptKey.mark(of: place)] != nil { throw act.violation(.liveness, "the mark of key \(index) is still there") }
        return false
    }

    /// Checks that the slot holds the newest shape, if it holds a value, and that no shape is beside the slot.
    /// - Returns: Whether version 1 is refused: where there is a value.
    private func checkSlot(_ index: Int, _ key: KeptKey) throws -> Bool {
        let contents = machine.disk.contents(of: key.spot.medium)
        for version in 2...3 where contents[key.beside(version)] != nil {
            throw act.violation(.liveness, "the shape of version \(version) of key \(index) is still beside it")
        }
        guard case .value(_, let metadata, _)? = contents[key.spot.address] else { return false }
        guard metadata.schemaVersion == plan.newest else {
            throw act.violation(.liveness, "key \(index) has version \(metadata.schemaVersion ?? 0) after the end of its window")
        }
        return true
    }

    /// Checks that a `set` of version 1 is refused, and changes nothing.
    private func refuse(_ index: Int, _ key: KeptKey, _ older: WindowScene.Running) async throws {
        let before = machine.disk.picture(without: ["own ledger"])
        do {
            try await key.calls[1]?.set(older.router, Marks.text(of: 999_999))
            throw act.violation(.truth, "version 1 wrote over a later version of key \(index)")
        } catch StorageError.incompatibleSchema {}
        guard machine.disk.picture(without: ["own ledger"]) == before else {
            throw act.violation(.truth, "what version 1 was refused for key \(index) changed something")
        }
    }

    /// The numbers of the texts that stand in a place or in quarantine.
    private func found(_ router: StorageRouter) async throws -> Set<Int> {
        var kept = try await act.quarantine(router)
        for name in scene.media where name != "own quarantine" {
            for case .value(let payload, _, _) in machine.disk.contents(of: name).values { kept.append(payload.canonicalBytes) }
        }
        var numbers = Set(kept.flatMap(Marks.numbers(in:)))
        if plan.stores == .numbers { for bytes in kept { numbers.formUnion(Verdict.digits(in: bytes)) } }
        return numbers
    }
}
