import BackendContract
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// An older program that still runs, and writes to the legacy location after the value was moved to the destination.
///
/// Each such write is a new value, even if it equals a value that was moved before. It conflicts with the value at the
/// destination, and the key's policy decides between them. A superseded copy is different: it is what a move has left
/// in the legacy location, and a later sweep deletes it without a conflict.
///
/// A sweep migrates the values of all keys of a catalog. Quarantine is the store for displaced values. A sweep applies
/// that policy. It moves the values of all keys to their destinations, and deletes the copies in the legacy locations.
@Suite(.inTurn) struct OlderWriterTests {
    enum Destination: String, CaseIterable, Sendable { case value, removal }

    struct Case: Sendable, CustomTestStringConvertible {
        let name: String
        let policy: ConflictPolicy<Bool>
        let destination: Destination
        var testDescription: String { "\(name) over a \(destination.rawValue)" }

        static let all = Destination.allCases.flatMap { destination in
            [
                Case(name: "destination wins", policy: .destinationWins, destination: destination),
                Case(name: "source wins", policy: .sourceWins, destination: destination),
                Case(name: "merge", policy: .merge { _, theirs in theirs }, destination: destination),
            ]
        }
    }

    private let machine = TestMachine()
    private let old = testKey("old", .userDefaults(suite: "a"), of: Bool.self)
    private let bare = testKey("new", .keychain(service: "s"), of: Bool.self)

    private func key(_ policy: ConflictPolicy<Bool>) -> StorageKey<Bool> { bare.moved(from: old).resolvingConflicts(policy) }

    private func settle(_ router: StorageRouter, _ key: StorageKey<Bool>) async throws {
        for _ in 0..<3 { try await router.sweep(TestCatalog([.key(key)])).requireComplete() }
    }

    private func quarantine(_ router: StorageRouter) async throws -> [String] {
        var texts: [String] = []
        for kept in try await router.audit().quarantine {
            texts.append(String(decoding: try await router.quarantine.data(of: kept), as: UTF8.self))
        }
        return texts.sorted()
    }

    /// Moves `true` to the destination, and then replaces it with `false` or removes it there.
    private func replace(_ router: StorageRouter, _ key: StorageKey<Bool>, _ destination: Destination) async throws {
        #expect(try await router.get(key))
        if destination == .value { try await router.set(false, for: key) } else { try await router.remove(key) }
    }

    @Test(arguments: Case.all)
    func `content that the older program writes again after the move is a new value, to which the conflict policy applies`(
        _ test: Case
    ) async throws {
        let (before, now) = (machine.launch(), machine.launch())
        let key = key(test.policy)
        try await before.set(true, for: old)
        try await replace(now, key, test.destination)
        try await before.set(true, for: old)
        try await settle(now, key)
        let stays = test.destination == .value ? false : nil
        if case .destinationWins = test.policy {
            #expect(try await now.value(for: key) == stays)
            #expect(try await quarantine(now) == ["true"])
        } else {
            #expect(try await now.value(for: key) == true)
        }
        #expect(try await !now.exists(old))
    }

    @Test(arguments: Case.all)
    func `content that a program without LocalData writes again is a new value, but is quarantined if the value was removed`(
        _ test: Case
    ) async throws {
        let now = machine.launch()
        let key = key(test.policy)
        machine.seedUserDefaults(["old": .boolean(true)], suite: "a")
        try await replace(now, key, test.destination)
        machine.seedUserDefaults(["old": .boolean(true)], suite: "a")
        try await settle(now, key)
        if case .destinationWins = test.policy {
            #expect(try await now.value(for: key) == (test.destination == .value ? false : nil))
            #expect(try await quarantine(now) == ["true"])
        } else if test.destination == .removal {
            #expect(try await now.value(for: key) == nil)
            #expect(try await quarantine(now) == ["true"])
        } else {
            #expect(try await now.value(for: key) == true)
        }
        #expect(try await !now.exists(old))
    }

    @Test(arguments: Case.all)
    func `content of a program without LocalData that may be a copy or a new value is quarantined before it is deleted`(
        _ test: Case
    ) async throws {
        let now = machine.launch()
        let key = key(test.policy)
        machine.seedUserDefaults(["old": .boolean(true)], suite: "a")
        _ = await now.status(of: old.domain)
        // The move cannot delete the legacy copy, so a later write of the same content cannot be distinguished from that copy.
        for backend in machine.backends(of: old.domain) { backend.inject(.unavailable, of: .apply, repeats: true) }
        #expect(try await now.get(key))
        if test.destination == .value { try await now.set(false, for: key) } else { _ = try? await now.remove(key) }
        for backend in machine.backends(of: old.domain) { backend.removeFaults() }
        machine.seedUserDefaults(["old": .boolean(true)], suite: "a")
        try await settle(now, key)
        #expect(try await now.value(for: key) == (test.destination == .value ? false : nil))
        #expect(try await quarantine(now) == ["true"])
        #expect(try await !now.exists(old))
    }

    @Test
    func `a legacy copy that the move could not delete is later deleted without quarantine, if the moved value is unchanged`() async throws
    {
        let now = machine.launch()
        let key = key(.sourceWins)
        machine.seedUserDefaults(["old": .boolean(true)], suite: "a")
        _ = await now.status(of: old.domain)
        for backend in machine.backends(of: old.domain) { backend.inject(.unavailable, of: .apply, repeats: true) }
        #expect(try await now.get(key))
        for backend in machine.backends(of: old.domain) { backend.removeFaults() }
        try await settle(now, key)
        #expect(try await now.get(key))
        #expect(try await quarantine(now).isEmpty)
        #expect(try await !now.exists(old))
    }

