import BackendContract
import BackendRuntime
import LocalDataObservation
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// The states of an observable value.
@MainActor @Suite(.inTurn) struct StoredTests {
    private let machine = TestMachine()
    private let key = Places.bare

    @Test(.timeLimit(.minutes(10))) func `an object is loading while the store does not answer, and then has the value`() async throws {
        try await machine.launch().set("1", for: key)
        let router = machine.launch()
        _ = try await router.exists(key)
        let gate = FaultGate()
        try #require(machine.backends(of: Places.modern).last).inject(.hold(gate), of: .read)
        let stored = Stored(key, in: router)
        await gate.untilArrivals()
        #expect(stored.name == "loading")
        gate.open()
        #expect(await until { stored.value } == "1")
    }

    @Test(.timeLimit(.minutes(10))) func `after a change by the object, the state has the value, and the value is durable`() async throws {
        let stored = Stored(key, in: machine.launch())
        try await stored.set("1")
        #expect(stored.value == "1")
        #expect(try await machine.launch().get(key) == "1")
        try await stored.update { value in value = value.map { $0 + "2" } }
        #expect(stored.value == "12")
        try await stored.remove()
        #expect(stored.name == "absent")
        #expect(try await machine.launch().value(for: key) == nil)
    }

    @Test(.timeLimit(.minutes(10))) func `a write in progress is not shown before it is durable`() async throws {
        let router = machine.launch()
        let stored = Stored(key, in: router)
        try await stored.set("1")
        let gate = FaultGate()
        try #require(machine.backends(of: Places.modern).last).inject(.hold(gate), of: .apply)
        let write = Task { try await stored.set("2") }
        await gate.untilArrivals()
        #expect(stored.value == "1")
        gate.open()
        try await write.value
        #expect(stored.value == "2")
    }

    @Test(.timeLimit(.minutes(10))) func `a failed change leaves the state`() async throws {
        let router = machine.launch()
        let stored = Stored(key, in: router)
        try await stored.set("1")
        let full = BackendError(.init("noSpace"), "The disk is full.")
        try #require(machine.backends(of: Places.modern).last).inject(.fail(full), of: .apply, repeats: true)
        await #expect(throws: StorageError.self) { try await stored.set("2") }
        #expect(stored.value == "1")
    }

    @Test(.timeLimit(.minutes(10))) func `a value that another process removes has vanished, and a new one is shown`() async throws {
        let other = machine.launch()
        try await other.set("1", for: key)
        let stored = Stored(key, in: machine.launch())
        _ = await until { stored.value }
        try await other.set("2", for: key)
        _ = await until { stored.value == "2" ? true : nil }
        try await other.remove(key)
        await until { stored.name == "vanished" ? () : nil }
        #expect(stored.value == nil)
        try await other.set("3", for: key)
        _ = await until { stored.value == "3" ? true : nil }
    }

    @Test(.timeLimit(.minutes(10))) func `a value that was never there, or has expired, is absent`() async throws {
        let clock = TestClock()
        let machine = TestMachine { $0.use(clock) }
        let router = machine.launch()
        let stored = Stored(key, in: router)
        await until { stored.name == "absent" ? () : nil }
        try await router.set("1", for: key, lifetime: .seconds(60))
        _ = await until { stored.value }
        clock.advance(by: .seconds(61))
        router.slots.committer.hub.lookAgain(nil)
        await until { stored.name == "absent" ? () : nil }
    }

    @Test(.timeLimit(.minutes(10))) func `a locked router drops the value, and shows the present one after it is unlocked`() async throws {
        let router = machine.launch()
        let stored = Stored(key, in: router)
        try await stored.set("1")
        try await router.lock()
        await until { stored.name == "locked" ? () : nil }
        #expect(stored.value == nil)
        await #expect(throws: StorageError.self) { try await stored.set("lost") }
        try await router.unlock()
        _ = await until { stored.value == "1" ? true : nil }
        try await router.lock()
        await until { stored.name == "locked" ? () : nil }
        try await machine.launch().set("2", for: key)
        try await router.unlock()
        _ = await until { stored.value == "2" ? true : nil }
    }

