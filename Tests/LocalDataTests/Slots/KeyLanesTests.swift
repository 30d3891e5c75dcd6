import BackendContract
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// How long a call waits for another call that uses the same slot.
@Suite struct KeyLanesTests {
    private let clock = ManualClock()
    private let slot = PhysicalSlot(store: BackendIdentity(kind: "memory", store: "store"), address: StorageAddress("a"))

    private func makeLanes() -> KeyLanes { KeyLanes(gate: LockGate(), clock: clock, limit: .seconds(10)) }

    /// Runs a call that holds the slot until the gate opens.
    private func hold(_ lanes: KeyLanes, until gate: Gate) -> Task<Void, any Error> {
        Task { try await lanes.withLane(slot, keyName: "a") { await gate.pass() } }
    }

    @Test(.timeLimit(.minutes(10))) func `a call fails at the deadline if another call uses the slot, and changes nothing`() async throws {
        let (lanes, gate) = (makeLanes(), Gate())
        let first = hold(lanes, until: gate)
        await gate.arrived()
        let second = hold(lanes, until: gate)
        await clock.untilScheduled(1)
        clock.advance(by: .seconds(9))
        #expect(clock.pending == 1)
        clock.advance(by: .seconds(1))
        await expectRefusal(StorageError.timedOut) { try await second.value }
        gate.open()
        try await first.value
        try await lanes.withLane(slot, keyName: "a") {}
        #expect(clock.pending == 0)
    }

    @Test(.timeLimit(.minutes(10))) func `the deadline begins again if the next call gets the slot`() async throws {
        let (lanes, gates) = (makeLanes(), [Gate(), Gate(), Gate()])
        var calls = [hold(lanes, until: gates[0])]
        await gates[0].arrived()
        for (index, gate) in gates.dropFirst().enumerated() {
            calls.append(hold(lanes, until: gate))
            await clock.untilScheduled(index + 1)
        }
        clock.advance(by: .seconds(9))
        gates[0].open()
        await gates[1].arrived()
        // The deadline of the third call passes for the first time.
        clock.advance(by: .seconds(9))
        #expect(clock.pending == 1)
        gates[1].open()
        await gates[2].arrived()
        gates[2].open()
        for call in calls { try await call.value }
        #expect(clock.pending == 0)
    }

    @Test(.timeLimit(.minutes(10))) func `the deadline begins again if the call that uses the slot commits a change`() async throws {
        let (lanes, gate, step) = (makeLanes(), Gate(), Gate())
        let first = Task {
            try await lanes.withLane(slot, keyName: "a") {
                await step.pass()
                lanes.noteCommit()
                await gate.pass()
            }
        }
        await step.arrived()
        let second = hold(lanes, until: gate)
        await clock.untilScheduled(1)
        step.open()
        await gate.arrived()
        clock.advance(by: .seconds(10))
        #expect(clock.pending == 1)
        clock.advance(by: .seconds(10))
        await expectRefusal(StorageError.timedOut) { try await second.value }
        gate.open()
        try await first.value
    }

    @Test(.timeLimit(.minutes(10))) func `a cancelled call leaves the queue, and the next one gets the slot`() async throws {
        let (lanes, gate) = (makeLanes(), Gate())
        let first = hold(lanes, until: gate)
        await gate.arrived()
        let (second, third) = (hold(lanes, until: gate), hold(lanes, until: gate))
        await clock.untilScheduled(2)
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        gate.open()
        try await first.value
        try await third.value
        #expect(clock.pending == 0)
    }

    @Test(.timeLimit(.minutes(10))) func `a call that names a slot twice takes its lane once, and leaves it once`() async throws {
        let (lanes, gate) = (makeLanes(), Gate())
        let other = PhysicalSlot(store: slot.store, address: StorageAddress("b"))
        try await lanes.withLanes([slot, other, slot], keyName: "a") { #expect(lanes.isHeld(slot) && lanes.isHeld(other)) }
        #expect(!lanes.isHeld(slot) && !lanes.isHeld(other))
        // One of the lanes is taken, so the call waits for it.
        let first = hold(lanes, until: gate)
        await gate.arrived()
        let second = Task { try await lanes.withLanes([other, slot, slot], keyName: "a") { #expect(lanes.isHeld(other)) } }
        await clock.untilScheduled(1)
        gate.open()
        try await first.value
        try await second.value
        #expect(!lanes.isHeld(slot) && !lanes.isHeld(other) && clock.pending == 0)
    }

    @Test(.timeLimit(.minutes(10))) func `a set fails at the deadline while the store holds another change of the key`() async throws {
        let machine = TestMachine { $0.deadlines = Deadlines(files: .milliseconds(50), keychain: .milliseconds(50)) }
        let (router, key, gate) = (machine.launch(), textKey("a", .userDefaults), FaultGate())
        try await router.set("one", for: key)
        try #require(machine.backends(of: key.domain).last).inject(.hold(gate), of: .apply)
        async let first: Void = router.set("two", for: key)
        await gate.untilArrivals()
        await expectRefusal(StorageError.timedOut) { try await router.set("three", for: key) }
        gate.open()
        try await first
        #expect(try await router.get(key) == "two")
    }
}
