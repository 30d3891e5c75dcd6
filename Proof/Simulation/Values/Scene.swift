import BackendContract
import Foundation
import LocalData
import Synchronization

/// The keys of a run of moving values, and the programs that use them.
final class Scene: Stage {
    /// A running program of a round. A round is a group of programs that run at the same time.
    struct Running: RunningProgram {
        let router: StorageRouter
        let process: SimulatedProcess
        let plan: ValuePlan.Program
    }

    let machine: Machine<MovingValues>
    let plan: ValuePlan
    let moving: [Moving]
    let media: [String]
    private let changesFromOutside = Mutex<[Spot: Int]>([:])

    init(_ act: Act<MovingValues>) {
        (machine, plan) = (act.machine, act.plan)
        moving = (0..<act.plan.count).flatMap {
            Shape(act.plan.kind, act.plan.policy, number: $0, isWary: act.plan.isWary, hasFullDisk: act.plan.hasFullDisk).moving
        }
        var media: [String] = []
        for name in moving.flatMap({ [$0.spot] + $0.older.map(\.spot) }).map(\.medium) where !media.contains(name) { media.append(name) }
        if plan.kind == .sealed { media.append("keychain own keys") }
        self.media = media + ["own quarantine"]
        machine.disk.setTears(plan.tears)
        machine.weather.watchReads { [weak self] in self?.count($1, in: $0) }
    }

    // MARK: Programs

    var currentKeys: Catalog { Catalog(allKeys: moving.map(\.calls.key), id: "keys") }

    private var olderKeys: Catalog {
        var seen: Set<Spot> = []
        return Catalog(allKeys: moving.flatMap(\.older).filter { seen.insert($0.spot).inserted }.compactMap { $0.calls?.key }, id: "keys")
    }

    func isOlder(_ program: ValuePlan.Program) -> Bool { program.isOlder }

    func launch(_ name: String, _ program: ValuePlan.Program = ValuePlan.Program(callers: [])) async -> Running {
        let version = program.isOlder || program.isHeldBack ? "1" : "2"
        let (router, process) = await machine.launch(
            name, version: version, program.isOlder ? olderKeys : currentKeys, isWary: plan.isWary)
        return Running(router: router, process: process, plan: program)
    }

    func make(_ call: Call<ValuePlan.Verb>, of running: Running, _ turn: Turn) async {
        await Caller(scene: self, program: running, turn: turn).make(call)
    }

    func watch(_ running: Running) -> [@Sendable (Act<MovingValues>) async throws -> Void] {
        guard running.plan.isWatched else { return [] }
        return moving.indices.map { key in
            let watch = Watch(self, running, key)
            return { try await watch.judge($0) }
        }
    }

    /// Whether another program, or an older version, may change a slot once more. The limit is three changes, because
    /// the search for an order of the calls takes long with many changes.
    func mayChange(_ spot: Spot) -> Bool {
        changesFromOutside.withLock { changes in
            changes[spot, default: 0] += 1
            return changes[spot, default: 0] <= 3
        }
    }

    func change(_ key: Int, _ place: Int, removes: Bool, number: Int) {
        let (key, place) = (key % moving.count, place % moving[key % moving.count].older.count)
        let older = moving[key].older[place]
        guard let foreign = older.foreign, mayChange(older.spot) else { return }
        machine.cover(.foreign)
        let text = removes ? nil : number % 3 == 0 ? Self.beginning(of: key, place) : Marks.text(of: number)
        machine.disk.writeForeign(text.map(foreign), to: older.spot.medium, at: older.spot.address)
        for (index, other) in self.moving.enumerated() {
            for (number, place) in other.older.enumerated() where place.spot == older.spot {
                machine.diary.add(index, .older(number, text), "another program leaves \(text ?? "nothing") in \(older.spot.address.name)")
            }
        }
    }

    // MARK: What is covered

    private func count(_ addresses: [StorageAddress], in medium: String) {
        for moving in moving where moving.spot.medium == medium && addresses.contains(moving.spot.address) {
            let row = row(of: moving)
            machine.coverage.withLock { $0.hit(plan.kind, row) }
        }
    }

    /// The present state of a key, as a row of the state table in `Docs/Design.md`.
    private func row(of moving: Moving) -> MovingValues.Row {
        if machine.weather.hidesContent(of: moving.spot.medium) { return .unknown }
        let here = machine.disk.contents(of: moving.spot.medium)[moving.spot.address]
        var olderValues: [(Spot, StorageRecord)] = []
        for place in moving.older where place.spot != moving.spot {
            if let record = machine.disk.record(of: place.spot.medium, place.spot.address) { olderValues.append((place.spot, record)) }
        }
        func named(_ metadata: StorageMetadata) -> Bool {
            guard let origin = metadata.origin else { return false }
            guard let facts = try? JSONDecoder().decode(RecordOrigin.self, from: Data(origin)) else {
                // The origin of a record names the older copies that the record replaced. A sealed origin cannot be
                // decoded here. In this case, the copies count as named if they were written before the record.
                let change = machine.disk.change(of: moving.spot.medium, moving.spot.address)
                return olderValues.allSatisfy { spot, _ in machine.disk.change(of: spot.medium, spot.address) < change }
            }
            return olderValues.allSatisfy { spot, record in facts.copies[Moving.placeName(spot)] == RecordOrigin.mark(of: record) }
        }
        switch here {
        case nil: return olderValues.isEmpty ? .absent : .pending
        case .damaged: return olderValues.isEmpty ? .damaged : .torn
        case .tombstone(let metadata) where plan.kind == .sealed && metadata.origin == nil:
            // A tombstone without a seal is a forged removal, and counts as damage.
            return olderValues.isEmpty ? .damaged : .torn
        case .tombstone(let metadata):
            if olderValues.isEmpty { return .removed }
            return named(metadata) ? .removed : .removedConflict
        case .value(let payload, let metadata, _):
            if payload == Self.undecodable { return olderValues.isEmpty ? .damaged : .torn }
            if moving.rules.isInPlace, case .bytes(let bytes) = payload, !bytes.starts(with: Array("{\"title".utf8)) { return .inPlace }
            if olderValues.isEmpty { return .done }
            return named(metadata) ? .superseded : .conflict
        }
    }

    static let undecodable = StoragePayload.bytes(Array("?!".utf8))
}
