import BackendContract
import LocalDataQueries
import LocalDataTesting
import TestSupport
import Testing

@testable import LocalData

/// Calls of several steps, of which a later one fails.
@Suite(.inTurn) struct StepwiseOutcomeTests {
    enum Call: CaseIterable, Sendable { case migrateAll, removeAll, clear }

    private static let domain = StorageDomain.userDefaults(suite: "items")
    private static let items = Item.indexed(domain)

    private func make(_ call: Call, _ router: StorageRouter) async throws {
        switch call {
        case .migrateAll:
            let newer = StorageCollection<Item>(
                "items", domain: Self.domain, owner: "Tests", description: "Items", typeTag: "Newer")
            try await router.migrateAll(from: "Item", to: newer)
        case .removeAll: _ = try await router.removeAll(in: Self.items, where: \.size > 0)
        case .clear: try await router.clear(Self.items)
        }
    }

    /// The stored records, as bytes.
    private func stored(_ machine: TestMachine) async throws -> [String: [UInt8]] {
        let router = machine.launch()
        var found: [String: [UInt8]] = [:]
        for id in 0..<7 {
            if case .value(let record) = try await router.slots.routes.slot(for: Self.items.key("\(id)")).route.probe() {
                found["\(id)"] = record.payload.canonicalBytes + Array((record.metadata.typeTag ?? "").utf8)
            }
        }
        return found
    }

    @Test(arguments: Call.allCases)
    func `an error that reports notApplied has left every record unchanged, whichever operation of the store fails`(
        _ call: Call
    ) async throws {
        var failures = (all: 0, unknown: 0)
        for number in 1...400 {
            let machine = TestMachine { $0.pageSize = 2 }
            try await machine.launch().set((0..<7).map { Item(id: "\($0)", tag: "a", size: $0 + 1) }, in: Self.items)
            let before = try await stored(machine)
            let router = machine.launch()
            _ = try await router.value("0", in: Self.items)
            let backend = try #require(machine.backends(of: Self.domain).last)
            backend.inject(.fail(BackendError(.unavailable, "The store does not answer.")), at: number)
            do {
                try await make(call, router)
                // No operation is left that could fail.
                break
            } catch let error as StorageError {
                failures.all += 1
                backend.removeFaults()
                if error.outcome == .notApplied {
                    #expect(try await stored(machine) == before, "operation \(number): \(error)")
                } else {
                    failures.unknown += 1
                }
            }
        }
        #expect((1..<400).contains(failures.all) && failures.unknown > 0)
    }
}
