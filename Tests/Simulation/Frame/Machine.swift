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
    let weather = Weather()
    let diary: Diary<S.Deed>
    let coverage = Mutex(Coverage<S>())
    private let base = StorageConfiguration.inMemory()
    private let secrets = Mutex<Set<Int>>([])
    private let shownSecret = Mutex<String?>(nil)
    private let accidentsEver = Mutex(0)

    init(seed: UInt64, mutant: Mutant?, isTraced: Bool) {
        world = Simulation(seed: seed, isTraced: isTraced)
        self.mutant = mutant
        disk = SimulatedDisk(world)
        diary = Diary(world)
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
        configuration.safeguards = mutant?.safeguards ?? .all
        if let pageSize { configuration.pageSize = pageSize }
        let make: @Sendable (String, SimulatedStore.Nature) -> SimulatedStore = { [disk, weather, mutant] medium, nature in
            SimulatedStore(medium, nature, on: disk, of: process, runtime, faults: mutant?.faults ?? [], weather: weather)
        }
        configuration.use(for: .userDefaults) { make("userDefaults \($0)", .list) }
        configuration.use(for: .encryptedSQLite) { make("encryptedSQLite \($0)", .database) }
        configuration.use(for: .keychain) {
            make("keychain \($0)", isWary && $0 == "k" ? .ring(acknowledges: .untilPowerLoss) : .ring())
        }
        // A router that is released here belongs to a process that was killed.
        configuration.closesWhenReleased = false
        configuration.makeOwnStore = { make("own \($0)", .list) }
        let router = StorageRouter(configuration: configuration)
        do { try await router.registerCatalog(catalog) } catch { diary.note("the catalog was refused: \(error)") }
        return (router, process)
    }

    func spawn(_ work: @escaping @Sendable () async -> Void) -> ScheduledAction { world.runtime("callers").tasks.spawn(work) }

    /// From here on, a fault has been in play.
    func cover(_ fault: Fault) { coverage.withLock { $0.begin(fault) } }

    /// How much has gone wrong so far.
    var accidents: Int { accidentsEver.withLock(\.self) }
    func countAccident() { accidentsEver.withLock { $0 += 1 } }

    // MARK: What is kept secret

    /// Notes that a text was put where it is protected: from here on it stands nowhere in the plain.
    func keepSecret(_ text: String) { secrets.withLock { _ = $0.insert(Marks.number(in: text)) } }

    var leak: String? { diary.leak ?? shownSecret.withLock(\.self) }

    private func judge(_ content: SimulatedDisk.Content, in medium: String) {
        guard medium.hasPrefix("userDefaults") || medium.hasPrefix("own"), case .value(let payload, let metadata, _) = content else {
            return
        }
        let secrets = secrets.withLock(\.self)
        if secrets.isEmpty { return }
        var bytes = payload.canonicalBytes
        for text in metadata.attributes.values { bytes += text.utf8 }
        for number in Marks.numbers(in: bytes) where secrets.contains(number) {
            shownSecret.withLock { $0 = $0 ?? "\(Marks.text(of: number)) stands in the plain in \(medium)" }
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
