import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import MemoryBackend
import Testing

/// Samples of the product for tests. They are compiled, and not run: the package has no such fixtures.
@Suite(.disabled("samples of the documentation")) struct TestingSamples {
    @Suite(.isolatedStorage) struct CityTests {
        @Test func `a stored city is read`() async throws {
            try await StorageRouter.shared.set("Graz", for: .city)  // in memory, and only visible to this test case
            #expect(try await StorageRouter.shared.get(.city) == "Graz")
        }
    }

    @Suite(
        .isolatedStorage {
            var configuration = StorageConfiguration.inMemory()
            configuration.applicationVersion = "2.0"
            return configuration
        })
    struct VersionTests {}

    @Test func `stored data has the recorded shape`() throws {
        try requireSchemaUnchanged(AppKeys(), snapshot: "Fixtures/AppKeys.schema.json")
    }

    @Test func `a changed shape is reported property by property`() throws {
        do { try requireSchemaUnchanged(AppKeys(), snapshot: "Fixtures/AppKeys.schema.json") } catch let mismatch as FixtureMismatch {
            print(mismatch.summary)  // the problem and the remedy
            for difference in mismatch.differences { print(difference) }  // "notes.stars was integer and is string"
        }
    }

    @Test(.enabled(if: FixtureMismatch.isRecording)) func `version 1 is recorded`() async throws {
        try await GoldenStore.record("1.0", of: AppKeys(), in: "Fixtures/Releases") { storage in
            try await storage.set("abc", for: .apiToken)
        }
    }

    @Test func `data of earlier releases can be read`() async throws {
        try await GoldenStore.replay(AppKeys(), in: "Fixtures/Releases")  // throws FixtureMismatch if a value differs
    }

    static func snapshot() throws {
        let snapshot = CatalogSnapshot(AppKeys())
        print(String(decoding: try snapshot.json(), as: UTF8.self))  // "title" : "string", …
    }

    static func clock() async throws {
        let clock = TestClock()
        let storage = TestMachine { $0.use(clock) }.launch()
        try await storage.set("123456", for: .city, lifetime: .seconds(60))
        clock.advance(by: .seconds(61))
        #expect(try await storage.value(for: .city) == nil)
        await storage.sweep()  // finds the expired value
        clock.pass(.seconds(86_400))
        await storage.sweep()  // purges it
    }

    static func useClock(_ clock: TestClock) -> StorageRouter {
        var configuration = StorageConfiguration.inMemory()
        configuration.use(clock)
        let storage = StorageRouter(configuration: configuration)
        return storage
    }

    static func machine() async throws {
        let machine = TestMachine()
        machine.seedUserDefaults(["town": .string("Graz")], suite: "weather-1")  // data of an old version of the program
        let report = try await machine.launch().registerCatalog(AppKeys(), migrateImmediately: true)
        #expect(report.isComplete)
        machine.cut()  // the power fails
        #expect(try await machine.launch().get(.city) == "Graz")
    }

    static func launch(_ machine: TestMachine) async throws {
        let (release1, release2) = (machine.launch(version: "1.4"), machine.launch(version: "2.0"))
        try await release1.set("Oslo", for: .city)
        #expect(try await release2.get(.city) == "Oslo")
    }

    static func cut(_ machine: TestMachine) async throws {
        let storage = machine.launch()
        try await storage.set("Graz", for: .city)
        machine.cut()
        await #expect(throws: StorageError.self) { try await storage.get(.city) }  // the code is unavailable
    }

    static func lock(_ machine: TestMachine) async throws {
        machine.lock(.keychain)
        await #expect { try await machine.launch().get(.apiToken) } throws: { ($0 as? StorageError)?.code == .locked }
        machine.unlock(.keychain)
        _ = try await machine.launch().value(for: .apiToken)
    }

    static func unavailable(_ machine: TestMachine) async throws {
        machine.makeUnavailable(.keychain)
        let report = await machine.launch().sweep(AppKeys())
        #expect(report.blocked.contains { $0.key == "api-token" })
        machine.makeAvailable(.keychain)
        #expect(await machine.launch().sweep(AppKeys()).isComplete)
    }

    static func backends(_ machine: TestMachine) async throws {
        let storage = machine.launch()
        _ = try await storage.value(for: .city)  // a backend is created at the first use of its domain
        let full = BackendError(.noSpace, "The disk is full.")
        for backend in machine.backends(of: .userDefaults) { backend.inject(.fail(full), of: .apply) }
        await #expect { try await storage.set("Graz", for: .city) } throws: { ($0 as? StorageError)?.code == .noSpace }
    }

    static func foreign(_ machine: TestMachine) async throws {
        machine.seedUserDefaults(["city": .string("Graz"), "visits": .integer(3)])
        #expect(try await machine.launch().get(.city) == "Graz")
        machine.writeForeign(.string("Linz"), to: .userDefaults, name: "city")
        machine.corrupt(.userDefaults, name: "city", bytes: [0xFF])
        await #expect { try await machine.launch().get(.city) } throws: { ($0 as? StorageError)?.code == .corrupted }
    }

    static func faults() async throws {
        let faulty = FaultingBackend(InMemoryStore())
        faulty.inject(.loseAnswer, at: 2, of: .apply)  // the second change from now is applied, but its call throws
        _ = try await faulty.apply(.put(.bytes([1]), at: StorageAddress("a")))
        await #expect(throws: BackendError.self) { try await faulty.apply(.put(.bytes([2]), at: StorageAddress("b"))) }
        faulty.inject(.fail(BackendError(.noSpace, "The disk is full.")), of: .apply, repeats: true)
        faulty.inject(.delay(.seconds(1)), at: 3, of: .read)  // only the third read
        faulty.removeFaults()
        faulty.lock()
        #expect(try await faulty.read(StorageAddress("a")) == .locked)
        faulty.open()  // as if the user had unlocked the store in another program
        faulty.refuseUnlock(with: BackendError(.promptDismissed, "The user declined."))
        await #expect(throws: BackendError.self) { try await faulty.unlock() }
        for operation in faulty.log where !operation.faults.isEmpty { print(operation) }  // "2 apply put b (loseAnswer)"
    }

    static func gate(_ storage: StorageRouter, _ backend: FaultingBackend) async throws {
        let gate = FaultGate()
        backend.inject(.hold(gate), of: .apply)
        let work = Task { try await storage.set("Graz", for: .city) }
        await gate.untilArrivals(1)  // the change has reached the store, and waits there
        gate.open()
        try await work.value
    }

    static func fault(_ machine: TestMachine) async throws {
        let storage = machine.launch()
        _ = try await storage.value(for: .city)
        for backend in machine.backends(of: .userDefaults) { backend.inject(.stopAfterwards, of: .apply) }
        _ = try? await storage.set("Graz", for: .city)  // the process is killed just after the change
        #expect(try await machine.launch().get(.city) == "Graz")
    }
}
