import BackendContract
import Foundation
import Testing

@testable import EtcdStore

extension EtcdTests {
    @Suite struct ChangeTests {
        @Test func `a store reports the slots that another store has changed`() async throws {
            let servers = try await EtcdServers.whole.value
            let context = UUID().uuidString
            var reports = Reports(EtcdStore(servers.cluster(), context: context).foreignChanges())
            let first = try await reports.next()
            #expect(first == nil)
            let other = EtcdStore(servers.cluster(), context: context)
            let addresses = [StorageAddress("a/b"), StorageAddress("e\u{301}", in: StorageNamespace("shelf"))]
            _ = try await other.apply(addresses.map { .put(text("x"), at: $0) })
            let batch = try await reports.next()
            #expect(batch == Set(addresses))
            _ = try await other.apply(.delete(addresses[0]))
            let deletion = try await reports.next()
            #expect(deletion == [addresses[0]])
        }

        @Test func `a watch whose history was compacted reports that any slot may have changed`() async throws {
            let store = EtcdStore(try await EtcdServers.whole.value.cluster(), context: UUID().uuidString)
            let address = StorageAddress("x")
            for _ in 0..<3 { _ = try await store.apply(.put(text("x"), at: address)) }
            let deadline = store.cluster.nextDeadline
            var request = EtcdCompactionRequest()
            request.revision = try await store.revision(until: deadline)
            let compact = EtcdMethod<EtcdCompactionRequest, EtcdCompactionResponse>("KV", "Compact")
            _ = try await store.cluster.call(compact, request, until: deadline)

            var reports = Reports(store.changes(since: 1))
            let first = try await reports.next()
            #expect(first == nil)
            _ = try await store.apply(.put(text("y"), at: address))
            let change = try await reports.next()
            #expect(change == [address])
        }

        @Test func `a watch continues with another member when its member is killed`() async throws {
            let servers = try await EtcdServers.started()
            let watched = EtcdStore(servers.cluster(), context: "watched")
            var reports = Reports(watched.foreignChanges())
            let first = try await reports.next()
            #expect(first == nil)
            await servers.kill(0)
            let other = EtcdStore(servers.cluster(), context: "watched")
            let addresses = (0..<5).map { StorageAddress("\($0)") }
            for address in addresses {
                guard case .applied = try await other.apply(.put(text("x"), at: address)) else { throw TestFailure("A change failed.") }
            }
            var missing = Set(addresses)
            while !missing.isEmpty {
                let report = try await reports.next()
                missing.subtract(try #require(report, "The watch has lost its position."))
            }
        }
    }
}

/// The reports of a watch, one after the other.
private struct Reports {
    private var iterator: AsyncStream<Set<StorageAddress>?>.Iterator

    init(_ stream: AsyncStream<Set<StorageAddress>?>) { iterator = stream.makeAsyncIterator() }

    /// Returns the next report; nil if any slot may have changed.
    mutating func next() async throws -> Set<StorageAddress>? {
        guard let report = await iterator.next() else { throw TestFailure("The stream has ended.") }
        return report
    }
}
