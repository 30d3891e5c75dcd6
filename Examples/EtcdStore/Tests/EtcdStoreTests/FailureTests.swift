import BackendContract
import Foundation
import Synchronization
import Testing

@testable import EtcdStore

extension EtcdTests {
    @Suite struct FailureTests {
        @Test func `without a majority calls are unavailable, and no acknowledged change is lost`() async throws {
            let servers = try await EtcdServers.started()
            let store = EtcdStore(servers.cluster(), context: "kept")
            let addresses = (0..<5).map { StorageAddress("kept \($0)") }
            let results = try await store.apply(addresses.map { .put(text($0.name), at: $0) })
            #expect(results.allSatisfy { $0.isApplied })
            let before = try await store.read(addresses, .fresh)
            await servers.kill(1)
            await servers.kill(2)

            let hurried = EtcdStore(servers.cluster(deadline: .seconds(3)), context: "kept")
            let doubtful = StorageAddress("doubtful")
            async let read = hurried.read(addresses[0], .fresh)
            async let write = hurried.apply(.put(text("new"), at: doubtful, if: .absent))
            async let status = hurried.status()
            await #expect(throws: BackendError.self) { _ = try await hurried.addresses(in: .values) }
            await #expect(throws: BackendError.self) { _ = try await hurried.synchronize() }
            guard case .unavailable(let unread) = try await read else { throw TestFailure("A read succeeded without a majority.") }
            #expect(unread.code == .unavailable)
            guard case .failed(let unwritten) = try await write else { throw TestFailure("A change succeeded without a majority.") }
            #expect(unwritten.code == .unavailable)
            #expect(await status != .ready)

            try await servers.start(1)
            try await servers.start(2)
            let after = try await store.read(addresses, .fresh)
            #expect(after == before)
            let settled = try await store.read(doubtful, .fresh)
            #expect(settled == .absent || unwritten.outcome == .unknown && settled.record?.payload == text("new"))
        }

        @Test func `calls to members that do not answer time out, and a change that was sent is unknown`() async throws {
            let servers = try await EtcdServers.started()
            let store = EtcdStore(servers.cluster(deadline: .seconds(5)), context: "stopped")
            let address = StorageAddress("x")
            let revision = try await applied(store.apply(.put(text("x"), at: address, if: .absent)))
            servers.stop()
            let change = await #expect(throws: BackendError.self) {
                _ = try await store.apply(.put(text("y"), at: address, if: .revision(revision)))
            }
            #expect(change?.code == .timedOut)
            #expect(change?.outcome == .unknown)
            let read = await #expect(throws: BackendError.self) { _ = try await store.read(address, .fresh) }
            #expect(read?.code == .timedOut)
        }

