import BackendConformance
import BackendContract
import BackendRuntime
import LocalDataTesting
import MemoryBackend
import Synchronization
import TestSupport
import Testing

/// Tests of a backend that passes every operation on to an inner backend, the store, and adds faults.
/// An operation can fail, wait at a gate, or lose its answer. A stop simulates the end of the process.
/// A law is a rule that every backend must keep.
@Suite(.inTurn) struct FaultingBackendTests {
    private let clock = ManualClock()
    private let medium: MemoryMedium
    private let inner: InMemoryStore
    private let faulty: FaultingBackend
    private let first = StorageAddress("first")
    private let second = StorageAddress("second")

    init() {
        medium = MemoryMedium()
        inner = InMemoryStore(medium: medium)
        faulty = FaultingBackend(inner, clock: clock)
    }

    private func put(_ text: String, at address: StorageAddress) -> StorageMutation { .put(.bytes(Array(text.utf8)), at: address) }

    /// The addresses that have a value, read from the inner backend without the faults.
    private var present: Set<StorageAddress> {
        get async throws { Set(try await inner.addresses(in: .values)) }
    }

    @Test(arguments: BackendLaw.all.filter { $0.applies(to: bench) })
    func `without faults the backend keeps every law of its inner backend`(_ law: BackendLaw) async throws {
        try await law.verify(on: Self.bench)
    }

    private static let bench: LawBench = {
        let claims = BackendCapabilities(
            durability: .durable, atomicBatch: true, crossProcess: true, storesNativeValues: true, sharedWithOthers: true)
        // The medium (the content) of each store that the laws make, by the identity of the store.
        // The faulty backend forwards the identity of its inner store.
        let media = Shared<[BackendIdentity: MemoryMedium]>([:])
        @Sendable func medium(_ store: any StorageBackend) throws -> MemoryMedium {
            let found = media.value.withLock { $0[store.identity] }
            guard let found else { throw BackendError(.failed, "The laws made no such store.") }
            return found
        }
        return LawBench(
            name: "faulty memory", capabilities: claims,
            makeStore: {
                let store = InMemoryStore(capabilities: claims)
                media.value.withLock { $0[store.identity] = store.medium }
                return FaultingBackend(store)
            },
            reopen: { FaultingBackend(InMemoryStore(medium: try medium($0), capabilities: claims)) },
            writeForeign: { try medium($0).writeForeign(.native(.string($2)), at: $1) },
            changeBehindMetadata: { try medium($0).writeForeign(.native(.string($2)), at: $1) },
            corrupt: { try medium($0).corrupt($1, bytes: [1]) })
    }()

    @Test(arguments: 1...4)
    func `a fault for a numbered operation makes it fail before it reaches the store`(_ number: Int) async throws {
        let full = BackendError(.noSpace, "Full.")
        faulty.inject(.fail(full), at: number)
        for current in 1...4 {
            let address = StorageAddress("\(current)")
            if current == number {
                await #expect(throws: full) { try await faulty.apply(put("x", at: address)) }
            } else {
                #expect(try await faulty.apply(put("x", at: address)).isApplied)
            }
            #expect(try await present.contains(address) == (current != number))
        }
    }

    @Test func `a fault for one kind of operation counts only operations of this kind`() async throws {
        let error = BackendError(.failed, "Broken.")
        faulty.inject(.fail(error), at: 2, of: .read)
        _ = try await faulty.apply(put("x", at: first))
        _ = try await faulty.read(first)
        _ = try await faulty.apply(put("x", at: first))
        await #expect(throws: error) { try await faulty.read(first) }
        _ = try await faulty.read(first)
        faulty.inject(.fail(error), of: .addresses)
        faulty.inject(.fail(error), of: .synchronize)
        await #expect(throws: error) { try await faulty.addresses(in: .values) }
        await #expect(throws: error) { try await faulty.synchronize() }
        #expect(try await faulty.addresses(in: .values) == [first])
    }

    @Test func `a repeated fault happens until it is removed`() async throws {
        faulty.inject(.unavailable, at: 2, of: .read, repeats: true)
        #expect(try await faulty.read(first) == .absent)
        for _ in 0..<3 {
            let error = try await #require(faulty.read(first).error, "not unavailable")
            #expect(error.code == .unavailable)
        }
        faulty.removeFaults()
        #expect(try await faulty.read(first) == .absent)
    }

