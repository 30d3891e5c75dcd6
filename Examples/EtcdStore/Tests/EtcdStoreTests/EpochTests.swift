import BackendContract
import Foundation
import Testing

@testable import EtcdStore

extension EtcdTests {
    @Suite struct EpochTests {
        @Test func `of ten programs that raise one epoch one succeeds, and is its holder`() async throws {
            let servers = try await EtcdServers.wounded.value
            let context = UUID().uuidString
            let referees = (0..<10).map { _ in EpochReferee(EtcdStore(servers.cluster(), context: context), name: "primary") }
            for round in 0..<3 {
                let winners = try await withThrowingTaskGroup(of: EpochReferee.Epoch?.self) { group in
                    let seen = try await referees[0].current()
                    #expect(seen.number == UInt64(round))
                    for (index, referee) in referees.enumerated() {
                        group.addTask { try await referee.advance(from: seen, holder: "program \(index)") }
                    }
                    return try await group.reduce(into: [EpochReferee.Epoch]()) { winners, winner in
                        if let winner { winners.append(winner) }
                    }
                }
                #expect(winners.count == 1)
                let current = try await referees[1].current()
                #expect(current == winners.first)
            }
        }

        @Test func `two epochs with different names are independent`() async throws {
            let store = EtcdStore(try await EtcdServers.whole.value.cluster(), context: UUID().uuidString)
            let (one, other) = (EpochReferee(store, name: "one"), EpochReferee(store, name: "other"))
            let none = try await one.current()
            let first = try await one.advance(from: none, holder: "a")
            #expect(first?.number == 1 && first?.holder == "a")
            let untouched = try await other.current()
            #expect(untouched.number == 0 && untouched.holder == nil)
            let second = try await one.advance(from: none, holder: "b")
            #expect(second == nil)
        }
    }
}
