import BackendContract
import BackendRuntime
import Foundation
import LocalData
import Logging
import Synchronization

/// The machine of a run with records: its disk, its weather, and the programs of several versions that use them.
final class RecordScene: Sendable {
    /// A program that runs.
    struct Running: Sendable {
        let router: StorageRouter
        let process: SimulatedProcess
        let version: Int
        let program: RecordProgram
        let catalog: Catalog
    }

    struct Catalog: StorageKeyCatalog {
        let allKeys: [AnyStorageKey]
        var id: String { "records" }
    }

    let world: Simulation
    let plan: RecordPlan
    let shape: RecordShape
    let disk: SimulatedDisk
    let weather = Weather()
    let diary: RecordDiary
    let coverage = Mutex(RecordCoverage())
    private let mutant: RecordMutant?
    private let base = StorageConfiguration.inMemory()
    private let olderChanges = Mutex(0)
    private let secrets = Mutex<Set<Int>>([])
    private let shownSecret = Mutex<String?>(nil)
    private let wrong = Mutex<String?>(nil)

    init(_ world: Simulation, _ plan: RecordPlan, _ mutant: RecordMutant?) {
        self.world = world
        self.plan = plan
        self.mutant = mutant
        shape = RecordShape(plan: plan)
        disk = SimulatedDisk(world)
        diary = RecordDiary(world)
        disk.watch { [weak self] in self?.judge($1, in: $0) }
        weather.watchReads { [weak self] in self?.count($1, in: $0) }
    }

    // MARK: Programs

    func launch(_ name: String, version: Int) async -> Running {
        let process = SimulatedProcess(name)
        let runtime = world.runtime(name)
        var configuration = base
        configuration.runtime = runtime
        configuration.applicationVersion = "\(version)"
        configuration.logger = Logger(label: "simulation") { [diary] _ in MessageLog { diary.check(message: $0) } }
        configuration.safeguards = mutant?.safeguards ?? .all
        // Small enough for several pages.
        configuration.pageSize = 2
        let make: @Sendable (String, SimulatedStore.Nature) -> SimulatedStore = { [disk, weather, mutant] medium, nature in
            SimulatedStore(medium, nature, on: disk, of: process, runtime, faults: mutant?.faults ?? [], weather: weather)
        }
        configuration.use(for: .userDefaults) { make("userDefaults \($0)", .list) }
        configuration.use(for: .encryptedSQLite) { make("encryptedSQLite \($0)", .database) }
        configuration.use(for: .keychain) { make("keychain \($0)", .ring()) }
        // A router that is released here belongs to a process that was killed.
        configuration.closesWhenReleased = false
        configuration.makeOwnStore = { make("own \($0)", .list) }
        let router = StorageRouter(configuration: configuration)
        let program = shape.program(version)
        let catalog = Catalog(allKeys: program.catalog)
        do { try await router.registerCatalog(catalog) } catch { diary.note("the catalog was refused: \(error)") }
        return Running(router: router, process: process, version: version, program: program, catalog: catalog)
    }

    func spawn(_ work: @escaping @Sendable () async -> Void) -> ScheduledAction { world.runtime("callers").tasks.spawn(work) }

    /// Whether the older place may be changed once more: the search for an order takes long where many have.
    func mayChangeOlder() -> Bool {
        olderChanges.withLock { changes in
            changes += 1
            return changes <= 6
        }
    }

    /// Something that must not be was seen.
    func fail(_ what: String) { wrong.withLock { $0 = $0 ?? what } }
    var failure: String? { wrong.withLock(\.self) }

    // MARK: What is kept secret

    /// Notes that a text was put where it is protected: from here on it stands nowhere in the plain.
    func keepSecret(_ text: String) { if plan.place != .list { secrets.withLock { _ = $0.insert(Shape.number(in: text)) } } }

    var leak: String? { diary.leak ?? shownSecret.withLock(\.self) }

    private func judge(_ content: SimulatedDisk.Content, in medium: String) {
        guard medium.hasPrefix("userDefaults") || medium.hasPrefix("own"), case .value(let payload, let metadata, _) = content else {
            return
        }
        let secrets = secrets.withLock(\.self)
        if secrets.isEmpty { return }
        var bytes = payload.canonicalBytes
        for text in metadata.attributes.values { bytes += text.utf8 }
        for number in Scene.numbers(in: bytes) where secrets.contains(number) {
            shownSecret.withLock { $0 = $0 ?? "\(Shape.text(of: number)) stands in the plain in \(medium)" }
        }
    }

    // MARK: What is covered

    private func count(_ addresses: [StorageAddress], in medium: String) {
        guard medium == shape.place else { return }
        for record in 0..<plan.count where addresses.contains(shape.address(record)) {
            let state = state(of: record)
            coverage.withLock { $0.hit(plan.kind, state) }
        }
    }

    private func state(of record: Int) -> RecordCoverage.State {
        if weather.trouble(of: shape.place) != nil { return .unknown }
        let older = shape.olderAddress(record).flatMap { disk.contents(of: shape.olderPlace)[$0] }
        var isPending = false
        if case .value = older { isPending = true }
        switch disk.contents(of: shape.place)[shape.address(record)] {
        case nil: return isPending ? .pending : .absent
        case .damaged: return .unknown
        case .tombstone: return isPending ? .removedBesideOlder : .removed
        case .value(_, let metadata, _):
            if let expiry = metadata.expiresAt, expiry <= world.wallSeconds { return .expired }
            if isPending { return .besideOlder }
            let isOld = plan.kind == .retagged ? metadata.typeTag == "First" : (metadata.schemaVersion ?? 1) < plan.kind.latest
            return isOld && !plan.kind.hasOlder || plan.kind == .movedVersions && isOld ? .earlierVersion : .done
        }
    }
}
