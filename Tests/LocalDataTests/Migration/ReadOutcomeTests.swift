import BackendContract
import BackendRuntime
import LocalData
import LocalDataTesting
import MemoryBackend
import TestSupport
import Testing

/// The outcome in the error of a failed read: it states whether a migration that the read ran was applied.
@Suite struct ReadOutcomeTests {
    private static let (place, older) = (StorageDomain.keychain(service: "place"), StorageDomain.userDefaults(suite: "older"))
    private let media = [place: MemoryMedium(), older: MemoryMedium()]
    private let old = textKey("old", older)
    private let key = textKey("new", place).moved(from: textKey("old", older))

    private func launch() throws -> (router: StorageRouter, place: FaultingBackend) {
        let stores = media.mapValues { FaultingBackend(InMemoryStore(medium: $0, runtime: .live)) }
        var configuration = StorageConfiguration.inMemory()
        for (domain, store) in stores { configuration.useBackend(for: domain.kind) { _ in store } }
        return (StorageRouter(configuration: configuration), try #require(stores[Self.place]))
    }

    @Test func `a read that moves the value and then fails throws an error with the outcome applied`() async throws {
        let (first, store) = try launch()
        try await first.set("kept", for: old)
        #expect(try await first.get(key) == "kept")
        let reads = store.log.count { $0.kind == .read }
        try await first.remove(key)
        media[Self.place]?.removeForeign(StorageAddress("new"))
        try await first.set("kept", for: old)

        let (second, faulty) = try launch()
        faulty.inject(.unavailable, at: reads, of: .read)
        let error = await #expect(throws: StorageError.self) { try await second.get(key) }
        #expect(error?.code == .unavailable && error?.outcome == .applied)
        #expect(error?.message.contains("was brought to") == true && error?.message.contains("nothing was changed") == false)
        #expect(try await second.value(for: old) == nil)
        #expect(try await second.get(key) == "kept")
    }

    @Test func `a read that fails without moving a value throws an error with the outcome notApplied`() async throws {
        let (router, faulty) = try launch()
        faulty.inject(.unavailable, of: .read, repeats: true)
        let error = await #expect(throws: StorageError.self) { try await router.get(key) }
        #expect(error?.code == .unavailable && error?.outcome == .notApplied)
    }
}
