package import BackendContract
import BackendRuntime
import LocalData
import Logging
import Synchronization
import TestSupport

/// One value that moves from a property list to a better place, while two processes use it, stores are out of reach, processes end and the power is cut.
///
/// What every caller saw is one history; one order of the calls must explain it. In the end, with everything in reach, a few sweeps finish, and the older place is empty.
package struct MovingCampaign: Sendable {
    /// What is wrong in a run.
    package struct Violation: Error, CustomStringConvertible {
        package let seed: UInt64
        package let what: String
        package let history: [String]
        package var description: String { "seed \(seed): \(what)\n\(history.joined(separator: "\n"))" }
    }

    /// What a run came to.
    package struct Outcome: Sendable {
        package let digest: UInt64
        package let steps: Int
        package var counts: [String: Int] = [:]
        package var trace: [String] = []
    }

    package let seed: UInt64
    private let route: Route
    private let faults: SimulatedStore.Faults

    package init(seed: UInt64, route: Route = .simple, faults: SimulatedStore.Faults = SimulatedStore.Faults()) {
        self.seed = seed
        self.route = route
        self.faults = faults
    }

    /// How the value comes to its place.
    package enum Route: String, Sendable, CaseIterable {
        /// From one older place.
        case simple
        /// From an older place over another one, which two versions of the program have used.
        case chain
    }

    private static let old = StorageKey<String>(
        name: "old", domain: .userDefaults(suite: "a"), owner: "Simulation", description: "The oldest place")
    private static let middle = StorageKey<String>(
        name: "middle", domain: .userDefaults(suite: "c"), owner: "Simulation", description: "The place between"
    ).moved(from: old)
    private static let place = StorageKey<String>(
        name: "new", domain: .encryptedSQLite(database: "b"), security: .none, owner: "Simulation", description: "The value")

    private var key: StorageKey<String> {
        switch route {
        case .simple: Self.place.moved(from: Self.old)
        case .chain: Self.place.moved(from: Self.middle)
        }
    }

    private struct Catalog: StorageKeyCatalog {
        let allKeys: [AnyStorageKey]
    }

    /// Runs it.
    /// - Throws: ``Violation``; ``Simulation/Failure``.
    package func run(isTraced: Bool = false) throws -> Outcome {
        let world = Simulation(seed: seed, isTraced: isTraced)
        let scene = Scene(world, faults)
        let counts = try world.run { try await act(scene) }
        return Outcome(digest: world.digest, steps: world.steps, counts: counts, trace: world.trace)
    }

    private func act(_ scene: Scene) async throws -> [String: Int] {
        let world = scene.world
        let catalog = Catalog(allKeys: [.key(key)])
        // In a chain, the value may have come as far as the place between.
        let begin = route == .chain && world.draw(3) == 0 ? scene.between : scene.list
        scene.disk.writeForeign(.string("legacy"), to: begin, at: StorageAddress(begin == scene.list ? "old" : "middle"))
        for round in 0..<(1 + world.draw(2)) {
            await live(scene, round)
        }
        scene.calm()
        let router = scene.launch("last").router
        // A copy that was left on the way is collected by the sweep after the one that finds the value.
        var sweeps = 0
        var finished = false
        func isClear() -> Bool { [scene.list, scene.between].allSatisfy { scene.disk.values(in: $0).isEmpty } }
        while sweeps < 4, !finished || !isClear() {
            finished = await router.sweep(catalog).isComplete
            sweeps += 1
        }
        let end = try await router.value(for: key)
        scene.log.add(.read(end))
        func violation(_ what: String) -> Violation { Violation(seed: seed, what: what, history: scene.log.lines) }
        guard finished else { throw violation("four sweeps did not finish") }
        guard scene.log.history.isLinearizable(from: "legacy") else { throw violation("no order of the calls explains what was seen") }
        guard isClear() else { throw violation("an older place still holds a value after \(sweeps) sweeps") }
        return scene.log.counts
    }

    /// Two processes at once, until their callers are done or their process has ended.
    private func live(_ scene: Scene, _ round: Int) async {
        let world = scene.world
        let programs = (0..<2).map { scene.launch("process \(round).\($0)") }
        var callers: [Caller] = []
        for program in programs {
            for number in 0..<(1 + world.draw(2)) {
                let caller = Caller(program.process)
                callers.append(caller)
                caller.started(scene.spawn { await call(scene, program.router, "\(program.process.name).\(number)", caller) })
            }
        }
        let accident = world.draw(5)
        let moment = world.draw(120)
        for step in 0..<4_000 where callers.contains(where: { !$0.isDone }) {
            scene.change(step)
            if step == moment {
                switch accident {
                case 0: programs[0].process.end()
                case 1:
                    for program in programs { program.process.end() }
                    scene.disk.cutPower()
                    scene.log.note("power cut")
                case 2: callers[world.draw(callers.count)].cancel()
                default: break
                }
            }
            await Task.yield()
        }
        // Whoever still waits has a process that ended, or is left behind.
        for program in programs { program.process.end() }
    }

    private func call(_ scene: Scene, _ router: StorageRouter, _ name: String, _ caller: Caller) async {
        for number in 0..<(1 + scene.world.draw(4)) {
            switch scene.world.draw(7) {
            case 0, 1, 2: await scene.log.read { try await router.value(for: key) }
            case 3: await scene.log.write("\(name).\(number)") { try await router.set("\(name).\(number)", for: key) }
            case 4: await scene.log.write(nil) { try await router.remove(key) }
            case 5:
                let text = "\(name).\(number)"
                await scene.log.swap(text) {
                    try await router.update(key) { value -> String? in
                        defer { value = text }
                        return value
                    }
                }
            default: _ = await router.sweep(Catalog(allKeys: [.key(key)]))
            }
        }
        caller.finish()
    }

    private final class Caller: Sendable {
        private let process: SimulatedStore.Process
        private let done = Mutex(false)
        private let work = Mutex<ScheduledAction?>(nil)
        init(_ process: SimulatedStore.Process) { self.process = process }
        func started(_ action: ScheduledAction) { work.withLock { $0 = action } }
        func cancel() { work.withLock(\.self)?.cancel() }
        func finish() { done.withLock { $0 = true } }
        var isDone: Bool { done.withLock(\.self) || process.hasEnded }
    }

    /// The stores, and what is wrong with them.
    private final class Scene: Sendable {
        let world: Simulation
        let disk: SimulatedDisk
        let log: CallLog
        let list = "userDefaults a"
        let between = "userDefaults c"
        private let faults: SimulatedStore.Faults
        private let troubles = Mutex<[String: SimulatedStore.Trouble]>([:])
        private let base = StorageConfiguration.inMemory()

        init(_ world: Simulation, _ faults: SimulatedStore.Faults) {
            self.world = world
            self.faults = faults
            disk = SimulatedDisk(world)
            log = CallLog(world)
        }

        func launch(_ name: String) -> (router: StorageRouter, process: SimulatedStore.Process) {
            let process = SimulatedStore.Process(name)
            var configuration = base
            configuration.runtime = world.runtime(name)
            configuration.logger = Logger(label: "simulation", factory: { _ in SwiftLogNoOpLogHandler() })
            configuration.use(for: .userDefaults) { [self] scope in
                view("userDefaults \(scope)", process, isShared: true, showsEarly: true)
            }
            configuration.use(for: .encryptedSQLite) { [self] scope in view("sqlite \(scope)", process, isShared: false, showsEarly: false)
            }
            return (StorageRouter(configuration: configuration), process)
        }

        private func view(_ medium: String, _ process: SimulatedStore.Process, isShared: Bool, showsEarly: Bool) -> SimulatedStore {
            SimulatedStore(
                medium,
                BackendCapabilities(
                    durability: .durable, atomicBatch: true, crossProcess: true, protection: isShared ? .plain : .sealed,
                    storesNativeValues: isShared, sharedWithOthers: isShared, usefulConcurrency: 64),
                on: disk, of: process, in: world, isOneFile: true, showsEarly: showsEarly, faults: faults
            ) { [self] in troubles.withLock { $0[medium] } }
        }

        func spawn(_ work: @escaping @Sendable () async -> Void) -> ScheduledAction { world.runtime("callers").tasks.spawn(work) }

        /// Now and then something gets out of reach, or comes back.
        func change(_ step: Int) {
            guard world.draw(25) == 0 else { return }
            let medium = [list, between, "sqlite b", "sqlite b"][world.draw(4)]
            let trouble: SimulatedStore.Trouble? = [nil, nil, .locked, .unavailable][world.draw(4)]
            troubles.withLock { $0[medium] = trouble }
            log.note("\(medium): \(trouble.map { "\($0)" } ?? "in reach")")
        }

        func calm() { troubles.withLock { $0 = [:] } }
    }
}
