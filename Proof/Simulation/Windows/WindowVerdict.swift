import BackendContract
import LocalData
import TestSupport

/// Judges whether a run of a release window kept the rules, once every store can be reached again.
struct WindowVerdict: Sendable {
    let act: Act<ReleaseWindows>
    let scene: WindowScene
    let begins: [WindowModel]

    private var machine: Machine<ReleaseWindows> { scene.machine }
    private var plan: WindowPlan { act.plan }

    /// The largest number of sweeps, each of which migrates all keys. A later sweep purges copies that an earlier one
    /// left.
    private let sweeps = 6

    func reach() async throws {
        let last = await scene.launch("last", version: 2)
        try await settle(last)
        try await compare(last)
        if plan.ends { try await end(last) }
        let found = try await found(last.router)
        for index in scene.keys.indices { machine.diary.add(index, .found(found), "what is found in the end") }
        if let leak = machine.leak { throw act.violation(.secrecy, leak) }
        for (index, var begin) in begins.enumerated() {
            begin.cutsLeft = machine.diary.powerCuts
            func history(_ repetitions: Int) -> CallHistory<WindowModel> {
                machine.diary.history(of: index, isActive: scene.isActive, isBare: plan.stores.isShared, repetitions: repetitions)
            }
            // The search for an order takes much longer with two repetitions, and one explains nearly every run.
            try act.judge(history(1), from: begin, of: "key \(index)") { history(2) }
        }
    }

    /// Sweeps until a sweep finishes and changes nothing.
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
        report.rows.allSatisfy { $0.state != .blocked && $0.state != .failed && $0.residue.isEmpty }
    }

    /// Requires that version 1 reads its part of the value that version 2 reads, unless the release window is over.
    private func compare(_ program: WindowScene.Running) async throws {
        let older = await scene.launch("last, older", version: 1)
        for (index, key) in scene.keys.enumerated() {
            let value = try await read(index, program, "in the end")
            let seen = try await read(index, older, "in the end")
            guard seen == value.map(key.rules.down) || isReleased(key) else {
                throw act.violation(.truth, "key \(index): version 1 reads \(seen ?? "nothing"), the last \(value ?? "nothing")")
            }
        }
        older.process.end()
    }

    @discardableResult
    private func read(_ index: Int, _ program: WindowScene.Running, _ when: String) async throws -> String? {
        guard let calls = scene.keys[index].calls[program.version] else { return nil }
        do {
            let value = try await calls.value(program.router)
            let deed = WindowDeed.read(value)
            machine.diary.add(index, deed, by: program.version, "\(when), version \(program.version), key \(index): \(deed)")
            return value
        } catch let error as StorageError {
            machine.diary.check(message: "\(error)")
            throw act.violation(.order, "\(when), version \(program.version) cannot read key \(index): \(error)")
        }
    }

    private func isReleased(_ key: KeptKey) -> Bool {
        WindowRow(key, machine.disk, machine.weather).row == .released
    }

    // MARK: The end of the window

    /// Ends the release window, and requires that only the newest value is left.
    private func end(_ last: WindowScene.Running) async throws {
        // For the program `last`, the window was still open. It must now notice that the window is over.
        let later = await scene.launch("later", version: 3)
        if plan.end == .release {
            for index in scene.keys.indices { await scene.release(last, index, "release \(index) in the end") }
        }
        try await settle(later)
        for (index, key) in scene.keys.enumerated() {
            try checkOlderPlace(index, key.older)
            for program in [later, last] { try await read(index, program, "after the end") }
        }
    }

    /// Requires that the legacy location holds no value, and that its mark is gone. The mark names the record that was
    /// last copied to the legacy location.
    private func checkOlderPlace(_ index: Int, _ place: OlderPlace) throws {
        let older = machine.disk.contents(of: place.spot.medium)
        if case .value? = older[place.spot.address] {
            throw act.violation(.liveness, "the older place of key \(index) still holds a value")
        }
        if older[KeptKey.mark(of: place)] != nil { throw act.violation(.liveness, "the mark of key \(index) is still there") }
    }

    /// The numbers of all texts in the stores and in quarantine.
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
