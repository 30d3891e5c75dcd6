import BackendContract
import BackendRuntime
import Foundation
import LocalData
import LocalDataTesting
import MemoryBackend
import Synchronization
import TestSupport
import Testing

/// Calls that retry because another process changed the value between their read and their write. A slot is the
/// location of one value in a store.
struct AttemptsTests {
    private static let number = StorageKey<Int>(name: "number", domain: .userDefaults, owner: "Tests", description: "A number")
    private static let older = StorageKey<Int>(name: "older", domain: .userDefaults, owner: "Tests", description: "Its older place")

    private typealias Verb = (name: String, call: @Sendable (StorageRouter, StorageKey<Int>) async throws -> Void)

    private static let verbs: [Verb] = [
        ("update", { try await $0.update($1, default: 0) { $0 += 1 } }),
        ("set", { try await $0.set(1, for: $1.moved(from: older)) }),
        ("remove", { try await $0.remove($1.moved(from: older)) }),
        ("batch", { router, key in try await router.batch { $0.set(1, for: key.moved(from: older)) } }),
    ]

    @Test(arguments: verbs.indices)
    func `a call succeeds although another process writes after each immediate retry, because later retries wait`(
        _ index: Int
    ) async throws {
        let verb = Self.verbs[index]
        let clock = PassingClock()
        let store = InStepStore(clock) { waits, waited in waited == waits }
        try await verb.call(store.router(clock), Self.number)
        #expect(store.intrusions >= 2, "\(verb.name)")
        #expect(clock.waits >= 1, "\(verb.name)")
    }

    @Test(arguments: verbs.indices)
    func `a call throws conflict if another process writes the slot during every attempt`(_ index: Int) async throws {
        let verb = Self.verbs[index]
        let clock = PassingClock()
        let store = InStepStore(clock) { _, _ in true }
        let error = await #expect(throws: StorageError.self) { try await verb.call(store.router(clock), Self.number) }
        #expect(error?.code == StorageError.conflict, "\(verb.name)")
        // The first two attempts do not wait. Each later attempt waits for a random time of at most 64 ms.
        #expect(clock.waits >= 62, "\(verb.name)")
        #expect(clock.longest <= .milliseconds(64), "\(verb.name)")
    }
}

/// A clock that advances at once to the time that a task waits for.
private final class PassingClock: RuntimeClock {
    private let state = Mutex((now: MonotonicInstant(nanoseconds: 0), waits: 0, longest: Duration.zero))

    var now: MonotonicInstant { state.withLock(\.now) }
    var wallSeconds: Double { 1_800_000_000 }
    var sinceBoot: Duration { .seconds(1) }
    /// The number of waits.
    var waits: Int { state.withLock(\.waits) }
    /// The longest wait.
    var longest: Duration { state.withLock(\.longest) }

    func schedule(at instant: MonotonicInstant, _ action: @escaping @Sendable () -> Void) -> ScheduledAction {
        state.withLock { state in
            state.longest = max(state.longest, state.now.duration(to: instant))
            state.now = max(state.now, instant)
            state.waits += 1
        }
        action()
        return ScheduledAction {}
    }

    func pause(_ duration: Duration) {}
}

/// A store in memory in which another process can write a slot right after a read of it.
private final class InStepStore: WrappingBackend {
    let base: any StorageBackend = InMemoryStore(medium: MemoryMedium())
    private let clock: PassingClock
    private let intrudes: @Sendable (_ waits: Int, _ waited: Int) -> Bool
    private let state = Mutex((waited: 0, intrusions: 0))

    /// Creates an empty store.
    /// - Parameter intrudes: Returns whether the other process writes after a read.
    ///   The closure gets the number of waits until this read, and the number of waits until the previous read.
    init(_ clock: PassingClock, intrudes: @escaping @Sendable (_ waits: Int, _ waited: Int) -> Bool) {
        self.clock = clock
        self.intrudes = intrudes
    }

    /// The number of writes by the other process.
    var intrusions: Int { state.withLock(\.intrusions) }

    func router(_ clock: PassingClock) -> StorageRouter {
        var configuration = StorageConfiguration.inMemory()
        configuration.runtime.clock = clock
        configuration.useBackend(for: .userDefaults) { [self] _ in self }
        return StorageRouter(configuration: configuration)
    }

    func read(_ addresses: [StorageAddress], _ freshness: ReadFreshness) async throws(BackendError) -> [StorageProbe] {
        let probes = try await base.read(addresses, freshness)
        let writes = state.withLock { state in
            let waits = clock.waits
            defer { state.waited = waits }
            guard addresses.contains(StorageAddress("number")), intrudes(waits, state.waited) else { return false }
            state.intrusions += 1
            return true
        }
        if writes { _ = try await base.apply([.put(.native(.integer(7)), at: StorageAddress("number"))]) }
        return probes
    }
}
