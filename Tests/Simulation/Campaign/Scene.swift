import BackendContract
import BackendRuntime
import Foundation
import LocalData
import Logging
import Synchronization

/// The machine of a run: its disk, its weather, the keys on it, and the programs that use them.
final class Scene: Sendable {
    /// A program that runs.
    struct Running: Sendable {
        let router: StorageRouter
        let process: SimulatedProcess
        let plan: Plan.Program
    }

    private struct Keys: StorageKeyCatalog {
        let allKeys: [AnyStorageKey]
        var id: String { "keys" }
    }

    let world: Simulation
    let plan: Plan
    let disk: SimulatedDisk
    let weather = Weather()
    let diary: Diary
    let moving: [Moving]
    let media: [String]
    let coverage: Mutex<Coverage>
    private let mutant: Mutant?
    private let base = StorageConfiguration.inMemory()
    private let changesFromOutside = Mutex<[Spot: Int]>([:])
    private let secrets = Mutex<Set<Int>>([])
    private let shownSecret = Mutex<String?>(nil)

    init(_ world: Simulation, _ plan: Plan, _ mutant: Mutant?) {
        self.world = world
        self.plan = plan
        self.mutant = mutant
        disk = SimulatedDisk(world)
        diary = Diary(world)
        moving = (0..<plan.count).flatMap { Shape(plan.kind, plan.policy, number: $0, isWary: plan.isWary).moving }
        var media: [String] = []
        for name in moving.flatMap({ [$0.spot] + $0.older.map(\.spot) }).map(\.medium) where !media.contains(name) { media.append(name) }
        if plan.kind == .sealed { media.append("keychain own keys") }
        self.media = media + ["own quarantine"]
        coverage = Mutex(Coverage())
        disk.setTears(plan.tears)
        disk.watch { [weak self] in self?.judge($1, in: $0) }
        weather.watchReads { [weak self] in self?.count($1, in: $0) }
    }

    // MARK: Programs

    var currentKeys: some StorageKeyCatalog { Keys(allKeys: moving.map(\.calls.key)) }

    private var olderKeys: some StorageKeyCatalog {
        var seen: Set<Spot> = []
        return Keys(allKeys: moving.flatMap(\.older).filter { seen.insert($0.spot).inserted }.compactMap { $0.calls?.key })
    }

    func launch(_ name: String, _ program: Plan.Program = Plan.Program(callers: [])) async -> Running {
        let process = SimulatedProcess(name)
        var configuration = base
        let runtime = world.runtime(name)
        configuration.runtime = runtime
        configuration.applicationVersion = program.isOlder || program.isHeldBack ? "1" : "2"
        configuration.logger = Logger(label: "simulation") { [diary] _ in MessageLog { diary.check(message: $0) } }
        configuration.safeguards = mutant?.safeguards ?? .all
        let make: @Sendable (String, SimulatedStore.Nature) -> SimulatedStore = { [disk, weather, mutant] medium, nature in
            SimulatedStore(medium, nature, on: disk, of: process, runtime, faults: mutant?.faults ?? [], weather: weather)
        }
        let ring = SimulatedStore.Nature.ring(acknowledges: plan.isWary ? .untilPowerLoss : .durable)
        configuration.use(for: .userDefaults) { make("userDefaults \($0)", .list) }
        configuration.use(for: .encryptedSQLite) { make("encryptedSQLite \($0)", .database) }
        configuration.use(for: .keychain) { make("keychain \($0)", $0 == "k" ? ring : .ring()) }
        // A router that is released here belongs to a process that was killed.
        configuration.closesWhenReleased = false
        configuration.makeOwnStore = { make("own \($0)", .list) }
        let router = StorageRouter(configuration: configuration)
        do {
            if program.isOlder { try await router.registerCatalog(olderKeys) } else { try await router.registerCatalog(currentKeys) }
        } catch { diary.note("the catalog was refused: \(error)") }
        return Running(router: router, process: process, plan: program)
    }

