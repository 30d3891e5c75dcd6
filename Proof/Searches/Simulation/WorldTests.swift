import BackendContract
import BackendRuntime
import Foundation
import Simulation
import Synchronization
import TestSupport
import Testing

/// Tests of the simulated machine. It runs tasks, timers and lanes (serial queues for work that may block)
/// as steps on one thread. A seed chooses the next step. A slot is a named place for one record in a store.
@Suite(.inTurn) struct WorldTests {
    @Test func `a run fails if a real thread adds a step`() {
        let world = Simulation(seed: 1)
        let runtime = world.runtime("one")
        let failure = #expect(throws: Simulation.Failure.self) {
            try world.run {
                _ = runtime.tasks.spawn { while !Task.isCancelled { await Task.yield() } }
                // Resumes the task from a real thread, as a real timer or queue would.
                await withCheckedContinuation { continuation in
                    Thread.detachNewThread {
                        usleep(20_000)
                        continuation.resume()
                    }
                }
            }
        }
        guard case .leaked = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }

    @Test func `a run fails if it waits for something that is not simulated`() {
        let failure = #expect(throws: Simulation.Failure.self) {
            try Simulation(seed: 1).run { await withUnsafeContinuation { (_: UnsafeContinuation<Void, Never>) in } }
        }
        guard case .stuck = failure else {
            Issue.record("\(String(describing: failure))")
            return
        }
    }

    @Test func `simulated time passes only when no step can run`() throws {
        let world = Simulation(seed: 3)
        let clock = world.runtime("one").clock
        let order = Mutex<[String]>([])
        try world.run {
            _ = clock.schedule(at: clock.now.advanced(by: .seconds(5))) { order.withLock { $0.append("late") } }
            _ = clock.schedule(at: clock.now.advanced(by: .seconds(1))) { order.withLock { $0.append("soon") } }
            for _ in 0..<50 { await Task.yield() }
            order.withLock { $0.append("now") }
            await world.settle()
        }
        #expect(order.withLock(\.self) == ["now", "soon", "late"])
    }

    @Test func `a call that waits on a stalled lane times out at its deadline and never starts`() throws {
        let world = Simulation(seed: 4)
        let disk = SimulatedDisk(world)
        let store = SimulatedStore("list", .list, on: disk, of: SimulatedProcess("one"), world.runtime("one"))
        let error = try world.run { () -> BackendError? in
            world.stall(for: .seconds(60)) { $0 == "one/list" }
            do throws(BackendError) {
                _ = try await store.apply(.put(.native(.string("a")), at: StorageAddress("a")))
                return nil
            } catch { return error }
        }
        #expect(error?.code == .timedOut)
        #expect(error?.outcome == .notApplied)
        let probe = try world.run { () -> StorageProbe? in
            await world.settle()
            return try? await store.read(StorageAddress("a"), .validated)
        }
        #expect(probe == .absent)
    }

    @Test func `a power cut may lose any number of the last changes of a slot, but keeps all changes before them`() throws {
        var kept: Set<Int> = []
        for seed in 0..<UInt64(200) {
            let world = Simulation(seed: seed)
            let disk = SimulatedDisk(world)
            let store = SimulatedStore(
                "ring", .ring(acknowledges: .untilPowerLoss), on: disk, of: SimulatedProcess("one"), world.runtime("one"))
            let value = try world.run { () -> StorageProbe in
                for number in 1...3 { _ = try await store.apply(.put(.bytes([UInt8(number)]), at: StorageAddress("a"))) }
                disk.cutPower()
                return try await store.relaunched().read(StorageAddress("a"), .validated)
            }
            switch value {
            case .absent: kept.insert(0)
            case .value(let record): kept.insert(Int(record.payload.canonicalBytes.last ?? 0))
            default: Issue.record("\(value)")
            }
        }
        #expect(kept == [0, 1, 2, 3])
    }
}
