import BackendContract
import LocalData
import Synchronization

/// The keys of a run of a release window, and the programs that use them.
final class WindowScene: Stage {
    /// A program that runs.
    struct Running: RunningProgram {
        let router: StorageRouter
        let process: SimulatedProcess
        let version: Int
        /// How much had gone wrong when it was started.
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
        keys = WindowShape(act.plan).keys
        var media: [String] = []
        for name in keys.flatMap({ [$0.spot.medium, $0.older.spot.medium] }) where !media.contains(name) { media.append(name) }
        self.media = media + ["own quarantine"]
        machine.weather.watchReads { [weak self] in self?.count($1, in: $0) }
    }

    // MARK: The beginning

    /// Fills the stores before the first program starts. Returns the state of each key for the model.
    func plant() -> [WindowModel] {
        keys.enumerated().map { index, key in
            let (text, newer) = (Self.beginning(of: index), Marks.text(of: 200_000 + index))
            let beginning = plan.beginnings[index]
            let older = beginning == .nothing || beginning == .newer ? nil : text
            if let older, let bytes = try? key.older.calls?.bytes(older) {
                keepSecret(older)
                put(.value(.bytes(bytes), metadata, isForeign: false), key.older.spot)
            }
            let isActive = isActive(plan.rounds.first)
            let place = key.rules.up(newer, over: nil)
            switch beginning {
            case .older, .nothing: return WindowModel(key.rules, isActive: isActive, older: older)
            case .removed:
                put(.tombstone(StorageMetadata()), key.spot)
                return WindowModel(key.rules, isActive: isActive, isSettled: true, older: older, standing: .conflict)
            case .both, .newer:
                keepSecret(newer)
                if let bytes = try? key.calls.bytes(place) {
                    put(.value(.bytes(bytes), metadata, isForeign: false), key.spot)
                }
                return WindowModel(
                    key.rules, isActive: isActive, value: place, isSettled: true, older: older,
                    standing: older == nil ? .behind : .conflict)
            }
        }
    }

    /// The metadata of the values with which a run begins. Queries find a record by its type and version.
    private var metadata: StorageMetadata {
        guard plan.stores == .records else { return StorageMetadata(serializer: "json") }
        return StorageMetadata(
            serializer: "json", typeTag: "Line", schemaVersion: 1, attributes: ["LocalData.version": "1"])
    }

    /// What the older place holds in the beginning, if it holds a value. It is written again later: a new write has an old content.
    static func beginning(of index: Int) -> String { Marks.text(of: 100_000 + index) }

    private func put(_ content: SimulatedDisk.Content, _ spot: Spot) {
        machine.disk.plant(content, in: spot.medium, at: spot.address, isOneFile: !spot.medium.hasPrefix("keychain"))
    }

    // MARK: Programs

    private func isActive(_ round: Round<WindowPlan.Program>?) -> Bool { round?.programs.contains { $0.version > 1 } ?? true }

    /// Whether a program that knows the key's place runs in each of the rounds.
    var isActive: [Bool] { plan.rounds.map(isActive) }

    func isOlder(_ program: WindowPlan.Program) -> Bool { program.version == 1 }

    func launch(_ name: String, version: Int) async -> Running {
        let all = entries(version == 1 ? keys.compactMap { $0.older.calls?.key } : keys.map(\.calls.key))
        let (accidents, failedCalls) = (machine.accidents, machine.weather.failedCalls)
        let (router, process) = await machine.launch(name, version: "\(version)", Catalog(allKeys: all, id: "keys"))
        return Running(router: router, process: process, version: version, accidents: accidents, failedCalls: failedCalls)
    }

    /// The entries of a catalog: records have one together.
    private func entries(_ all: [AnyStorageKey]) -> [AnyStorageKey] { plan.stores == .records ? Array(all.prefix(1)) : all }

    func launch(_ name: String, _ program: WindowPlan.Program) async -> Running { await launch(name, version: program.version) }

    func make(_ call: Call<WindowPlan.Verb>, of running: Running, _ turn: Turn) async {
        await WindowCaller(scene: self, running: running, turn: turn).make(call)
    }

    /// A sweep by a program that knows the key's place.
    func sweep(_ running: Running, _ label: String) async -> MigrationReport {
        let report = Mutex(MigrationReport())
        await machine.diary.call(keys.indices.map { ($0, .settle(isCalm: false)) }, by: running.version, label) {
            let made = await running.router.sweep(Catalog(allKeys: entries(keys.map(\.calls.key)), id: "keys"))
            report.withLock { $0 = made }
            return made.isComplete
        } _: { isComplete in
            let isCalm = isComplete && isCalm(since: running)
            return keys.map { _ in .settle(isCalm: isCalm) }
        }
        return report.withLock(\.self)
    }

    /// Ends the window of a key: from then on it is as for a program of version 3.
    func release(_ running: Running, _ index: Int, _ label: String) async {
        await machine.diary.call([(index, .settle(isCalm: false))], by: 3, label) {
            try await keys[index].calls.release(running.router).success
        } _: {
            [.settle(isCalm: $0 && isCalm(since: running))]
        }
    }

    /// Whether nothing has been wrong since a program was started.
    func isCalm(since running: Running) -> Bool {
        machine.accidents == running.accidents && machine.weather.failedCalls == running.failedCalls && machine.weather.isCalm
            && machine.world.isUnhurried
    }

    /// Notes that a text was put where it is protected, if the older place protects it too.
    func keepSecret(_ text: String) {
        guard plan.stores.isSecret else { return }
        machine.keepSecret(text)
    }

    func change(_ key: Int, _ place: Int, removes: Bool, number: Int) {
        let index = key % keys.count
        let older = keys[index].older
        // The search for an order takes long where there are many.
        let changes = changesFromOutside.withLock { changes in
            changes += 1
            return changes
        }
        guard let foreign = older.foreign, changes <= 4 else { return }
        machine.cover(.foreign)
        let isRepeated = !removes && number % 3 == 0
        let text = removes ? nil : isRepeated ? Self.beginning(of: index) : Marks.text(of: number)
        machine.disk.writeForeign(text.map(foreign), to: older.spot.medium, at: older.spot.address)
        machine.diary.add(
            index, .older(text, isBare: true, isRepeated: isRepeated), by: 0,
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
