import BackendContract
import LocalData

/// Whether a run of a release window kept the rules: judged when everything is in reach again.
struct WindowVerdict: Sendable {
    let act: Act<ReleaseWindows>
    let scene: WindowScene
    let begins: [WindowModel]

    private var machine: Machine<ReleaseWindows> { scene.machine }
    private var plan: WindowPlan { act.plan }

    /// How many sweeps may be needed: what was left on the way is collected by a later one.
    private static let sweeps = 6

    func reach() async throws {
        let last = await scene.launch("last", version: 2)
        try await settle(last)
        try await compare(last)
        if plan.ends { try await end(last) }
        let found = try await found(last.router)
        for index in scene.keys.indices { machine.diary.add(index, .found(found), "what is found in the end") }
        if let leak = machine.leak { throw act.violation(.secrecy, leak) }
        for index in scene.keys.indices {
            var begin = begins[index]
            begin.cutsLeft = machine.diary.powerCuts
            try act.judge(machine.diary.history(of: index, scene.isActive), from: begin, of: "key \(index)")
        }
    }

    /// Sweeps until nothing is left to do.
    private func settle(_ program: WindowScene.Running) async throws {
        var report = MigrationReport()
        var isIdle = false
        for number in 0..<Self.sweeps where !isIdle || !isOver(report) {
            let before = machine.disk.picture(without: ["own ledger"])
            report = await scene.sweep(program, "sweep \(number) in the end, of version \(program.version)")
            isIdle = machine.disk.picture(without: ["own ledger"]) == before
        }
        guard isOver(report) else { throw act.violation(.liveness, "\(Self.sweeps) sweeps did not finish: \(act.rows(of: report))") }
        guard isIdle else { throw act.violation(.twice, "sweep \(Self.sweeps) still changed something: \(act.rows(of: report))") }
    }

    private func isOver(_ report: MigrationReport) -> Bool {
        report.rows.allSatisfy { $0.state != .blocked && $0.state != .failed && $0.residue.isEmpty }
    }

    /// Both versions read the same, unless the window is over.
    private func compare(_ program: WindowScene.Running) async throws {
        let older = await scene.launch("last, older", version: 1)
        for (index, key) in scene.keys.enumerated() {
            let value = try await read(index, "in the end") { try await key.calls.value(program.router) }
            machine.diary.add(index, .read(value), by: 2, "in the end \(index) is \(value ?? "nothing")")
            guard let calls = key.older.calls else { continue }
            let seen = try await read(index, "in the end, in its older place,") { try await calls.value(older.router) }
            machine.diary.add(index, .olderRead(seen), by: 1, "in the end version 1 reads \(seen ?? "nothing") of \(index)")
            guard !isReleased(key), seen != value.map(key.rules.down) else { continue }
            throw act.violation(.truth, "key \(index): version 1 reads \(seen ?? "nothing"), version 2 \(value ?? "nothing")")
        }
        older.process.end()
    }

    private func read(_ index: Int, _ when: String, _ look: () async throws -> String?) async throws -> String? {
        do { return try await look() } catch let error as StorageError {
            machine.diary.check(message: "\(error)")
            throw act.violation(.order, "\(when) key \(index) cannot be read: \(error)")
        }
    }

    private func isReleased(_ key: KeptKey) -> Bool { WindowRow(key, machine.disk, machine.weather).row == .released }

    /// The window ends: what is in the key's place stays, and the older place and its mark go.
    private func end(_ last: WindowScene.Running) async throws {
        let later = await scene.launch("later", version: 3)
        if plan.end == .release {
            for index in scene.keys.indices { await scene.release(last, index, "release \(index) in the end") }
        }
        try await settle(later)
        for (index, key) in scene.keys.enumerated() {
            let older = machine.disk.contents(of: key.older.spot.medium)
            for (address, what) in [(key.older.spot.address, "older place"), (key.mark, "mark")] {
                if case .value? = older[address] { throw act.violation(.liveness, "the \(what) of key \(index) still holds a value") }
                if what == "mark", older[address] != nil { throw act.violation(.liveness, "the mark of key \(index) is still there") }
            }
            // One that still keeps the window learns that it is over.
            for program in [later, last] {
                let value = try await read(index, "after the end") { try await key.calls.value(program.router) }
                machine.diary.add(index, .read(value), by: program.version, "after the end \(index) is \(value ?? "nothing")")
            }
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
