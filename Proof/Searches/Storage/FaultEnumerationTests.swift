import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Tries every fault at every operation of every store. No value may be lost or come back.
/// A sweep is a call that brings all keys into their final state. At most two sweeps may be needed.
@Suite(.inTurn, .tags(.campaign)) struct FaultEnumerationTests {
    struct Fault: Sendable {
        let name: String
        let fault: StorageFault
        var lasts = false
    }

    static let faults = [
        Fault(name: "fails", fault: .fail(BackendError(.failed, "A test let it fail."))),
        Fault(name: "disk full", fault: .fail(BackendError(.noSpace, "A test filled the disk."))),
        Fault(name: "times out", fault: .fail(BackendError(.timedOut, "A test let it time out.", outcome: .unknown))),
        Fault(name: "answer lost", fault: .loseAnswer),
        Fault(name: "killed before", fault: .stop),
        Fault(name: "killed after", fault: .stopAfterwards),
        Fault(name: "locked", fault: .locked),
        Fault(name: "locked from then on", fault: .locked, lasts: true),
        Fault(name: "out of reach", fault: .unavailable),
        Fault(name: "out of reach from then on", fault: .unavailable, lasts: true),
    ]

    @Test(arguments: FaultScenario.all) func `a fault at any operation loses no value`(
        scenario: FaultScenario
    ) async throws {
        var cases = 0
        for store in scenario.stores {
            let operations = try await count(scenario, store)
            for number in 1...max(1, operations) {
                for fault in Self.faults {
                    for isCut in [true, false] {
                        cases += 1
                        try await check(scenario, store, number, fault, isCut: isCut)
                    }
                }
            }
        }
        print("faults: \(scenario): \(cases) cases")
    }

    /// Returns how many operations of a store the action of a scenario needs if nothing fails.
    private func count(_ scenario: FaultScenario, _ store: StorageDomain) async throws -> Int {
        let machine = TestMachine()
        try await scenario.prepare(machine)
        machine.cut()
        let router = machine.launch()
        _ = await router.status(of: store)
        try await scenario.act(router)
        return machine.backends(of: store).reduce(0) { $0 + $1.log.count }
    }

    private func check(_ scenario: FaultScenario, _ store: StorageDomain, _ number: Int, _ fault: Fault, isCut: Bool) async throws {
        let place = "\(scenario): operation \(number) of \(store) \(fault.name)\(isCut ? ", then a power cut" : "")"
        let machine = TestMachine()
        try await scenario.prepare(machine)
        machine.cut()
        var router = machine.launch()
        _ = await router.status(of: store)
        for backend in machine.backends(of: store) { backend.inject(fault.fault, at: number, repeats: fault.lasts) }
        let answer = await answer(scenario, router)

        let wasKilled = machine.backends(of: store).contains { $0.isStopped }
        for backend in machine.backends(of: store) { backend.removeFaults() }
        if isCut || wasKilled {
            machine.cut()
            router = machine.launch()
        }
        let allowed = scenario.outcomes(answer)
        let first = try await scenario.read(router)
        #expect(allowed.union(scenario.alsoBeforeSweep).contains(first), "\(place): \(answer), and then it reads \(first ?? "nil")")

        try await settle(router, scenario, place)
        let second = try await scenario.read(router)
        #expect(allowed.contains(second), "\(place): \(answer), and after the sweep it reads \(second ?? "nil")")
        #expect(
            scenario.alsoBeforeSweep.isEmpty == false || first == second,
            "\(place): the sweep changed \(first ?? "nil") to \(second ?? "nil")")
        for older in scenario.older {
            #expect(try await router.value(for: older) == nil, "\(place): \(older.name) is still there")
        }
        try await checkQuarantine(router, scenario, place)
        machine.cut()
        let third = try await scenario.read(machine.launch())
        #expect(third == second, "\(place): after another start it reads \(third ?? "nil") instead of \(second ?? "nil")")
    }

    private func answer(_ scenario: FaultScenario, _ router: StorageRouter) async -> FaultScenario.Answer {
        do {
            try await scenario.act(router)
            return .applied
        } catch let error as StorageError {
            switch error.outcome {
            case .applied: return .applied
            case .notApplied: return .notApplied
            case .unknown: return .unknown
            }
        } catch {
            return .notApplied
        }
    }

    /// Requires that one of two sweeps is complete, and that a third one changes nothing.
    private func settle(_ router: StorageRouter, _ scenario: FaultScenario, _ place: String) async throws {
        try await router.registerCatalog(TestCatalog(scenario.keys))
        let first = await router.sweep()
        let second = await router.sweep()
        #expect(first.isComplete || second.isComplete, "\(place): \(second.rows)")
        let third = await router.sweep()
        #expect(third.isComplete && third.moved.isEmpty, "\(place): a further sweep changed something: \(third.rows)")
    }

    private func checkQuarantine(_ router: StorageRouter, _ scenario: FaultScenario, _ place: String) async throws {
        var kept: Set<String> = []
        for value in try await router.audit().quarantine {
            kept.insert(String(decoding: try await router.quarantine.data(of: value), as: UTF8.self))
        }
        let plain = Set(kept.map { $0.trimmingCharacters(in: ["\""]) })
        #expect(plain.isSuperset(of: scenario.quarantined), "\(place): in quarantine is only \(plain)")
        #expect(scenario.quarantined.union(scenario.mayBeQuarantined).isSuperset(of: plain), "\(place): in quarantine is also \(plain)")
    }
}
