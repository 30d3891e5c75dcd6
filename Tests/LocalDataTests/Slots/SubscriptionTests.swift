import BackendContract
import Synchronization
import TestSupport
import Testing

@testable import LocalData

/// The queue of the events of one value.
@Suite struct SubscriptionTests {
    private let subscription = ChangeHub.Subscription(
        slot: PhysicalSlot(store: BackendIdentity(kind: "memory", store: "store"), address: StorageAddress("a")))

    private func push(_ number: Int) {
        subscription.push(
            .changed(
                StorageRecord(
                    payload: .bytes([UInt8(number)]), metadata: StorageMetadata(), revision: StorageRevision([UInt8(number)]))))
    }

    /// Pushes a signal, and returns the task that waits for its release.
    private func pushSignal() async -> Task<Void, Never> {
        let isPushed = Shared(false)
        let caller = Task { [subscription] in
            await withCheckedContinuation { continuation in
                subscription.push(.passed(ReleaseSignal(continuation)))
                isPushed.value.withLock { $0 = true }
            }
        }
        while !isPushed.value.withLock(\.self) { await Task.yield() }
        return caller
    }

    /// The numbers of the changes up to the next signal.
    private func numbersBeforeSignal() async -> [UInt8] {
        var numbers: [UInt8] = []
        while let event = await subscription.next() {
            switch event {
            case .changed(let record): if case .bytes(let bytes)? = record?.payload { numbers += bytes }
            case .look: continue
            case .passed: return numbers
            }
        }
        return numbers
    }

    @Test(.timeLimit(.minutes(10))) func `a full queue keeps the last change if a caller begins to wait for it`() async {
        for number in 0..<ChangeHub.Subscription.bound { push(number) }
        let caller = await pushSignal()
        #expect(await numbersBeforeSignal().last == UInt8(ChangeHub.Subscription.bound - 1))
        await caller.value
    }

    @Test(.timeLimit(.minutes(10))) func `a caller waits for its change or a later one, also if the queue becomes full`() async {
        for number in 1..<ChangeHub.Subscription.bound { push(number) }
        let caller = await pushSignal()
        push(ChangeHub.Subscription.bound)
        #expect(await numbersBeforeSignal().last ?? 0 >= UInt8(ChangeHub.Subscription.bound - 1))
        await caller.value
    }
}
