import BackendContract
import BackendRuntime
import Foundation
import LocalData
import Logging
import Synchronization

/// The machine of a run: its disk, its weather, what its callers were told, and what must not be told.
package final class Machine<S: Subject>: Sendable {
    let world: Simulation
    let mutant: Mutant?
    let disk: SimulatedDisk
    let weather = StoreConditions()
    let diary: CallLog<S.Deed>
    let coverage = Mutex(Coverage<S>())
    private let base = StorageConfiguration.inMemory()
    private let secrets = Mutex<Set<Int>>([])
    /// What origins would call the secrets.
    private let fingerprints = Mutex<[String: Int]>([:])
    private let shownSecret = Mutex<String?>(nil)
    private let accidentsEver = Mutex(0)
    private let programs = Mutex(Programs())

    /// The programs that were started.
    private struct Programs: Sendable {
        var processes: [SimulatedProcess] = []
        var routers: [WeakRouter] = []
        /// Whether the run has been judged.
        var areReleased = false
    }

    private struct WeakRouter: Sendable { weak let router: StorageRouter? }

    init(seed: UInt64, mutant: Mutant?, isTraced: Bool) {
        world = Simulation(seed: seed, isTraced: isTraced)
        self.mutant = mutant
        disk = SimulatedDisk(world)
        diary = CallLog(world)
        disk.watch { [weak self] in self?.judge($1, in: $0) }
    }

    /// Starts a program.
    /// - Parameters:
    ///   - isWary: Whether the keyring "k" acknowledges what is not certain to survive a power cut.
    ///   - pageSize: How many records a page has; as by default when nil.
    func launch(
        _ name: String, version: String, _ catalog: some StorageKeyCatalog, isWary: Bool = false, pageSize: Int? = nil
    ) async -> (router: StorageRouter, process: SimulatedProcess) {
        let process = SimulatedProcess(name)
        let runtime = world.runtime(name)
        var configuration = base
        configuration.runtime = runtime
        configuration.applicationVersion = version
        configuration.logger = Logger(label: "simulation") { [diary] _ in MessageLog { diary.check(message: $0) } }
        if let pageSize { configuration.pageSize = pageSize }
        let make: @Sendable (String, SimulatedStore.Nature) -> SimulatedStore = { [disk, weather, mutant] medium, nature in
            var faults = mutant?.faults ?? []
            // The quarantine would give the mutant away before any value moves.
            if medium.hasPrefix("own") { faults.remove(.overstatesProtection) }
            return SimulatedStore(medium, nature, on: disk, of: process, runtime, faults: faults, weather: weather)
        }
        configuration.useBackend(for: .userDefaults) { make("userDefaults \($0)", .list) }
        configuration.useBackend(for: .encryptedSQLite) { make("encryptedSQLite \($0)", .database) }
        configuration.useBackend(for: .keychain) {
            make("keychain \($0)", isWary && $0 == "k" ? .ring(acknowledges: .untilPowerLoss) : .ring())
        }
        // A router that is released here belongs to a process that was killed.
        configuration.closesWhenReleased = false
        configuration.makeOwnStore = { make("own \($0)", .list) }
        let router = StorageRouter(configuration: configuration)
        let isReleased = programs.withLock { programs in
            programs.processes.append(process)
            programs.routers.append(WeakRouter(router: router))
            return programs.areReleased
        }
        if isReleased { process.release() }
        do { try await router.registerCatalog(catalog) } catch { diary.note("the catalog was refused: \(error)") }
        return (router, process)
    }

    /// Frees the memory of a run that has been judged: every program unwinds, without a store to reach.
    /// - Returns: How many programs are still in memory.
    func unwind() -> Int {
        let processes = programs.withLock { programs in
            programs.areReleased = true
            return programs.processes
        }
        for process in processes { process.release() }
        world.unwind()
        return programs.withLock { $0.routers.count { $0.router != nil } }
    }

    func spawn(_ work: @escaping @Sendable () async -> Void) -> ScheduledAction { world.runtime("callers").tasks.spawn(work) }

    /// From here on, a fault has been in play.
    func cover(_ fault: Fault) { coverage.withLock { $0.begin(fault) } }

    /// How much has gone wrong so far.
    var accidents: Int { accidentsEver.withLock(\.self) }
    func countAccident() { accidentsEver.withLock { $0 += 1 } }

    // MARK: What is kept secret

    /// Notes that a text was put where it is protected: from here on it stands nowhere in the plain.
    func keepSecret(_ text: String) {
        let number = Marks.number(in: text)
        guard secrets.withLock({ $0.insert(number).inserted }) else { return }
        fingerprints.withLock { known in for fingerprint in Self.fingerprints(of: text) { known[fingerprint] = number } }
    }

    /// What origins call a value of another program.
    private static func fingerprints(of text: String) -> [String] {
        let payloads: [StoragePayload] = [.native(.string(text)), .bytes(Array(text.utf8)), .bytes(Array("\"\(text)\"".utf8))]
        return payloads.map { payload in
            RecordOrigin.fingerprint(of: StorageRecord(payload: payload, revision: StorageRevision([])))
        }
    }

    var leak: String? { diary.leak ?? shownSecret.withLock(\.self) }

    private func judge(_ content: SimulatedDisk.Content, in medium: String) {
        guard medium.hasPrefix("userDefaults") || medium.hasPrefix("own"), secrets.withLock({ !$0.isEmpty }) else { return }
        switch content {
        case .value(let payload, let metadata, _):
            judge(payload.canonicalBytes, "\(medium)")
            judge(metadata, medium)
        case .tombstone(let metadata): judge(metadata, medium)
        case .damaged: break
        }
    }

    private func judge(_ metadata: StorageMetadata, _ medium: String) {
        judge(metadata.attributes.values.flatMap(\.utf8), "attributes in \(medium)")
        guard let origin = metadata.origin.map({ String(decoding: $0, as: UTF8.self) }) else { return }
        let known = fingerprints.withLock(\.self)
        for (fingerprint, number) in known where origin.contains(fingerprint) {
            shownSecret.withLock { $0 = $0 ?? "the fingerprint of \(Marks.text(of: number)) stands in the plain in \(medium)" }
        }
    }

    private func judge(_ bytes: [UInt8], _ place: String) {
        let secrets = secrets.withLock(\.self)
        for number in Marks.numbers(in: bytes) where secrets.contains(number) {
            shownSecret.withLock { $0 = $0 ?? "\(Marks.text(of: number)) stands in the plain in \(place)" }
        }
    }
}

/// The keys of a program.
struct Catalog: StorageKeyCatalog {
    let allKeys: [AnyStorageKey]
    let id: String
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
