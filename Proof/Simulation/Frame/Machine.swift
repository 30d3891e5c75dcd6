import BackendContract
import BackendRuntime
import Foundation
import LocalData
import Logging
import Synchronization

/// The simulated machine of a run and its disk. `weather` has the current faults of its stores, and `diary` is the log
/// of all calls. It also checks that no secret is written in plaintext.
package final class Machine<S: Subject>: Sendable {
    let world: Simulation
    let mutant: Mutant?
    let disk: SimulatedDisk
    let weather = StoreConditions()
    let diary: CallLog<S.Deed>
    let coverage = Mutex(Coverage<S>())
    private let base = StorageConfiguration.inMemory()
    private let secrets = Mutex<Set<Int>>([])
    /// The fingerprints (hashes) of secret texts, each with the number of its text. A record's origin, which is
    /// metadata about the older copies that the record replaced, may contain fingerprints.
    private let fingerprints = Mutex<[String: Int]>([:])
    private let shownSecret = Mutex<String?>(nil)
    private let accidentsEver = Mutex(0)
    private let programs = Mutex(Programs())

    /// The programs that were started.
    private struct Programs: Sendable {
        var processes: [SimulatedProcess] = []
        var routers: [WeakRouter] = []
        /// Whether the rules were checked and the memory of the programs is being freed. A program that starts later is
        /// freed, too.
        var areReleased = false
    }

    private struct WeakRouter: Sendable { weak let router: StorageRouter? }

    init(seed: UInt64, schedule: Schedule?, mutant: Mutant?, isTraced: Bool) {
        world = Simulation(seed: seed, schedule: schedule, isTraced: isTraced)
        self.mutant = mutant
        disk = SimulatedDisk(world)
        diary = CallLog(world)
        disk.watch { [weak self] in self?.judge($1, in: $0) }
    }

    /// Starts a program and registers its catalog, the list of its keys.
    /// - Parameters:
    ///   - isWary: Whether the keyring "k" says of an acknowledged change that a power loss may undo it.
    ///   - pageSize: How many records the library reads at once when it lists a collection; nil for the default.
    func launch(
        _ name: String, version: String, _ catalog: some StorageKeyCatalog, isWary: Bool = false, pageSize: Int? = nil
    ) async -> (router: StorageRouter, process: SimulatedProcess) {
        let process = SimulatedProcess(name)
        let runtime = world.runtime(name)
        var configuration = base
        configuration.runtime = runtime
        configuration.applicationVersion = version
        // The time is simulated, so the deadlines of real stores apply, also to a call that waits for another one.
        configuration.deadlines = Deadlines()
        configuration.logger = Logger(label: "simulation") { [diary] _ in MessageLog { diary.check(message: $0) } }
        if let pageSize { configuration.pageSize = pageSize }
        let make: @Sendable (String, SimulatedStore.Nature) -> SimulatedStore = { [disk, weather, mutant] medium, nature in
            var faults = mutant?.faults ?? []
            // The library's own stores, such as the quarantine, do not claim too much protection. Otherwise, the run
            // would fail before any value moves.
            if medium.hasPrefix("own") { faults.remove(.overstatesProtection) }
            return SimulatedStore(medium, nature, on: disk, of: process, runtime, faults: faults, weather: weather)
        }
        configuration.useBackend(for: .userDefaults) { make("userDefaults \($0)", .list) }
        configuration.useBackend(for: .encryptedSQLite) { make("encryptedSQLite \($0)", .database) }
        configuration.useBackend(for: .keychain) {
            make("keychain \($0)", isWary && $0 == "k" ? .ring(acknowledges: .untilPowerLoss) : .ring())
        }
        // A router is released here only after its process was killed, and a killed process closes no store.
        configuration.closesWhenReleased = false
        configuration.makeOwnStore = { name, _ in make("own \(name)", .list) }
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

    /// Frees the memory of a run after its rules were checked. The tasks of all programs take their last steps, in
    /// which every call of a store fails.
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

    /// Notes a fault in the coverage. States of values that are reached later in this run count as reached after it.
    func cover(_ fault: Fault) { coverage.withLock { $0.begin(fault) } }

    /// How many accidents have happened so far.
    var accidents: Int { accidentsEver.withLock(\.self) }
    func countAccident() { accidentsEver.withLock { $0 += 1 } }

    // MARK: What is kept secret

    /// Notes that a text was written to a protected store. From now on, the text must not occur in plaintext anywhere.
    func keepSecret(_ text: String) {
        let number = Marks.number(in: text)
        guard secrets.withLock({ $0.insert(number).inserted }) else { return }
        fingerprints.withLock { known in for fingerprint in Self.fingerprints(of: text) { known[fingerprint] = number } }
    }

    /// Returns the fingerprints by which an origin may name a text. There are several, because another program may
    /// store the text in several encodings.
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
            shownSecret.withLock { $0 = $0 ?? "the fingerprint of \(Marks.text(of: number)) occurs in plaintext in \(medium)" }
        }
    }

    private func judge(_ bytes: [UInt8], _ place: String) {
        let secrets = secrets.withLock(\.self)
        for number in Marks.numbers(in: bytes) where secrets.contains(number) {
            shownSecret.withLock { $0 = $0 ?? "\(Marks.text(of: number)) occurs in plaintext in \(place)" }
        }
    }
}

/// The keys of a program.
struct Catalog: StorageKeyCatalog {
    let allKeys: [AnyStorageKey]
    let id: String
}

/// Checks the router's log messages for values.
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
