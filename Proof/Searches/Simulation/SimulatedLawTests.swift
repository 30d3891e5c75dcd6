import BackendConformance
import BackendContract
import BackendRuntime
import Simulation
import Synchronization
import TestSupport
import Testing

/// Tests that the simulated stores keep the laws, which are rules for every real store.
/// If they broke a law, simulated runs with them would prove nothing about real stores.
/// A bench makes the stores on which the laws are checked.
@Suite(.inTurn) struct SimulatedLawTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let law: BackendLaw
        let bench: LawBench
        var testDescription: String { "\(bench): \(law)" }
    }

    static let benches: [LawBench] = [
        .simulated("simulated property list", .list), .simulated("simulated database", .database),
        .simulated("simulated keyring", .ring()),
        .simulated("simulated keyring without a folder", .ring(acknowledges: .untilPowerLoss)),
    ]

    @Test(arguments: benches.flatMap { bench in BackendLaw.all.filter { $0.applies(to: bench) }.map { Case(law: $0, bench: bench) } })
    func `every simulated store keeps every law that applies to it`(_ pair: Case) async throws { try await pair.law.verify(on: pair.bench) }
}

private struct WrongStore: Error {}

private let worlds = Atomic(UInt64(0))

extension LawBench {
    /// A bench that makes simulated stores of one kind.
    static func simulated(_ name: String, _ nature: SimulatedStore.Nature) -> LawBench {
        @Sendable func simulated(_ store: any StorageBackend) throws -> SimulatedStore {
            guard let store = store as? SimulatedStore else { throw WrongStore() }
            return store
        }
        var writeForeign: (@Sendable (any StorageBackend, StorageAddress, String) async throws -> Void)?
        if nature.capabilities.sharedWithOthers {
            writeForeign = { store, address, text in try simulated(store).behind { $0.writeForeign(.string(text), to: $1, at: address) } }
        }
        return LawBench(
            name: name, capabilities: nature.capabilities,
            makeStore: {
                let number = worlds.add(1, ordering: .relaxed).newValue
                let world = Simulation(seed: number)
                // The laws run on real threads, because simulated ones exist only during a run.
                return SimulatedStore("\(name) \(number)", nature, on: SimulatedDisk(world), of: SimulatedProcess("one"), .live)
            },
            reopen: { try simulated($0).relaunched() },
            writeForeign: writeForeign,
            corrupt: { store, address in try simulated(store).behind { $0.corrupt($1, address, bytes: [0xBA, 0xD0]) } })
    }
}
