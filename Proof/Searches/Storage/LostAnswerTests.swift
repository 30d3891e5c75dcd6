import BackendContract
import BackendRuntime
import Foundation
import LocalDataTesting
import MemoryBackend
import TestSupport
import Testing

@testable import LocalData

/// Tests that an observer gets a change even if the store's answer to the write was lost.
/// For each kind of call that writes, each of its writes loses its answer in turn.
/// A slot is a named place for one record. If a slot has changed, its observer must get the new value.
@Suite(.inTurn) struct LostAnswerTests {
    /// The stores of the destinations: one commits several changes at once, the other does not.
    private static let destinations: [StorageDomain] = [.encryptedSQLite(database: "place"), .keychain(service: "place")]

    @Test(.timeLimit(.minutes(10)), arguments: LostAnswerCase.all, destinations)
    func `an observer sees a change whose answer was lost`(verb: LostAnswerCase, destination: StorageDomain) async throws {
        if verb.needsAtomicCommits, destination.kind == .keychain { return }
        try await LostPerson.place.withValue(destination) {
            let scene = verb.scene(destination)
            var changed = 0
            for store in [LostAnswerMachine.older, destination] {
                let writes = try await run(scene, losing: nil, in: store).writes
                for (number, loss) in (0..<writes).flatMap({ number in Loss.allCases.map { (number + 1, $0) } }) {
                    let outcome = try await run(scene, losing: (number, loss), in: store)
                    changed += outcome.changed
                    for slot in outcome.missed {
                        Issue.record("\(verb): the observer of \(slot) missed write \(number) of \(writes) to \(store), \(loss.rawValue)")
                    }
                }
            }
            #expect(changed > 0, "no slot that is observed changed: the case shows nothing")
        }
    }

    /// How the store reports that an answer was lost: the call throws, or every result is a failure.
    private enum Loss: String, CaseIterable {
        case thrown = "whose call threw"
        case told = "whose results were failures"
    }

    private struct Outcome {
        /// How often the call wrote to the store.
        var writes = 0
        /// How many observed slots the call changed.
        var changed = 0
        /// The changed slots whose observers did not get the stored value as their last one.
        var missed: [String] = []
    }

    /// Runs a scene, which is a case with a chosen destination, on a new machine.
    /// - Parameter lost: The write whose answer is lost, and how; nil for none.
    private func run(
        _ scene: LostAnswerCase.Scene, losing lost: (number: Int, loss: Loss)?, in store: StorageDomain
    ) async throws -> Outcome {
        let machine = LostAnswerMachine([LostAnswerMachine.older, scene.destination])
        for slot in scene.watched { try await slot.mark(machine.launch().router) }
        let (router, stores) = machine.launch(tellsLossInResults: lost?.loss == .told)
        var observers: [() async throws -> String?] = []
        for slot in scene.watched {
            let observe = slot.observe(router)
            _ = try await observe()
            observers.append(observe)
        }
        for slot in scene.watched { machine.medium(of: slot.domain).removeForeign(slot.address) }
        try await scene.prepare(machine)
        let before = try await machine.revisions(scene.watched)
        let faulty = try #require(stores[store])
        let logged = faulty.log.count
        if let lost { faulty.inject(.loseAnswer, at: lost.number, of: .apply) }
        do { try await scene.act(router) } catch  where lost != nil {}
        faulty.removeFaults()

        var outcome = Outcome()
        outcome.writes = faulty.log.dropFirst(logged).count { $0.kind == .apply }
        let after = try await machine.revisions(scene.watched)
        // Each sequence of values now ends after the values that were already sent to its observer.
        router.slots.committer.hub.close()
        for (index, slot) in scene.watched.enumerated() where before[index] != after[index] {
            outcome.changed += 1
            var seen: String?
            do {
                while let value = try await observers[index]() { seen = value }
            } catch { Issue.record("the observer of \(slot.name) ended with \(error)") }
            if seen != (try await slot.read(machine.launch().router)) { outcome.missed.append(slot.name) }
        }
        return outcome
    }
}

/// A machine whose stores do not report changes by other processes. An observer sees only changes by its own process.
final class LostAnswerMachine: Sendable {
    /// The legacy store.
    static let older = StorageDomain.userDefaults(suite: "older")