    @Test
    func `with sourceWins, a value that an intermediate version superseded and that is written again is quarantined and does not win`()
        async throws
    {
        let (before, now) = (machine.launch(), machine.launch())
        // An intermediate version keeps the value under the name `between`. A new value there supersedes the oldest value.
        let oldest = textKey("oldest", .userDefaults(suite: "a"))
        let between = textKey("between", .userDefaults(suite: "b")).moved(from: oldest)
        let key = textKey("new", .keychain(service: "s")).moved(from: textKey("between", .userDefaults(suite: "b"))).moved(from: oldest)
            .resolvingConflicts(.sourceWins)
        machine.seedUserDefaults(["oldest": .string("first")], suite: "a")
        try await before.set("second", for: between)
        #expect(try await now.get(key) == "second")
        machine.seedUserDefaults(["oldest": .string("first")], suite: "a")
        for _ in 0..<3 { try await now.sweep(TestCatalog([.key(key)])).requireComplete() }
        #expect(try await now.get(key) == "second")
        #expect(try await quarantine(now) == ["first"])
        #expect(try await !now.exists(oldest))
    }

    @Test(arguments: Case.all.filter { $0.destination == .value })
    func `a sweep deletes a legacy copy that an earlier set superseded, even after a set through a key without the migration`(
        _ test: Case
    ) async throws {
        let router = machine.launch()
        let key = key(test.policy)
        try await router.set(true, for: old)
        try await router.set(true, for: key)
        try await router.set(false, for: bare)
        try await settle(router, key)
        #expect(try await router.get(key) == false)
        #expect(try await !router.exists(old))
    }

    @Test func `a set after a removal still supersedes the legacy copy that the removal could not delete`() async throws {
        let router = machine.launch()
        let key = key(.sourceWins)
        try await router.set(true, for: old)
        for backend in machine.backends(of: old.domain) { backend.inject(.unavailable, of: .apply, repeats: true) }
        await expectRefusal(StorageError.residueRemains) { try await router.remove(key) }
        for backend in machine.backends(of: old.domain) { backend.removeFaults() }
        try await router.set(false, for: bare)
        try await settle(router, key)
        #expect(try await router.get(key) == false)
    }

    @Test(arguments: [false, true])
    func `a legacy value written during a sweep is a conflict, even if it equals the value that the destination had before`(
        isForeign: Bool
    ) async throws {
        let (sweeping, other) = (machine.launch(), machine.launch())
        let key = key(.destinationWins)
        if isForeign {
            machine.seedUserDefaults(["old": .boolean(true)], suite: "a")
            _ = try await other.get(key)
        } else {
            try await other.set(true, for: key)
        }
        _ = await sweeping.status(of: old.domain)
        let gate = FaultGate()
        // The sweep has read the destination. Its first read of the legacy location waits until the test opens the
        // gate.
        for backend in machine.backends(of: old.domain) { backend.inject(.hold(gate), of: .read) }
        async let report = sweeping.sweep(TestCatalog([.key(key)]))
        await gate.untilArrivals()
        let free = machine.launch()
        try await free.set(false, for: bare)
        if isForeign {
            machine.seedUserDefaults(["old": .boolean(true)], suite: "a")
        } else {
            try await machine.launch().set(true, for: old)
        }
        gate.open()
        try await report.requireComplete()
        try await settle(free, key)
        #expect(try await free.get(key) == false)
        #expect(try await quarantine(free) == ["true"])
    }

    @Test func `with sourceWins, a read or set throws if it cannot flush the legacy value of a program without LocalData`() async throws {
        let router = machine.launch()
        let key = key(.sourceWins)
        machine.seedUserDefaults(["old": .boolean(true)], suite: "a")
        _ = await router.status(of: old.domain)
        // Without a flush, a power cut could restore an earlier legacy value of that program, and the earlier value would win.
        for backend in machine.backends(of: old.domain) { backend.inject(.unavailable, of: .synchronize, repeats: true) }
        await #expect(throws: StorageError.self) { try await router.get(key) }
        await #expect(throws: StorageError.self) { try await router.set(false, for: key) }
        for backend in machine.backends(of: old.domain) { backend.removeFaults() }
        #expect(try await router.get(key))
    }

    @Test func `if equal legacy values of three keys lose their conflicts, the quarantine has a separate entry for each key`() async throws
    {
        let stage = try Stage()
        let router = stage.launch()
        let keys = (0..<3).map { number in
            textKey("new \(number)", .userDefaults(suite: "b")).moved(from: textKey("old \(number)", .userDefaults(suite: "a")))
        }
        for key in keys { try await router.set("mine", for: key) }
        // The revision of a value without LocalData's metadata is derived from the content, so equal values have equal revisions.
        try stage.writePropertyList(Dictionary(uniqueKeysWithValues: (0..<3).map { ("old \($0)", "theirs") }), suite: "a")
        try await router.sweep(TestCatalog(keys.map { .key($0) })).requireComplete()
        let kept = try await router.audit().quarantine
        #expect(Set(kept.map(\.key)) == ["old 0", "old 1", "old 2"])
        try await router.quarantine.purge(try #require(kept.first))
        #expect(try await router.audit().quarantine.count == 2)
        for entry in try await router.audit().quarantine {
            #expect(String(decoding: try await router.quarantine.data(of: entry), as: UTF8.self) == "theirs")
        }
    }
}