        @Test func `each acknowledged change is made once, while one member after the other is killed`() async throws {
            let servers = try await EtcdServers.started()
            let address = StorageAddress("count")
            let (acknowledged, note) = AsyncStream.makeStream(of: Void.self)
            let isOver = Flag()
            let total = try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        // The stream ends with the first writer, so that the test does not wait for a writer that has failed.
                        defer { note.finish() }
                        let store = EtcdStore(servers.cluster(), context: "count")
                        var count = 0
                        while !isOver.isRaised {
                            guard try await increment(address, in: store) else { continue }
                            count += 1
                            note.yield()
                        }
                        return count
                    }
                }
                var progress = acknowledged.makeAsyncIterator()
                for index in servers.members.indices {
                    for _ in 0..<20 { _ = await progress.next() }
                    await servers.kill(index)
                    for _ in 0..<20 { _ = await progress.next() }
                    try await servers.start(index)
                    try await servers.awaitMajority(through: index)
                }
                isOver.raise()
                return try await group.reduce(0, +)
            }
            let last = try await EtcdStore(servers.cluster(), context: "count").read(address, .fresh)
            #expect(last.record?.payload == text("\(total)"))
            #expect(total >= 120)
        }

        @Test(arguments: [[Loss.answer], [.answer, .answer], [.request], [.request, .answer], [.request, .request, .answer]])
        func `a change whose answer is lost is made once, and reported as applied`(losses: [Loss]) async throws {
            let connection = LossyConnection(losses)
            let cluster = try await EtcdServers.whole.value.cluster(interceptors: [connection])
            let store = EtcdStore(cluster, context: UUID().uuidString)
            let address = StorageAddress("once")
            let result = try await store.apply(.put(text("first"), at: address, if: .absent))
            #expect(connection.isSpent)
            let record = try #require(try await store.read(address, .fresh).record)
            #expect(result == .applied(record.revision, .durable))
            #expect(record.payload == text("first"))
        }

        @Test func `a conflict whose answer is lost is a conflict`() async throws {
            let servers = try await EtcdServers.whole.value
            let context = UUID().uuidString
            let address = StorageAddress("taken")
            let other = EtcdStore(servers.cluster(), context: context)
            let theirs = try await other.apply(.put(text("theirs"), at: address))
            #expect(theirs.isApplied)
            let connection = LossyConnection([.answer])
            let store = EtcdStore(servers.cluster(interceptors: [connection]), context: context)
            let result = try await store.apply(.put(text("ours"), at: address, if: .absent))
            #expect(connection.isSpent)
            let probe = try await other.read(address, .fresh)
            #expect(result == .conflict(probe))
        }

        @Test(arguments: [Loss.answer, .request])
        func `a change that cannot be settled before the deadline is reported as unknown`(loss: Loss) async throws {
            let servers = try await EtcdServers.whole.value
            let context = UUID().uuidString
            let connection = LossyConnection([loss], thenAll: .request)
            let store = EtcdStore(servers.cluster(deadline: .seconds(5), interceptors: [connection]), context: context)
            let address = StorageAddress("doubtful")
            let result = try await store.apply(.put(text("new"), at: address, if: .absent))
            guard case .failed(let error) = result else { throw TestFailure("The change is \(result)") }
            #expect(error.code == .unavailable)
            #expect(error.outcome == .unknown)
            let probe = try await EtcdStore(servers.cluster(), context: context).read(address, .fresh)
            #expect(probe.record?.payload == (loss == .answer ? text("new") : nil))
        }

        @Test func `a transaction whose lease has ended cannot be settled, and is unknown`() async throws {
            let cluster = try await EtcdServers.whole.value.cluster()
            let store = EtcdStore(cluster, context: UUID().uuidString)
            let batch = try EtcdBatch([.put(text("x"), at: StorageAddress("x"))], store.keys, cluster)
            let fault = await #expect(throws: EtcdFault.self) {
                _ = try await batch.settle(batch.newMark(), lease: 4_711, until: cluster.nextDeadline)
            }
            #expect(fault?.kind == .leaseGone)
            #expect(fault?.mayHaveEffect == true)
        }

        @Test func `a transaction that arrives after it was settled changes nothing`() async throws {
            let cluster = try await EtcdServers.whole.value.cluster()
            let store = EtcdStore(cluster, context: UUID().uuidString)
            let address = StorageAddress("late")
            let batch = try EtcdBatch([.put(text("late"), at: address)], store.keys, cluster)
            let (mark, deadline) = (batch.newMark(), cluster.nextDeadline)
            let lease = try await cluster.lease(until: deadline)
            let number = try await batch.settle(mark, lease: lease, until: deadline)
            #expect(number == nil)
            let transaction = batch.transaction(over: [0], mark: mark, lease: lease)
            let answer = try await cluster.call(EtcdMethods.transaction, transaction, until: deadline)
            #expect(!answer.succeeded)
            let probe = try await store.read(address, .fresh)
            #expect(probe == .absent)
        }

        @Test func `a batch that no transaction can hold is refused as too large`() async throws {
            let store = EtcdStore(try await EtcdServers.whole.value.cluster(), context: UUID().uuidString)
            let many = (0..<128).map { StorageMutation.put(text("x"), at: StorageAddress("\($0)")) }
            let heavy = (0..<3).map { index in
                StorageMutation.put(.bytes([UInt8](repeating: 7, count: 600_000)), at: StorageAddress("\(index)"))
            }
            for batch in [many, heavy] {
                do throws(BackendError) {
                    _ = try await store.apply(batch)
                    Issue.record("The batch was accepted.")
                } catch {
                    #expect(error.code == .tooLarge)
                    #expect(error.outcome == .notApplied)
                }
            }
            let listed = try await store.addresses(in: .values)
            #expect(listed.isEmpty)
        }
    }
}

/// Returns a text as a payload.
func text(_ text: String) -> StoragePayload { .bytes(Array(text.utf8)) }

/// Returns the revision of a change that was applied.
func applied(_ result: MutationResult) throws -> StorageRevision {
    guard case .applied(let revision?, _) = result else { throw TestFailure("A change is \(result)") }
    return revision
}

/// Raises a number in a slot by 1. Returns false if another caller has changed it.
private func increment(_ address: StorageAddress, in store: EtcdStore) async throws -> Bool {
    let probe = try await store.read(address, .fresh)
    let change: StorageMutation
    switch probe {
    case .absent: change = .put(text("1"), at: address, if: .absent)
    case .value(let record):
        guard case .bytes(let bytes) = record.payload, let count = Int(String(decoding: bytes, as: UTF8.self)) else {
            throw TestFailure("The slot holds no number.")
        }
        change = .put(text("\(count + 1)"), at: address, if: .revision(record.revision))
    default: throw TestFailure("A read returned \(probe)")
    }
    switch try await store.apply(change) {
    case .applied: return true
    case .conflict: return false
    case let result: throw TestFailure("A change is \(result)")
    }
}

private final class Flag: Sendable {
    private let flag = Atomic(false)

    func raise() { flag.store(true, ordering: .releasing) }

    var isRaised: Bool { flag.load(ordering: .acquiring) }
}
