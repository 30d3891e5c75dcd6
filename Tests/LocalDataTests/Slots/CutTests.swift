import LocalData
import LocalDataTesting
import Testing

/// The simulated power cut `TestMachine.cut()` ends all launches. A launch is one run of a program on the machine. The
/// memory of a launch must be freed after a cut.
@Suite struct CutTests {
    private struct WeakRouter: Sendable { weak let router: StorageRouter? }

    private static let key = StorageKey<String>(
        name: "a", domain: .userDefaults(suite: "app"), security: .none, owner: "Tests", description: "A value")

    /// Simulates a power cut while an operation of a launch waits at a gate, which the test never opens.
    private func cutLaunch(at gate: FaultGate) async throws -> WeakRouter {
        let machine = TestMachine()
        let launch = machine.launch()
        try await launch.set("one", for: Self.key)
        try #require(machine.backends(of: Self.key.domain).first).inject(.hold(gate), of: .apply)
        let call = Task { try await launch.set("two", for: Self.key) }
        await gate.untilArrivals()
        machine.cut()
        await expectRefusal(StorageError.unavailable) { try await call.value }
        #expect(try await machine.launch().get(Self.key) == "one")
        return WeakRouter(router: launch)
    }

    @Test(.timeLimit(.minutes(5)))
    func `a launch is freed after a power cut, although one of its operations waited at a closed gate`() async throws {
        let launch = try await cutLaunch(at: FaultGate())
        while launch.router != nil { try await Task.sleep(for: .milliseconds(1)) }
    }
}
