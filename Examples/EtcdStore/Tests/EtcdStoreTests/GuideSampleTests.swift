import EtcdStore
import Foundation
import LocalData
import Testing

extension EtcdTests {
    /// The samples of the README.
    @Suite struct GuideSampleTests {
        @Test func `a router is configured without a connection to the cluster`() async throws {
            // No machine has the addresses of the sample.
            try await StorageRouter(configuration: configuration()).shutdown()
        }

        @Test func `of two programs that notice the failure of a primary, one promotes a standby`() async throws {
            let servers = try await EtcdServers.whole.value
            let context = UUID().uuidString
            var promotions: [String] = []
            try await failOver(
                EtcdStore(servers.cluster(), context: context),
                primaryFails: {
                    try await failOver(
                        EtcdStore(servers.cluster(), context: context), primaryFails: {}, promote: { promotions.append("second \($0)") })
                },
                promote: { promotions.append("first \($0)") })
            #expect(promotions == ["second 1"])
        }
    }
}

private func configuration() -> StorageConfiguration {
    var configuration = StorageConfiguration.inMemory()
    let cluster = EtcdCluster([.init("10.0.0.1"), .init("10.0.0.2"), .init("10.0.0.3")])
    configuration.useBackend(for: .init("etcd")) { scope in EtcdStore(cluster, context: scope) }
    let limit = StorageKey<Int>(name: "limit", domain: .custom("etcd", scope: "orders"))
    _ = limit
    return configuration
}

private func failOver(
    _ store: EtcdStore, primaryFails: () async throws -> Void, promote: (UInt64) async throws -> Void
) async throws {
    let referee = EpochReferee(store, name: "primary")
    let epoch = try await referee.current()
    try await primaryFails()
    guard let mine = try await referee.advance(from: epoch, holder: "machine-2") else { return }
    try await promote(mine.number)
}