    func spawn(_ work: @escaping @Sendable () async -> Void) -> ScheduledAction { world.runtime("callers").tasks.spawn(work) }

    /// Whether a program other than this version's may change a slot once more: the search for an order takes long where many have.
    func mayChange(_ spot: Spot) -> Bool {
        changesFromOutside.withLock { changes in
            changes[spot, default: 0] += 1
            return changes[spot, default: 0] <= 3
        }
    }

    // MARK: What is kept secret

    /// Notes that a value was put where it is protected: from here on it stands nowhere in the plain.
    func keepSecret(_ text: String) { secrets.withLock { _ = $0.insert(Shape.number(in: text)) } }

    var leak: String? { diary.leak ?? shownSecret.withLock(\.self) }

    private func judge(_ content: SimulatedDisk.Content, in medium: String) {
        guard medium.hasPrefix("userDefaults") || medium.hasPrefix("own"), case .value(let payload, let metadata, _) = content else {
            return
        }
        let secrets = secrets.withLock(\.self)
        if secrets.isEmpty { return }
        var bytes = payload.canonicalBytes
        for text in metadata.attributes.values { bytes += text.utf8 }
        for number in Self.numbers(in: bytes) where secrets.contains(number) {
            shownSecret.withLock { $0 = $0 ?? "\(Shape.text(of: number)) stands in the plain in \(medium)" }
        }
    }

    private static let mark = Data("\(Marks.value)#".utf8)

    /// The numbers of the values that bytes tell.
    static func numbers(in bytes: [UInt8]) -> [Int] {
        let data = Data(bytes)
        var found: [Int] = []
        var offset = 0
        while let hit = data.range(of: mark, in: offset..<data.count) {
            offset = hit.upperBound
            var number = 0
            while offset < data.count, (48...57).contains(data[offset]) {
                number = number * 10 + Int(data[offset] - 48)
                offset += 1
            }
            found.append(number)
        }
        return found
    }

    // MARK: What is covered

    private func count(_ addresses: [StorageAddress], in medium: String) {
        for moving in moving where moving.spot.medium == medium && addresses.contains(moving.spot.address) {
            let row = row(of: moving)
            coverage.withLock { $0.hit(plan.kind, row) }
        }
    }

    /// Which row of the state table holds for a key now.
    private func row(of moving: Moving) -> Coverage.Row {
        if weather.trouble(of: moving.spot.medium) != nil { return .unknown }
        let here = disk.contents(of: moving.spot.medium)[moving.spot.address]
        var olderValues: [(Spot, StoragePayload)] = []
        for place in moving.older where place.spot != moving.spot {
            if case .value(let payload, _, _) = disk.contents(of: place.spot.medium)[place.spot.address] {
                olderValues.append((place.spot, payload))
            }
        }
        func named(_ metadata: StorageMetadata) -> Bool {
            guard let origin = metadata.origin else { return false }
            guard let facts = try? JSONDecoder().decode(RecordOrigin.self, from: Data(origin)) else {
                // Sealed: what was there before it is what it can name.
                let change = disk.change(of: moving.spot.medium, moving.spot.address)
                return olderValues.allSatisfy { spot, _ in disk.change(of: spot.medium, spot.address) < change }
            }
            return olderValues.allSatisfy { spot, payload in
                facts.copies[Moving.placeName(spot)]
                    == RecordOrigin.fingerprint(of: StorageRecord(payload: payload, revision: StorageRevision([])))
            }
        }
        switch here {
        case nil: return olderValues.isEmpty ? .absent : .pending
        case .damaged: return olderValues.isEmpty ? .damaged : .torn
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

/// Looks for values in what the router logs.
struct MessageLog: LogHandler {
    let check: @Sendable (String) -> Void
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) { check("\(event.message) \(event.metadata ?? [:])") }
}
