import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Two keys that take their value from one legacy location.
@Suite(.inTurn) struct SharedSourceTests {
    @Test(.timeLimit(.minutes(10)))
    func `a legacy value stays for a key of a catalog that is registered while the values of another catalog move`() async throws {
        let (machine, main) = (TestMachine(), StorageDomain.encryptedSQLite(database: "main"))
        let legacy = (0..<3).map { textKey("old \($0)", .userDefaults(suite: "old")) }
        let router = machine.launch()
        for key in legacy { try await router.set("value of \(key.name)", for: key) }
        let keys = legacy.map { AnyStorageKey.key(textKey("new \($0.name)", main).moved(from: $0)) }
        try await router.registerCatalog(TestCatalog(keys))
        _ = try await router.exists(textKey("another", main))
        let gate = FaultGate()
        try #require(machine.backends(of: main).last).inject(.hold(gate), of: .apply)
        async let report = router.sweep()
        await gate.untilArrivals()
        let late = textKey("late", .userDefaults(suite: "other")).moved(from: legacy[1])
        try await router.registerCatalog(TestCatalog([.key(late)], id: "Late"))
        gate.open()
        #expect(await report.moved.count == 3)
        #expect(try await router.get(late) == "value of old 1")
    }
}
