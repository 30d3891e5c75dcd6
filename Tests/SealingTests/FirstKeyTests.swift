import BackendContract
import BackendRuntime
import LocalDataTesting
import MemoryBackend
import Sealing
import Synchronization
import TestSupport
import Testing

/// Tests of a first key that a power failure may have left incomplete, and of its use before it is durable.
/// A source keeps its key as an item of a store. Before the first use of a key, it is recorded:
/// its id is noted outside of the source.
@Suite(.inTurn) struct FirstKeyTests {
    private let medium = MemoryMedium()
    private let address = StorageAddress("key")

    /// The key that is recorded.
    private let recorded = Recorded()

    private final class Recorded: Sendable {
        private let key = Mutex<KeyIdentity?>(nil)
        var identity: KeyIdentity? { key.withLock(\.self) }
        var pins: SealingKeys.Pins {
            SealingKeys.Pins(
                recorded: { [self] (_) throws(BackendError) in identity },
                record: { [self] (new, _) throws(BackendError) in key.withLock { $0 = new } }, all: { () throws(BackendError) in [] })
        }
    }

    private func source() -> (BackendKeySource, FaultingBackend) {
        var capabilities = InMemoryStore.ownCapabilities
        capabilities.durability = .durable
        let store = FaultingBackend(InMemoryStore(medium: medium, capabilities: capabilities))
        return (BackendKeySource(store, address: address), store)
    }

    @Test func `a key that another process has just created is flushed before it is recorded and used`() async throws {
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

    @Test func `the key of an interrupted rotation is flushed before it is recorded and used`() async throws {
        let first = try await source().0.create(SourceKeys(only: .random(Runtime.live.randomBytes)))
        let rotated = try first.adding(.random(Runtime.live.randomBytes))
        try await source().0.replace(first, with: rotated)
        let (source, store) = source()
        let recorded = Mutex(first.current.identity)
        let pins = SealingKeys.Pins(
            recorded: { (_) throws(BackendError) in recorded.withLock(\.self) },
            record: { (key, _) throws(BackendError) in recorded.withLock { $0 = key } },
            all: { () throws(BackendError) in [recorded.withLock(\.self)] })
        let keys = SealingKeys(pins: pins, randomBytes: Runtime.live.randomBytes)
        store.inject(.unavailable, of: .synchronize)
        await #expect(throws: BackendError.self) { _ = try await keys.forSealing(from: source) { () throws(BackendError) in [] } }
        #expect(recorded.withLock(\.self) == first.current.identity)
        let key = try await keys.forSealing(from: source) { () throws(BackendError) in [] }
        #expect(key.id == rotated.current.id)
        #expect(recorded.withLock(\.self) == rotated.current.identity)
    }

    @Test func `an empty item at the place of a key counts as no key, and creating a key fills the item`() async throws {
        medium.corrupt(address, bytes: [])
        let (one, other) = (source().0, source().0)
        #expect(try await one.load() == nil)
        let made = try await one.create(SourceKeys(only: .random(Runtime.live.randomBytes))).current
        #expect(try await other.load()?.current.id == made.id)
        #expect(try await other.create(SourceKeys(only: .random(Runtime.live.randomBytes))).current.id == made.id)
    }

    @Test func `an item with content other than a key is an error and is left unchanged`() async throws {
        medium.corrupt(address, bytes: [1])
        let source = source().0
        await #expect(throws: BackendError.self) { _ = try await source.load() }
        await #expect(throws: BackendError.self) { _ = try await source.create(SourceKeys(only: .random(Runtime.live.randomBytes))) }
        let corruption = try await #require(InMemoryStore(medium: medium).read(address, .validated).corruption, "it was replaced")
        #expect(corruption.bytes == [1])
    }

    @Test func `a key in use is read again at most once a second, or once a minute after a failed read, and seals nothing once it is lost`()
        async throws
    {
        let (source, store) = source()
        let clock = ManualClock()
        let keys = SealingKeys(pins: recorded.pins, clock: clock, randomBytes: Runtime.live.randomBytes)
        func seal() async throws(BackendError) -> [UInt8] {
            try await keys.forSealing(from: source) { () throws(BackendError) in [] }.id
        }
        /// Advances the clock, and returns how often the next call reads the key from its source.
        func asked(after time: Duration) async throws -> Int {
            clock.advance(by: time)
            let before = store.log.count { $0.kind == .read }
            #expect(try await seal() == first)
            return store.log.count { $0.kind == .read } - before
        }
        let first = try await seal()
        #expect(try await asked(after: .milliseconds(900)) == 0)
        #expect(try await asked(after: .milliseconds(200)) == 1)
        store.inject(.unavailable, of: .read)
        #expect(try await asked(after: .seconds(2)) == 1)
        #expect(try await asked(after: .seconds(50)) == 0)
        #expect(try await asked(after: .seconds(11)) == 1)

        #expect(try await InMemoryStore(medium: medium).apply(.delete(address)).isApplied)
        #expect(try await asked(after: .milliseconds(500)) == 0)
        clock.advance(by: .seconds(1))
        let error = await #expect(throws: BackendError.self) { _ = try await seal() }
        #expect(error?.code == .encryptionKeyMissing)
        // A value that the lost key sealed can still be opened.
        #expect(try await keys.existing(from: source).current.id == first)
    }

    @Test func `a key in use whose item has other content by now seals nothing`() async throws {
        let (source, _) = source()
        let clock = ManualClock()
        let keys = SealingKeys(pins: recorded.pins, clock: clock, randomBytes: Runtime.live.randomBytes)
        _ = try await keys.forSealing(from: source) { () throws(BackendError) in [] }
        medium.corrupt(address, bytes: [1])
        clock.advance(by: .seconds(2))
        let error = await #expect(throws: BackendError.self) {
            _ = try await keys.forSealing(from: source) { () throws(BackendError) in [] }
        }
        #expect(error?.code == .encryptionKeyMissing)
    }

    @Test func `a rotated key is flushed before it is recorded, and the removal of older keys is flushed`() async throws {
        let (source, store) = source()
        let keys = SealingKeys(pins: recorded.pins, randomBytes: Runtime.live.randomBytes)
        let first = try await keys.forSealing(from: source) { () throws(BackendError) in [] }
        store.inject(.unavailable, of: .synchronize)
        await #expect(throws: BackendError.self) { _ = try await keys.rotate(source) }
        #expect(recorded.identity == first.identity)
        let rotated = try await keys.rotate(source)
        #expect(recorded.identity == rotated.current.identity)
        store.inject(.unavailable, of: .synchronize)
        await #expect(throws: BackendError.self) { try await keys.deleteOthers(rotated, of: source) }
    }

    @Test func `a source that holds another key than the recorded one is read three times`() async throws {
        _ = try await source().0.create(SourceKeys(only: .random(Runtime.live.randomBytes)))
        let (source, store) = source()
        let other = SealingKey.random(Runtime.live.randomBytes).identity
        let pins = SealingKeys.Pins(
            recorded: { (_) throws(BackendError) in other }, record: { (_, _) throws(BackendError) in },
            all: { () throws(BackendError) in [other] })
        let keys = SealingKeys(pins: pins, randomBytes: Runtime.live.randomBytes)
        let error = await #expect(throws: BackendError.self) {
            _ = try await keys.forSealing(from: source) { () throws(BackendError) in [] }
        }
        #expect(error?.code == .encryptionKeyMismatch)
        #expect(store.log.count { $0.kind == .read } == 3)
    }
}
