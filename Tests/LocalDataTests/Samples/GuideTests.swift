// snippet.hide
import LocalData
// snippet.show
import LocalDataTesting
// snippet.hide
import TestSupport
// snippet.show
import Testing

// snippet.hide

extension StorageKey where Value == String {
    fileprivate static let apiToken = StorageKey(
        name: "api-token", domain: .keychain, owner: "Network", description: "The token for the service"
    ).moved(
        from: StorageKey(name: "apiToken", domain: .userDefaults, owner: "Network", description: "The token in version 1"))
}

private struct AppKeys: StorageKeyCatalog {
    var allKeys: [AnyStorageKey] { [.key(.apiToken)] }
}

// snippet.show

@Suite(.isolatedStorage) struct TokenTests {
    @Test func `a token is kept`() async throws {
        try await StorageRouter.shared.set("abc", for: .apiToken)
        #expect(try await StorageRouter.shared.get(.apiToken) == "abc")
    }
}

@Test func `the token of the old program waits for the keyring and is then moved once`() async throws {
    let machine = TestMachine()
    machine.seedUserDefaults(["apiToken": .string("abc")])  // as version 1 stored it
    machine.lock(.keychain)
    let report = try await machine.launch().registerCatalog(AppKeys(), migrateImmediately: true)
    #expect(report.blocked.map(\.key) == ["api-token"])

    machine.unlock(.keychain)
    try await machine.launch().registerCatalog(AppKeys(), migrateImmediately: true).requireComplete()
    machine.cut()  // pending operations fail
    #expect(try await machine.launch().get(.apiToken) == "abc")
}
// snippet.hide

/// A sample of the guide on testing, and a law.
@Suite struct FaultSamples {
    // snippet.show
    @Test func `a lost answer after the write loses no value`() async throws {
        let machine = TestMachine()
        machine.seedUserDefaults(["apiToken": .string("abc")])
        let storage = machine.launch()
        #expect(try await !storage.exists(.apiToken))  // opens the store, so that a fault can be injected
        for keyring in machine.backends(of: .keychain) { keyring.inject(.loseAnswer, of: .apply) }
        await #expect(throws: StorageError.self) { try await storage.get(.apiToken) }
        #expect(try await machine.launch().get(.apiToken) == "abc")
    }
    // snippet.hide
    // snippet.show
    @Test func `a list is the same when it is reversed twice`() async {
        await forAll(Arbitrary<Int>.number.list(), count: 200) { list in
            try same(list.reversed().reversed(), list, "reversed twice")
        }
    }
    // snippet.hide
}
