import BackendContract
import LocalData
import Synchronization

/// The records of a run, and the programs of several versions that use them.
final class RecordScene: Stage {
    /// A running program of a round. A round is a group of programs that run at the same time.
    struct Running: RunningProgram {
        let router: StorageRouter
        let process: SimulatedProcess
        let version: Int
        let program: RecordProgram
        let catalog: Catalog
    }

    let machine: Machine<StoredRecords>
    let plan: RecordPlan
    let shape: RecordShape
    private let olderChanges = Mutex(0)
    private let wrong = Mutex<String?>(nil)

    init(_ act: Act<StoredRecords>) {
        (machine, plan) = (act.machine, act.plan)
        shape = RecordShape(plan: plan)
        machine.weather.watchReads { [weak self] in self?.count($1, in: $0) }
    }

    var media: [String] { shape.media }

    // MARK: The beginning

    /// Stores the initial records with programs of their versions, and returns the initial model of each record.
    func plant() async throws -> [RecordModel] {
        var begins = (0..<plan.count).map { _ in RecordModel(rules, value: nil, version: 1, life: .endless) }
        for version in Set(plan.beginnings).subtracting([0]).sorted() {
            let running = await launch("before.\(version)", version: version)
            for record in 0..<plan.count where plan.beginnings[record] == version {
                let text = Self.beginning(record)
                if !plan.kind.hasOlder { keepSecret(text) }
                let begin = machine.world.wallSeconds
                try await running.program.records[record].set(running.router, text)
                var life = Life.endless
                if let lifetime = plan.lifetime {
                    life = Life(low: begin + Double(lifetime), high: machine.world.wallSeconds + Double(lifetime))
                }
                begins[record] = RecordModel(rules, value: text, version: version, life: life)
            }
            running.process.end()
        }
        if plan.isSpoilt {
            let running = await launch("before", version: 1)
            try await shape.spoil(running.router)
            running.process.end()
        }
        if plan.isDamaged {
            machine.disk.corrupt(shape.place, shape.damagedAddress, bytes: RecordShape.damage)
            machine.cover(.damagedRecord)
        }
        machine.disk.restart()
        return begins
    }

    static func beginning(_ record: Int) -> String { Marks.text(of: 200_000 + record) }

    private var rules: RecordModel.Rules {
        RecordModel.Rules(
            hasOlder: plan.kind.hasOlder, isExplicit: plan.kind.isExplicit, isTagged: plan.kind == .retagged && !plan.isRenamed,
            isList: plan.kind == .listed,
            dropsTombstones: [.gathered, .expiringRecords].contains(plan.kind) && plan.place != .ring,
            answersUnmoved: plan.hasFullDisk, policy: plan.policy, lifetime: plan.lifetime.map { 1_800_000_000 + Double($0) })
    }

    // MARK: Programs

    func launch(_ name: String, version: Int) async -> Running {
        let program = shape.program(version)
        let catalog = Catalog(allKeys: program.catalog, id: "records")
        // The library lists records in pages. The page size is small, so that the records of a run need several pages.
        let (router, process) = await machine.launch(name, version: "\(version)", catalog, pageSize: 2)
        return Running(router: router, process: process, version: plan.version(version), program: program, catalog: catalog)
    }

    func launch(_ name: String, _ program: RecordPlan.Program) async -> Running {
        machine.diary.add(-1, .launch(plan.version(program.version)), "\(name) starts, of version \(program.version)")
        return await launch(name, version: program.version)
    }

    func isOlder(_ program: RecordPlan.Program) -> Bool { program.version < plan.kind.latest }

    func make(_ call: Call<RecordPlan.Verb>, of running: Running, _ turn: Turn) async {
        await RecordCaller(scene: self, running: running, turn: turn).make(call)
    }

    /// Whether the legacy location may be changed once more. The limit is six changes, because the search for an order
    /// of the calls takes long with many changes.
    func mayChangeOlder() -> Bool {
        olderChanges.withLock { changes in
            changes += 1
            return changes <= 6
        }
    }

    /// Notes that a rule was broken, if this is clear without the model.
    func fail(_ what: String) { wrong.withLock { $0 = $0 ?? what } }
    var failure: String? { wrong.withLock(\.self) }

    /// Notes that a text is secret, if the store of the run is protected.
    func keepSecret(_ text: String) { if plan.place != .list { machine.keepSecret(text) } }

    // MARK: What is covered

    private func count(_ addresses: [StorageAddress], in medium: String) {
        guard medium == shape.place else { return }
        for record in 0..<plan.count where addresses.contains(shape.address(record)) {
            let state = state(of: record)
            machine.coverage.withLock { $0.hit(plan.kind, state) }
        }
    }

    private func state(of record: Int) -> StoredRecords.Row {
        if machine.weather.hidesContent(of: shape.place) { return .unknown }
        let older = shape.olderAddress(record).flatMap { machine.disk.contents(of: shape.olderPlace)[$0] }
        var isPending = false
        if case .value = older { isPending = true }
        switch machine.disk.contents(of: shape.place)[shape.address(record)] {
        case nil: return isPending ? .pending : .absent
        case .damaged: return .unknown
        case .tombstone: return isPending ? .removedBesideOlder : .removed
        case .value(_, let metadata, _):
            if let expiry = metadata.expiresAt, expiry <= machine.world.wallSeconds { return .expired }
            if isPending { return .besideOlder }
            let isOld = plan.kind == .retagged ? metadata.typeTag == "First" : (metadata.schemaVersion ?? 1) < plan.kind.latest
            return isOld && !plan.kind.hasOlder || plan.kind == .movedVersions && isOld ? .earlierVersion : .done
        }
    }
}
