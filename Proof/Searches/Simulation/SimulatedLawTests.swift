import BackendConformance
import BackendContract
import BackendRuntime
import Simulation
import Synchronization
import TestSupport
import Testing

/// The simulated stores keep the laws that real ones keep: without that, a campaign over them shows nothing.
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
    func `every simulated store keeps every law that binds it`(_ pair: Case) async throws { try await pair.law.verify(on: pair.bench) }
}

private struct WrongStore: Error {}

private let worlds = Atomic(UInt64(0))

extension LawBench {
    /// The stores of the simulation: what a campaign finds over them counts only if they keep what real ones keep.
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
                // The laws are tried on real threads; the simulated ones need a run.
                return SimulatedStore("\(name) \(number)", nature, on: SimulatedDisk(world), of: SimulatedProcess("one"), .live)
            },
            reopen: { try simulated($0).relaunched() },
            writeForeign: writeForeign,
            corrupt: { store, address in try simulated(store).behind { $0.corrupt($1, address, bytes: [0xBA, 0xD0]) } })
    }
}
