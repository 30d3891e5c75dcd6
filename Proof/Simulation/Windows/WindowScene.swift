import BackendContract
import LocalData
import Synchronization

/// The keys of a run of a release window, and the programs that use them.
final class WindowScene: Stage {
    /// A running program of a round. A round is a group of programs that run at the same time.
    struct Running: RunningProgram {
        let router: StorageRouter
        let process: SimulatedProcess
        let version: Int
        /// How many accidents had happened when the program was started.
        let accidents: Int
        let failedCalls: Int
    }

    let machine: Machine<ReleaseWindows>
    let plan: WindowPlan
    let keys: [KeptKey]
    let media: [String]
    private let changesFromOutside = Mutex(0)

    init(_ act: Act<ReleaseWindows>) {
        (machine, plan) = (act.machine, act.plan)
        keys = WindowShape.keys(act.plan)
        var media: [String] = []
        for name in keys.flatMap({ [$0.spot.medium, $0.older.spot.medium] }) where !media.contains(name) { media.append(name) }
        self.media = media + ["own quarantine"]
        machine.weather.watchReads { [weak self] in self?.count($1, in: $0) }
    }

    // MARK: Programs

    func isActive(_ round: Round<WindowPlan.Program>?) -> Bool { round?.programs.contains { $0.version > 1 } ?? true }

    /// For each round, whether a program runs that knows the destination.
    var isActive: [Bool] { plan.rounds.map(isActive) }

    func isOlder(_ program: WindowPlan.Program) -> Bool { program.version == 1 }

    func launch(_ name: String, version: Int) async -> Running {
        let (accidents, failedCalls) = (machine.accidents, machine.weather.failedCalls)
        let (router, process) = await machine.launch(name, version: "\(version)", catalog(version))
        return Running(router: router, process: process, version: version, accidents: accidents, failedCalls: failedCalls)
    }

    func launch(_ name: String, _ program: WindowPlan.Program) async -> Running { await launch(name, version: program.version) }

    /// The keys of a program. All records of a collection share one entry of the catalog.
    private func catalog(_ version: Int) -> Catalog {
        let all = keys.compactMap { $0.calls[version]?.key }
        return Catalog(allKeys: plan.stores == .records ? Array(all.prefix(1)) : all, id: "keys")
    }

    func make(_ call: Call<WindowPlan.Verb>, of running: Running, _ turn: Turn) async {
        await WindowCaller(scene: self, running: running, turn: turn).make(call)
    }

    /// Makes a sweep, which migrates all keys, and adds it to the call log.
    func sweep(_ running: Running, _ label: String) async -> MigrationReport {
        let report = Mutex(MigrationReport())
        await machine.diary.call(keys.indices.map { ($0, .settle(isCalm: false)) }, by: running.version, label) {
            let made = await running.router.sweep(catalog(running.version))
            report.withLock { $0 = made }
            return made.isComplete
        } _: { isComplete in
            let isCalm = isComplete && isCalm(since: running)
            return keys.map { _ in .settle(isCalm: isCalm) }
        }
        return report.withLock(\.self)
    }

    /// Ends the release window of a key.
    func release(_ running: Running, _ index: Int, _ label: String) async {
        guard let calls = keys[index].calls[running.version] else { return }
        await machine.diary.call([(index, .settle(isCalm: false, ends: true))], by: running.version, label) {
            try await calls.release(running.router).isSuccess
        } _: {
            [.settle(isCalm: $0 && isCalm(since: running), ends: true)]
        }
    }

    /// Whether nothing has gone wrong since a program was started.
    func isCalm(since running: Running) -> Bool {
        machine.accidents == running.accidents && machine.weather.failedCalls == running.failedCalls && machine.weather.isCalm
            && machine.world.isUnhurried
    }

    /// Notes that a text must not occur in plaintext, unless the run keeps a plaintext legacy location.
    func keepSecret(_ text: String) { if plan.stores.isSecret { machine.keepSecret(text) } }

    func change(_ key: Int, _ place: Int, removes: Bool, number: Int) {
        let index = key % keys.count
        // Makes at most four changes, because the search for an order of the calls takes long with many changes.
        let changes = changesFromOutside.withLock { changes in
            changes += 1
            return changes
        }
        guard plan.stores.isShared, changes <= 4 else { return }
        machine.cover(.foreign)
        let older = keys[index].older
        let isRepeated = !removes && number % 3 == 0
        let text = removes ? nil : isRepeated ? Self.beginning(of: index) : Marks.text(of: number)
        machine.disk.writeForeign(text.map(older.foreign ?? { .string($0) }), to: older.spot.medium, at: older.spot.address)
        machine.diary.add(
            index, .foreign(text, isRepeated: isRepeated), by: 0,
            "another program leaves \(text ?? "nothing") in \(older.spot.address.name)")
    }

    // MARK: What is covered

    private func count(_ addresses: [StorageAddress], in medium: String) {
        for key in keys where key.spot.medium == medium && addresses.contains(key.spot.address) {
            let row = WindowRow(key, machine.disk, machine.weather).row
            machine.coverage.withLock { $0.hit(plan.kind, row) }
        }
    }
}