    @Test(.timeLimit(.minutes(10))) func `a removal by this process is no loss, even if a lock follows at once`() async throws {
        let router = machine.launch()
        let stored = Stored(key, in: router)
        try await stored.set("1")
        try await router.remove(key)
        try await router.lock()
        await until { stored.name == "locked" ? () : nil }
        try await router.unlock()
        await until { stored.name == "absent" ? () : nil }
    }

    @Test(.timeLimit(.minutes(10))) func `a value that this process has forgotten with its domain is absent`() async throws {
        let router = machine.launch()
        let stored = Stored(key, in: router)
        try await stored.set("1")
        try await router.forget(Places.modern)
        let name = await until { ["absent", "vanished"].contains(stored.name) ? stored.name : nil }
        #expect(name == "absent")
    }

    @Test(.timeLimit(.minutes(10))) func `a store that another program has locked is read again when the router unlocks it`() async throws {
        try await machine.launch().set("1", for: key)
        machine.lock(Places.modern)
        let router = machine.launch()
        let stored = Stored(key, in: router)
        await until { stored.name == "locked" ? () : nil }
        try await router.unlock(Places.modern)
        #expect(await until { stored.value } == "1")
    }

    @Test(.timeLimit(.minutes(10))) func `a store that another program unlocks is read again after a pause`() async throws {
        let clock = ManualClock()
        let machine = TestMachine { $0.runtime.clock = clock }
        try await machine.launch().set("1", for: key)
        machine.lock(Places.modern)
        let stored = Stored(key, in: machine.launch())
        await until { stored.name == "locked" ? () : nil }
        clock.advance(by: .seconds(1))
        // The store is still locked. The following pauses grow to a minute.
        machine.unlock(Places.modern)
        while stored.value == nil {
            clock.advance(by: .seconds(60))
            await Task.yield()
        }
        #expect(stored.value == "1")
    }

    @Test(.timeLimit(.minutes(10))) func `a value that cannot be read is a failure until it is replaced`() async throws {
        machine.writeForeign(.integer(1), to: .userDefaults(suite: "main"), name: "list")
        let list = testKey("list", .userDefaults(suite: "main"), of: [Note].self)
        let stored = Stored(list, in: machine.launch())
        let error = await until { if case .failed(let error) = stored.state { error } else { nil } }
        #expect(error.code == StorageError.undecodable)
        try await stored.set([Note(id: "a", text: "1")])
        #expect(stored.value == [Note(id: "a", text: "1")])
    }

    @Test(.timeLimit(.minutes(10))) func `an object that was released or closed ends its following`() async throws {
        weak var released: StorageRouter?
        weak var object: Stored<String>?
        do {
            let router = machine.launch()
            let (stored, closed) = (Stored(key, in: router), Stored(key, in: router))
            (released, object) = (router, stored)
            try await stored.set("1")
            closed.close()
            try await closed.set("2")
            _ = await until { stored.value == "2" ? true : nil }
            #expect(closed.value != "2")
        }
        while object != nil || released != nil { await Task.yield() }
    }

    @Test(.timeLimit(.minutes(10))) func `after a shutdown, the last state stays, and a new object fails`() async throws {
        let router = machine.launch()
        let stored = Stored(key, in: router)
        try await stored.set("1")
        try await router.shutdown()
        let late = Stored(key, in: router)
        let error = await until { if case .failed(let error) = late.state { error } else { nil } }
        #expect(error.code == StorageError.shutDown)
        await #expect(throws: StorageError.self) { try await stored.set("2") }
    }
}

extension Stored {
    /// The name of the state.
    fileprivate var name: String {
        switch state {
        case .loading: "loading"
        case .value: "value"
        case .absent: "absent"
        case .vanished: "vanished"
        case .locked: "locked"
        case .failed: "failed"
        }
    }
}
