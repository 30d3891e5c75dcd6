import BackendConformance
import BackendContract
import Foundation
import LocalData
import SwiftProtobuf
import Testing

@testable import EtcdStore

/// All tests run one after the other, because each cluster has three processes.
@Suite(.serialized, .timeLimit(.minutes(5))) struct EtcdTests {}

extension EtcdTests {
    @Suite struct LawTests {
        private static let whole = LawBench.etcd("three members") { try await EtcdServers.whole.value }
        private static let wounded = LawBench.etcd("two of three members") { try await EtcdServers.wounded.value }

        @Test(arguments: BackendLaw.all.filter { $0.applies(to: LawTests.whole) })
        func `the store passes every law that applies to its capabilities`(law: BackendLaw) async throws {
            try await law.verify(on: Self.whole)
        }

        @Test(arguments: BackendLaw.all.filter { $0.applies(to: LawTests.wounded) })
        func `the store passes every law after one member was killed`(law: BackendLaw) async throws {
            try await law.verify(on: Self.wounded)
        }

        @Test func `a router uses the store as a domain`() async throws {
            let cluster = try await EtcdServers.whole.value.cluster()
            let run = UUID().uuidString
            var configuration = StorageConfiguration.inMemory()
            configuration.useBackend(for: .init("etcd")) { scope in EtcdStore(cluster, context: "\(run) \(scope)") }
            let city = StorageKey<String>(name: "city", domain: .custom("etcd", scope: "weather"))
            try await StorageRouter(configuration: configuration).set("Linz", for: city)
            #expect(try await StorageRouter(configuration: configuration).get(city) == "Linz")
        }
    }
}

extension LawBench {
    /// The bench of a cluster. Each store has separate connections, as in a separate process.
    /// The scale is a quarter: by default, a transaction of etcd has at most 128 operations.
    static func etcd(_ name: String, _ servers: @escaping @Sendable () async throws -> EtcdServers) -> LawBench {
        LawBench(
            name: name, capabilities: EtcdStore(EtcdCluster([.init("127.0.0.1")]), context: "").capabilities, scale: 0.25,
            makeStore: { EtcdStore(try await servers().cluster(), context: UUID().uuidString) },
            reopen: { store in
                guard let store = store as? EtcdStore else { throw TestFailure("The store is of another type.") }
                return EtcdStore(try await servers().cluster(), context: store.context)
            },
            corrupt: { store, address in
                guard let store = store as? EtcdStore else { throw TestFailure("The store is of another type.") }
                try await store.damage(address)
            })
    }
}

extension EtcdStore {
    /// Inverts the byte in the middle of a stored record.
    func damage(_ address: StorageAddress) async throws {
        let (key, deadline) = (keys.key(address), cluster.nextDeadline)
        guard let content = try await cluster.states([key], until: deadline).first?.content else {
            throw TestFailure("The slot is empty.")
        }
        var bytes = [UInt8](content.value)
        bytes[bytes.count / 2] ^= 0xFF
        let damaged = Data(bytes)
        let request = EtcdTxnRequest.with { $0.success = [.put(damaged, at: key)] }
        _ = try await cluster.call(EtcdMethods.transaction, request, until: deadline)
    }
}