    /// The clock of all processes.
    let clock = TestClock()
    private let base = StorageConfiguration.inMemory()
    private let media: [StorageDomain: MemoryMedium]
    /// The store of the library's own keys.
    private let ownKeys = MemoryMedium()

    init(_ domains: [StorageDomain]) {
        media = Dictionary(domains.map { ($0, MemoryMedium()) }, uniquingKeysWith: { first, _ in first })
    }

    /// The content of the stores of a domain.
    func medium(of domain: StorageDomain) -> MemoryMedium { media[domain] ?? MemoryMedium() }

    /// Starts another process.
    /// - Parameter tellsLossInResults: Whether a lost answer is reported as a failed result for each mutation.
    ///   Otherwise the call throws the error.
    func launch(tellsLossInResults: Bool = false) -> (router: StorageRouter, stores: [StorageDomain: FaultingBackend]) {
        var configuration = base
        configuration.use(clock)
        let stores = Dictionary(
            uniqueKeysWithValues: media.map { ($0, FaultingBackend(InMemoryStore.standIn(for: $0, medium: $1, runtime: .live))) })
        for kind in Set(stores.keys.map(\.kind)) {
            configuration.useBackend(for: kind) { [ownKeys] scope in
                let domain = StorageDomain(kind: kind, scope: scope)
                guard let store = stores[domain] else { return InMemoryStore.standIn(for: domain, medium: ownKeys, runtime: .live) }
                return UnobservableBackend(base: store, tellsLossInResults: tellsLossInResults)
            }
        }
        return (StorageRouter(configuration: configuration), stores)
    }

    /// Lets the lifetimes of values end, and waits long enough that the next sweep purges them.
    func expire(_ keys: [AnyStorageKey]) async {
        clock.advance(by: .seconds(61))
        await launch().router.sweep(TestCatalog(keys))
        clock.pass(.seconds(86_400))
    }

    /// The revision of each slot; nil if the slot is empty.
    func revisions(_ slots: [ObservedSlot]) async throws -> [StorageRevision?] {
        var revisions: [StorageRevision?] = []
        for slot in slots {
            let store = InMemoryStore.standIn(for: slot.domain, medium: medium(of: slot.domain), runtime: .live)
            revisions.append(try await store.read(slot.address).revision)
        }
        return revisions
    }
}

/// A backend that does not report changes by other processes.
private struct UnobservableBackend: WrappingBackend {
    let base: any StorageBackend
    let tellsLossInResults: Bool

    func apply(_ mutations: [StorageMutation]) async throws(BackendError) -> [MutationResult] {
        do throws(BackendError) { return try await base.apply(mutations) } catch {
            guard tellsLossInResults, error.outcome == .unknown else { throw error }
            return mutations.map { _ in .failed(error) }
        }
    }
}

/// A slot that is observed through a key.
struct ObservedSlot: Sendable {
    let name: String
    let domain: StorageDomain
    let address: StorageAddress
    /// Stores the value `mark`, which differs from every value that a case stores.
    let mark: @Sendable (StorageRouter) async throws -> Void
    /// Reads the value as a text.
    let read: @Sendable (StorageRouter) async throws -> String
    /// Starts a sequence of the values. Each call returns its next value as a text; nil at its end.
    let observe: @Sendable (StorageRouter) -> () async throws -> String?

    /// - Parameters:
    ///   - key: The key that the slot is observed through.
    ///   - collection: The collection of the key's record.
    ///   - mark: A value that no case stores.
    init<Value>(_ key: StorageKey<Value>, in collection: String? = nil, mark: Value) {
        name = "\(key.domain)/\(collection.map { "\($0)/" } ?? "")\(key.name)"
        domain = key.domain
        address = collection.map { StorageAddress(key.name, in: StorageNamespace("collection:\($0)")) } ?? StorageAddress(key.name)
        self.mark = { try await $0.set(mark, for: key) }
        read = { try Self.text(try await $0.value(for: key)) }
        observe = { router in
            var values = router.values(for: key).makeAsyncIterator()
            return { try await values.next(isolation: #isolation).map(Self.text) }
        }
    }

    private static func text<Value: Encodable>(_ value: Value?) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return String(decoding: try encoder.encode([value]), as: UTF8.self)
    }
}