    @Test func `a locked store reports every slot as locked, changes nothing, and opens only by unlock`() async throws {
        _ = try await faulty.apply(put("x", at: first))
        faulty.lock()
        #expect(try await faulty.read([first, second], .fresh) == [.locked, .locked])
        #expect(try await faulty.apply([put("y", at: first), .delete(second)]) == [.locked, .locked])
        #expect(await faulty.status() == .locked)
        #expect(try await #require(throws: BackendError.self) { try await faulty.addresses(in: .values) }.code == .locked)
        #expect(try await #require(throws: BackendError.self) { try await faulty.synchronize() }.code == .locked)
        let declined = BackendError(.promptDismissed, "No.")
        faulty.refuseUnlock(with: declined)
        await #expect(throws: declined) { try await faulty.unlock() }
        #expect(await faulty.status() == .locked)
        faulty.refuseUnlock(with: nil)
        try await faulty.unlock()
        #expect(faulty.unlockCount == 2)
        #expect(await faulty.status() == .ready)
        #expect(try await faulty.read(first).record?.payload == .bytes(Array("x".utf8)))
    }

    @Test func `a fault can make the store locked or unavailable for a single operation`() async throws {
        faulty.inject(.locked)
        #expect(try await faulty.apply(put("x", at: first)) == .locked)
        faulty.inject(.unavailable)
        let error = try await #require(faulty.apply(put("x", at: first)).error, "not failed")
        #expect(error.code == .unavailable && error.outcome == .notApplied)
        #expect(try await present.isEmpty)
    }

    @Test func `an operation at a closed gate waits until the gate opens, and other operations continue`() async throws {
        let gate = FaultGate()
        faulty.inject(.hold(gate), of: .apply)
        let (faulty, mutation) = (faulty, put("x", at: first))
        let held = Task { @concurrent in try await faulty.apply(mutation) }
        await gate.untilArrivals()
        #expect(try await present.isEmpty)
        #expect(try await faulty.apply(put("y", at: second)).isApplied)
        #expect(try await present == [second])
        gate.open()
        #expect(try await held.value.isApplied)
        #expect(try await present == [first, second])
    }

    @Test func `a caller that is cancelled while its operation waits at a gate returns at once, and nothing is changed`() async throws {
        let gate = FaultGate()
        faulty.inject(.hold(gate), repeats: true)
        let (faulty, mutation) = (faulty, put("x", at: first))
        let held = Task { @concurrent in try await faulty.apply(mutation) }
        await gate.untilArrivals()
        held.cancel()
        let error = try await #require(throws: BackendError.self) { try await held.value }
        #expect(error.code == .cancelled && error.outcome == .notApplied)
        let early = Task { @concurrent in
            withUnsafeCurrentTask { $0?.cancel() }
            return try await faulty.apply(mutation)
        }
        #expect(try await #require(throws: BackendError.self) { try await early.value }.code == .cancelled)
        gate.open()
        #expect(try await present.isEmpty)
    }

    @Test func `a delayed operation is performed at its time`() async throws {
        faulty.inject(.delay(.seconds(5)))
        let (faulty, mutation) = (faulty, put("x", at: first))
        let delayed = Task { @concurrent in try await faulty.apply(mutation) }
        await clock.untilScheduled(1)
        clock.advance(to: .seconds(4))
        #expect(try await present.isEmpty)
        clock.advance(to: .seconds(5))
        #expect(try await delayed.value.isApplied)
        #expect(try await present == [first])
        #expect(clock.pending == 0)
    }

    @Test func `a lost answer leaves the change applied and its outcome unknown`() async throws {
        faulty.inject(.loseAnswer)
        let error = try await #require(throws: BackendError.self) { try await faulty.apply([put("x", at: first), put("x", at: second)]) }
        #expect(error.outcome == .unknown)
        #expect(try await present == [first, second])
    }

