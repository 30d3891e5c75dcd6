import BackendContract
import BackendRuntime
import LocalDataTesting
import MemoryBackend
import Sealing
import Synchronization
import TestSupport
import Testing

/// What a power cut leaves of a first key, and what others may do with it before it is certain to last.
@Suite(.inTurn) struct FirstKeyTests {
    private let medium = MemoryMedium()
    private let address = StorageAddress("key")

    private func source() -> (BackendKeySource, FaultingBackend) {
        var capabilities = InMemoryStore.ownCapabilities
        capabilities.durability = .durable
        let store = FaultingBackend(InMemoryStore(medium: medium, capabilities: capabilities))
        return (BackendKeySource(store, address: address), store)
    }

    @Test func `a key that somebody else has just made is flushed before it is recorded and used`() async throws {
        let made = try await source().0.create(SourceKeys(only: .random(Runtime.live.randomBytes))).current
        let (source, store) = source()
        let recorded = Mutex<[KeyIdentity]>([])
        let pins = SealingKeys.Pins(
            recorded: { (_) throws(BackendError) in nil },
            record: { (key, _) throws(BackendError) in recorded.withLock { $0.append(key) } },
            all: { () throws(BackendError) in [] })
        let keys = SealingKeys(pins: pins, randomBytes: Runtime.live.randomBytes)
        store.inject(.unavailable, of: .synchronize)
        await #expect(throws: BackendError.self) { _ = try await keys.forSealing(from: source) { () throws(BackendError) in [] } }
        #expect(recorded.withLock(\.self).isEmpty)
        let key = try await keys.forSealing(from: source) { () throws(BackendError) in [] }
        #expect(key.id == made.id)
        #expect(recorded.withLock(\.self) == [made.identity])
        #expect(store.log.filter { $0.kind == .synchronize }.count == 2)
    }

    @Test func `an item that never got its content is no key, and takes one`() async throws {
        medium.corrupt(address, bytes: [])
        let (one, other) = (source().0, source().0)
        #expect(try await one.load() == nil)
        let made = try await one.create(SourceKeys(only: .random(Runtime.live.randomBytes))).current
        #expect(try await other.load()?.current.id == made.id)
        #expect(try await other.create(SourceKeys(only: .random(Runtime.live.randomBytes))).current.id == made.id)
    }

    @Test func `an item that holds something else is left as it is`() async throws {
        medium.corrupt(address, bytes: [1])
        let source = source().0
        await #expect(throws: BackendError.self) { _ = try await source.load() }
        await #expect(throws: BackendError.self) { _ = try await source.create(SourceKeys(only: .random(Runtime.live.randomBytes))) }
        let corruption = try await #require(InMemoryStore(medium: medium).read(address, .validated).corruption, "it was replaced")
        #expect(corruption.bytes == [1])
    }
}
