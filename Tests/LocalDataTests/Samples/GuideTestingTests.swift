// The samples of the guide on testing that need faults, gates and clocks. `Scripts/check-snippets` compares them with the guide.
// snippet.hide
import BackendContract
import LocalData
import LocalDataTesting
import Testing

extension StorageKey where Value == Int {
    fileprivate static let count = StorageKey(name: "count", domain: .userDefaults, owner: "Clicks", description: "The number of clicks")
}

extension StorageKey where Value == String {
    fileprivate static let code = StorageKey(name: "code", domain: .memory("codes"), owner: "Login", description: "The code that was sent")
}

@Suite struct GuideTestingTests {
    // snippet.show
    @Test func `an increment of another process is not lost`() async throws {
        let machine = TestMachine()
        let storage = machine.launch()
        try await storage.set(0, for: .count)
        let gate = FaultGate()
        for store in machine.backends(of: .userDefaults) { store.inject(.hold(gate), of: .apply) }

        async let slow: Void = storage.update(.count, default: 0) { $0 += 1 }
        await gate.untilArrivals()  // it has read 0, and waits before it writes 1
        try await machine.launch().update(.count, default: 0) { $0 += 1 }
        gate.open()
        try await slow
        #expect(try await storage.get(.count) == 2)
    }
    // snippet.hide

    // snippet.show
    @Test func `a code expires after a minute`() async throws {
        let clock = TestClock()
        let storage = TestMachine { $0.use(clock) }.launch()
        try await storage.set("1234", for: .code, lifetime: .seconds(60))
        clock.advance(by: .seconds(61))
        #expect(try await storage.value(for: .code) == nil)
    }
    // snippet.hide

    // snippet.show
    @Test func `the program goes on when the user declines to unlock the keyring`() async throws {
        let machine = TestMachine()
        machine.lock(.keychain)
        let storage = machine.launch()
        _ = await storage.status(of: .keychain)  // opens the store, so that a fault can be injected
        let declined = BackendError(.promptDismissed, "The user closed the prompt.")
        for keyring in machine.backends(of: .keychain) { keyring.refuseUnlock(with: declined) }

        await #expect { try await storage.unlock(.keychain) } throws: { StorageError.promptDismissed ~= $0 }
        try await storage.set(1, for: .count)  // other stores work
    }
    // snippet.hide
}