    @Test(arguments: 0...2)
    func `a torn batch is applied in part, and its outcome is unknown`(_ count: Int) async throws {
        faulty.inject(.tear(after: count), of: .apply)
        let error = try await #require(throws: BackendError.self) { try await faulty.apply([put("x", at: first), put("x", at: second)]) }
        #expect(error.outcome == .unknown)
        #expect(try await present == Set([first, second].prefix(count)))
    }

    @Test func `after a stop no operation reaches the store, and another backend can use the store`() async throws {
        _ = try await faulty.apply(put("x", at: first))
        faulty.inject(.stop, of: .apply)
        for mutation in [put("x", at: second), .delete(first)] {
            let error = try await #require(throws: BackendError.self) { try await faulty.apply(mutation) }
            #expect(error.code == .unavailable && error.outcome == .unknown)
        }
        await #expect(throws: BackendError.self) { try await faulty.read(first) }
        await #expect(throws: BackendError.self) { try await faulty.addresses(in: .values) }
        await #expect(throws: BackendError.self) { try await faulty.synchronize() }
        await #expect(throws: BackendError.self) { try await faulty.unlock() }
        if case .unavailable = await faulty.status() {} else { Issue.record("a stopped backend is not ready") }
        #expect(faulty.isStopped)
        #expect(try await FaultingBackend(inner).read(first).record != nil)
        #expect(try await present == [first])
    }

    @Test func `a backend can stop right after it has applied an operation, whose outcome is then unknown to the caller`() async throws {
        faulty.inject(.stopAfterwards)
        let error = try await #require(throws: BackendError.self) { try await faulty.apply(put("x", at: first)) }
        #expect(error.outcome == .unknown)
        await #expect(throws: BackendError.self) { try await faulty.apply(.delete(first)) }
        #expect(try await present == [first])
    }

    @Test func `an operation that waits at a gate fails at once if the backend stops, and never reaches the store`() async throws {
        let gate = FaultGate()
        faulty.inject(.hold(gate))
        faulty.inject(.stop, at: 2)
        let (faulty, mutation) = (faulty, put("x", at: first))
        let held = Task { @concurrent in try await faulty.apply(mutation) }
        await gate.untilArrivals()
        await #expect(throws: BackendError.self) { try await faulty.read(second) }
        // The gate stays closed, so only the stop can end the held operation.
        let error = await #expect(throws: BackendError.self) { try await held.value }
        #expect(error?.code == .unavailable && error?.outcome == .unknown)
        #expect(try await present.isEmpty)
    }

    @Test func `the log has operations, slots and faults, but no values`() async throws {
        faulty.inject(.loseAnswer, at: 2)
        _ = try await faulty.apply([
            put("secret", at: first), .delete(second), .tombstone(at: StorageAddress("third", in: StorageNamespace("other"))),
        ])
        _ = try? await faulty.read([first, second], .fresh)
        _ = try await faulty.addresses(in: .values)
        _ = try await faulty.synchronize()
        #expect(
            faulty.log.map(\.description) == [
                "1 apply put first, delete second, tombstone other/third", "2 read first, second (loseAnswer)", "3 addresses values",
                "4 synchronize",
            ])
        #expect(!"\(faulty.log)".contains("secret"))
    }

    @Test func `changes by other programs are forwarded, and the sequence of changes is empty if the inner backend cannot report them`()
        async
    {
        var changes = faulty.foreignChanges().makeAsyncIterator()
        medium.writeForeign(.bytes([1]), at: first)
        #expect(await changes.next() == [first])
        let blind = FaultingBackend(FaultingBackend(BlindStore()))
        for await _ in blind.foreignChanges() { Issue.record("a change that nobody noticed") }
        let error = await #expect(throws: BackendError.self) { try await faulty.setAsideDamagedStore() }
        #expect(error?.code == .unsupported)
    }
}

/// A store that cannot report changes by other programs.
private struct BlindStore: StorageBackend {
    let identity = BackendIdentity(kind: "blind", store: "test")
    let capabilities = BackendCapabilities()
    func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        addresses.map { _ in .absent }
    }
    func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] { mutations.map { _ in .notAttempted } }
    func addresses(in namespace: StorageNamespace) async throws(BackendError) -> [StorageAddress] { [] }
    func synchronize() async throws(BackendError) -> StorageDurability { .process }
}
