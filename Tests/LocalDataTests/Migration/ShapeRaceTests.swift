import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import MemoryBackend
import Synchronization
import TestSupport
import Testing

/// Another program changes a value between the looks of a read: the answer is the value before or after, and never a mixture.
@Suite(.inTurn) struct ShapeRaceTests {
    private static let domain = StorageDomain.userDefaults(suite: "main")
    private static let old = ShapeWorld.old(domain)
    private static let key = ShapeWorld.key(domain)
    private static let blue = ThemeV2(title: "Sky", size: 10, accent: "blue")
    private static let red = ThemeV2(title: "Sea", size: 11, accent: "red")
    private static let merged = ThemeV2(title: "Sun", size: 1, accent: "blue")

    /// A store in which something happens once, before the newer shapes are read.
    private final class Race: Sendable {
        let medium = MemoryMedium()
        private let action = Mutex<(@Sendable () async -> Void)?>(nil)

        func arm(_ action: @escaping @Sendable () async -> Void) { self.action.withLock { $0 = action } }

        var isArmed: Bool { action.withLock { $0 != nil } }

        func launch(isRaced: Bool = false) -> StorageRouter {
            var configuration = StorageConfiguration.inMemory()
            configuration.use(for: .userDefaults) { [self] _ in
                FaultyStore(
                    store: InMemoryStore(medium: medium),
                    fault: FaultyStore.Fault(read: { store, addresses, freshness async throws(BackendError) in
                        if isRaced, addresses.contains(where: { $0.namespace.name.hasPrefix("shape:") }) { await self.run() }
                        return try await store.read(addresses, freshness)
                    }))
            }
            return StorageRouter(configuration: configuration)
        }

        private func run() async {
            let action = action.withLock { action in
                defer { action = nil }
                return action
            }
            await action?()
        }
    }

    enum Change: CaseIterable, Sendable {
        case write, olderWrite, removal, olderRemoval, end

        func make(_ router: StorageRouter) async throws {
            switch self {
            case .write: try await router.set(red, for: key)
            case .olderWrite: try await router.set(ThemeV1(name: "Sun", size: 1), for: old)
            case .removal: try await router.remove(key)
            case .olderRemoval: try await router.remove(old)
            case .end: try await router.endReleaseWindow(of: key)
            }
        }

        func result(over value: ThemeV2) -> ThemeV2? {
            switch self {
            case .write: red
            case .olderWrite: merged
            case .removal, .olderRemoval: nil
            case .end: value
            }
        }
    }

    @Test(arguments: Change.allCases, [false, true]) func `a read in which the value changes meets it before or after`(
        _ change: Change, afterOlderWrite: Bool
    ) async throws {
        let race = Race()
        let (other, reader) = (race.launch(), race.launch(isRaced: true))
        try await other.set(Self.blue, for: Self.key)
        if afterOlderWrite { try await Change.olderWrite.make(other) }
        let before = afterOlderWrite ? Self.merged : Self.blue
        race.arm { do { try await change.make(other) } catch { Issue.record(error) } }
        let seen = try await reader.value(for: Self.key)
        #expect(!race.isArmed)
        #expect([before, change.result(over: before)].contains(seen))
        #expect(try await reader.value(for: Self.key) == change.result(over: before))
    }

    @Test(arguments: Change.allCases) func `an update over a change in between is made of the value after it`(_ change: Change) async throws
    {
        let race = Race()
        let (other, writer) = (race.launch(), race.launch(isRaced: true))
        try await other.set(Self.blue, for: Self.key)
        race.arm { do { try await change.make(other) } catch { Issue.record(error) } }
        try await writer.update(Self.key) { $0?.size += 100 }
        #expect(!race.isArmed)
        var result = change.result(over: Self.blue)
        result?.size += 100
        #expect(try await other.value(for: Self.key) == result)
    }
}
