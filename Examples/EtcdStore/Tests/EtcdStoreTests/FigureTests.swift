import BackendContract
import Foundation
import Testing

@testable import EtcdStore

extension EtcdTests {
    /// The figures in the README: `ETCDSTORE_FIGURES=1 swift test --filter FigureTests`.
    @Suite(.enabled(if: ProcessInfo.processInfo.environment["ETCDSTORE_FIGURES"] != nil)) struct FigureTests {
        @Test func `what a call costs`() async throws {
            let store = EtcdStore(try await EtcdServers.whole.value.cluster(), context: "calls")
            let address = StorageAddress("x")
            let value = StoragePayload.bytes([UInt8](repeating: 7, count: 100))
            var revision = try await applied(store.apply(.put(value, at: address)))
            let reads = try await durations(2_000) { _ in _ = try await store.read(address, .fresh) }
            let changes = try await durations(500) { _ in
                revision = try await applied(store.apply(.put(value, at: address, if: .revision(revision))))
            }
            let puts = try await durations(500) { _ in _ = try await applied(store.apply(.put(value, at: address))) }
            let batches = try await durations(100) { _ in
                let results = try await store.apply((0..<100).map { .put(value, at: StorageAddress("\($0)")) })
                guard results.allSatisfy({ $0.isApplied }) else { throw TestFailure("A batch failed.") }
            }
            let clock = ContinuousClock()
            let together = try await clock.measure {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for task in 0..<64 {
                        group.addTask {
                            for index in 0..<50 {
                                _ = try await applied(store.apply(.put(value, at: StorageAddress("\(task) \(index)"), if: .absent)))
                            }
                        }
                    }
                    try await group.waitForAll()
                }
            }
            for (name, times) in [("read", reads), ("change at a revision", changes), ("put", puts), ("batch of 100", batches)] {
                print("\(name): median \(times[times.count / 2]), 99 %: \(times[times.count * 99 / 100])")
            }
            print("64 tasks: \(Int(64 * 50 / (together / .seconds(1)))) changes a second")
        }

        @Test func `how long a killed member stops a writer`() async throws {
            for index in 0..<3 {
                let servers = try await EtcdServers.started()
                let store = EtcdStore(servers.cluster(), context: "kill")
                func longest() async throws -> Duration {
                    let all = try await durations(200) { _ in _ = try await applied(store.apply(.put(text("x"), at: StorageAddress("x")))) }
                    return all[all.count - 1]
                }
                let before = try await longest()
                await servers.kill(index)
                let after = try await longest()
                print("member \(index): the longest change before the kill \(before), after it \(after)")
            }
        }
    }
}

/// Returns the durations of repeated calls, the shortest first.
private func durations(_ count: Int, _ call: (Int) async throws -> Void) async throws -> [Duration] {
    let clock = ContinuousClock()
    var durations: [Duration] = []
    for index in 0..<count { durations.append(try await clock.measure { try await call(index) }) }
    return durations.sorted()
}
