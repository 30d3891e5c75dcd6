import BackendContract
import LocalData
import Synchronization

/// The keys of a run of shapes in place, and the programs that use them.
final class InPlaceScene: Stage {
    /// A program that runs.
    struct Running: RunningProgram {
        let router: StorageRouter
        let process: SimulatedProcess
        let version: Int
    }

    let machine: Machine<ShapesInPlace>
    let plan: InPlacePlan
    let keys: [InPlaceKey]
    let readers: [Int: InPlaceModel.Reader]
    let media: [String]
    private let changesFromOutside = Mutex(0)

    init(_ act: Act<ShapesInPlace>) {
        (machine, plan) = (act.machine, act.plan)
        let shape = InPlaceKeys(act.plan)
        (keys, readers) = (shape.keys, shape.readers)
        media = [keys[0].spot.medium, "own quarantine"]
        machine.weather.watchReads { [weak self] in self?.count($1, in: $0) }
    }

    // MARK: The beginning

    /// What stands where, before anybody runs.
    func plant() -> [InPlaceModel] {
        keys.enumerated().map { index, key in
            let text = Marks.text(of: 100_000 + index)
            var value: String?
            switch plan.beginnings[index] {
            case .nothing: break
            case .older: value = put(text, 1, key)
            case .newer: value = put(InPlaceModel.text([text, Marks.text(of: 200_000 + index)]), 2, key)
            case .foreign:
                value = text
                machine.disk.writeForeign(.string(text), to: key.spot.medium, at: key.spot.address)
            }
            return InPlaceModel(keepsBeside: plan.stores.keepsBeside, value: value)
        }
    }

    private func put(_ text: String, _ version: Int, _ key: InPlaceKey) -> String {
        keepSecret(text)
        guard let bytes = try? key.calls[version]?.bytes(text) else { return text }
        machine.disk.plant(
            .value(.bytes(bytes), StorageMetadata(serializer: "json", schemaVersion: version), isForeign: false), in: key.spot.medium,
            at: key.spot.address, isOneFile: plan.stores != .ring)
        return text
    }

    // MARK: Programs

    func isOlder(_ program: InPlacePlan.Program) -> Bool { program.version == 1 }

    func launch(_ name: String, version: Int) async -> Running {
        let catalog = catalog(version)
        let (router, process) = await machine.launch(name, version: "\(version)", catalog)
        return Running(router: router, process: process, version: version)
    }

    func launch(_ name: String, _ program: InPlacePlan.Program) async -> Running { await launch(name, version: program.version) }

    func make(_ call: Call<InPlacePlan.Verb>, of running: Running, _ turn: Turn) async {
        await InPlaceCaller(scene: self, running: running, turn: turn).make(call)
    }

    func catalog(_ version: Int) -> Catalog { Catalog(allKeys: keys.compactMap { $0.calls[version]?.key }, id: "keys") }

    func sweep(_ running: Running, _ label: String) async -> MigrationReport {
        let report = Mutex(MigrationReport())
        await machine.diary.call(keys.indices.map { ($0, .settle(ends: false, isRead: false)) }, by: running.version, label) {
            let made = await running.router.sweep(catalog(running.version))
            report.withLock { $0 = made }
            if !made.isComplete {
                throw StorageError(StorageError.migrationFailed, key: "", "The sweep is not complete.", outcome: .unknown)
            }
        } _: {
            keys.map { _ in .settle(ends: false, isRead: false) }
        }
        return report.withLock(\.self)
    }

    /// Ends the window of a key.
    func release(_ running: Running, _ index: Int, _ label: String) async {
        guard let calls = keys[index].calls[running.version] else { return }
        await machine.diary.call([(index, .settle(ends: true, isRead: false))], by: running.version, label) {
            try await calls.release(running.router).success
        } _: { _ in
            [.settle(ends: true, isRead: false)]
        }
    }

    /// Notes that a text was put where it is protected.
    func keepSecret(_ text: String) {
        guard plan.stores.isSecret else { return }
        for part in InPlaceModel.parts(of: text) where part != InPlaceModel.nothing { machine.keepSecret(part) }
    }

    func change(_ key: Int, _ place: Int, removes: Bool, number: Int) {
        let index = key % keys.count
        // The search for an order takes long where there are many.
        let changes = changesFromOutside.withLock { changes in
            changes += 1
            return changes
        }
        guard plan.stores == .bare, changes <= 4 else { return }
        machine.cover(.foreign)
        let text = removes ? nil : Marks.text(of: number)
        machine.disk.writeForeign(text.map { .string($0) }, to: keys[index].spot.medium, at: keys[index].spot.address)
        machine.diary.add(index, .foreign(text), by: 0, "another program leaves \(text ?? "nothing") in \(keys[index].spot.address.name)")
    }

    // MARK: What is covered

    func hit(_ row: ShapesInPlace.Row) { machine.coverage.withLock { $0.hit(plan.kind, row) } }

    private func count(_ addresses: [StorageAddress], in medium: String) {
        for key in keys where key.spot.medium == medium && addresses.contains(key.spot.address) {
            hit(InPlaceRow(key, machine.disk, machine.weather, newest: plan.later == .third ? 3 : 2).row)
        }
    }
}
