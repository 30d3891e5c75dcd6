import BackendContract
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Changes of a key over a value in a legacy location that no migration has moved yet.
///
/// A legacy location is a slot where an earlier version of the program kept the value. The change replaces the value
/// there, so a later sweep, which migrates the values of all keys, must not undo the change. Only a value that is
/// written to the legacy location after the change is a conflict, to which the key's conflict policy applies.
@Suite(.inTurn) struct ReplacedSourceTests {
    enum Change: CaseIterable, Sendable { case set, setAfterRead, update, batch, remove }

    enum Writer: CaseIterable, Sendable { case localData, otherProgram }

    /// The protection of the legacy location, compared with that of the destination.
    enum Protection: CaseIterable, Sendable { case equal, better }

    struct Case: Sendable, CustomTestStringConvertible {
        let change: Change
        let writer: Writer
        let protection: Protection
        let policy: String

        var testDescription: String { "\(change) over a value of \(writer), \(protection) protection, \(policy)" }

        var conflicts: ConflictPolicy<String> {
            switch policy {
            case "sourceWins": .sourceWins
            case "merge": .merge { mine, theirs in "\(mine ?? "-")|\(theirs)" }
            default: .destinationWins
            }
        }

        static let all = Change.allCases.flatMap { change in
            Writer.allCases.flatMap { writer in
                Protection.allCases.flatMap { protection in
                    ["destinationWins", "sourceWins", "merge"].map {
                        Case(change: change, writer: writer, protection: protection, policy: $0)
                    }
                }
            }
        }
    }

    private let machine = TestMachine()
    private let suite = StorageDomain.userDefaults(suite: "a")
    private let keyring = StorageDomain.keychain(service: "s")

    private func source(_ protection: Protection) -> StorageKey<String> { textKey("old", protection == .equal ? suite : keyring) }

    private func key(_ source: StorageKey<String>, _ policy: ConflictPolicy<String>) -> StorageKey<String> {
        textKey("new", .userDefaults(suite: "b")).moved(from: source, options: MigrationOptions(allowsWeakerProtection: true))
            .resolvingConflicts(policy)
    }

    private func write(_ text: String, to source: StorageKey<String>, by writer: Writer) async throws {
        switch writer {
        case .localData: try await machine.launch().set(text, for: source)
        case .otherProgram: machine.writeForeign(.string(text), to: source.domain, name: source.name)
        }
    }

    private func sweep(_ key: StorageKey<String>, times: Int = 3) async throws {
        for _ in 0..<times { try await machine.launch().sweep(TestCatalog(.key(key))).requireComplete() }
    }

    private func quarantine() async throws -> [String] { try await machine.quarantine(machine.launch()) }

    private func make(_ change: Change, _ key: StorageKey<String>) async throws -> String? {
        let router = machine.launch()
        switch change {
        case .set: try await router.set("NEW", for: key)
        case .setAfterRead:
            #expect(try await router.get(key) == "old")
            try await router.set("NEW", for: key)
        case .update: try await router.update(key, default: "") { $0 = "NEW" }
        case .batch: try await router.batch { $0.set("NEW", for: key) }
        case .remove:
            try await router.remove(key)
            return nil
        }
        return "NEW"
    }

    @Test(arguments: Case.all)
    func `no sweep undoes a change over a value in the legacy location, and no policy applies`(_ test: Case) async throws {
        let source = source(test.protection)
        let key = key(source, test.conflicts)
        try await write("old", to: source, by: test.writer)
        let changed = try await make(test.change, key)
        #expect(try await machine.launch().value(for: key) == changed)
        try await sweep(key)
        #expect(try await machine.launch().value(for: key) == changed)
        #expect(try await machine.launch().value(for: source) == nil)
    }

    /// The record that the release replaces names the copy in the legacy location. The new record must name it too.
    @Test(arguments: Case.all.filter { [.set, .update, .batch].contains($0.change) })
    func `no sweep undoes a later change by a release that does not declare the migration`(_ test: Case) async throws {
        let source = source(test.protection)
        let key = key(source, test.conflicts)
        try await write("old", to: source, by: test.writer)
        try await machine.launch().set("first", for: key)
        let changed = try await make(test.change, textKey(key.name, key.domain))
        try await sweep(key)
        #expect(try await machine.launch().value(for: key) == changed)
        #expect(try await machine.launch().value(for: source) == nil)
    }

    @Test(arguments: Case.all.filter { $0.change != .remove })
    func `a value that is written to the swept legacy location is a conflict, to which the policy applies`(_ test: Case) async throws {
        let source = source(test.protection)
        let key = key(source, test.conflicts)
        try await write("old", to: source, by: test.writer)
        _ = try await make(test.change, key)
        try await sweep(key)
        try await write("later", to: source, by: test.writer)
        try await sweep(key)
        let expected = ["destinationWins": "NEW", "sourceWins": "later", "merge": "NEW|later"][test.policy]
        #expect(try await machine.launch().value(for: key) == expected)
        #expect(try await machine.launch().value(for: source) == nil)
    }

    @Test(arguments: Case.all.filter { $0.writer == .localData })
    func `a value that LocalData writes to the legacy location after the change is a conflict, to which the policy applies`(
        _ test: Case
    ) async throws {
        let source = source(test.protection)
        let key = key(source, test.conflicts)
        try await write("old", to: source, by: .localData)
        let changed = try await make(test.change, key)
        try await write("later", to: source, by: .localData)
        try await sweep(key)
        let expected = ["destinationWins": changed, "sourceWins": "later", "merge": "\(changed ?? "-")|later"][test.policy]
        #expect(try await machine.launch().value(for: key) == expected)
        #expect(try await machine.launch().value(for: source) == nil)
    }

    @Test(arguments: ["sourceWins", "merge"])
    func `a value of another program that may be the replaced one is quarantined, and no weaker store has its fingerprint`(
        policy: String
    ) async throws {
        let test = Case(change: .set, writer: .otherProgram, protection: .better, policy: policy)
        let key = key(source(.better), test.conflicts)
        machine.writeForeign(.string("0000"), to: keyring, name: "old")
        try await machine.launch().set("NEW", for: key)
        let backend = try #require(machine.backends(of: .userDefaults(suite: "b")).first)
        let record = try #require(try await backend.read(StorageAddress("new")).record)
        let origin = String(decoding: try #require(record.metadata.origin), as: UTF8.self)
        #expect(origin.contains("\"copies\":{}") && origin.contains("\"unnamed\":["))
        // The other program writes again before a sweep. The value may be the replaced one, so it does not win.
        machine.writeForeign(.string("1111"), to: keyring, name: "old")
        try await sweep(key)
        #expect(try await machine.launch().value(for: key) == "NEW")
        #expect(try await quarantine() == ["1111"])
    }

    @Test(arguments: Writer.allCases, [Change.set, .update, .batch, .remove])
    func `with merge, a sweep does not merge a value that could not be read when the key was changed`(
        writer: Writer, change: Change
    ) async throws {
        let source = source(.better)
        let key = textKey("new", .keychain(service: "t")).moved(from: source)
            .resolvingConflicts(.merge { mine, theirs in "\(mine ?? "-")|\(theirs)" })
        try await machine.launch().set("first", for: textKey("new", .keychain(service: "t")))
        try await write("old", to: source, by: writer)
        machine.lock(keyring)
        do { _ = try await make(change, key) } catch let error as StorageError {
            #expect(change == .remove && error.code == StorageError.residueRemains)
        }
        machine.unlock(keyring)
        try await sweep(key)
        #expect(try await machine.launch().value(for: key) == (change == .remove ? nil : "NEW"))
        #expect(try await quarantine() == ["old"])
        #expect(try await machine.launch().value(for: source) == nil)
        try await write("later", to: source, by: writer)
        try await sweep(key)
        if change != .remove { #expect(try await machine.launch().value(for: key) == "NEW|later") }
    }

    @Test(arguments: Writer.allCases)
    func `with merge, a value that could not be read at the second removal does not come back`(writer: Writer) async throws {
        let source = source(.better)
        let key = textKey("new", .keychain(service: "t")).moved(from: source)
            .resolvingConflicts(.merge { mine, theirs in "\(mine ?? "-")|\(theirs)" })
        try await machine.launch().set("first", for: key)
        try await machine.launch().remove(key)
        try await write("old", to: source, by: writer)
        machine.lock(keyring)
        await expectRefusal(.residueRemains) { try await machine.launch().remove(key) }
        machine.unlock(keyring)
        try await sweep(key)
        #expect(try await machine.launch().value(for: key) == nil)
        #expect(try await quarantine() == ["old"])
        #expect(try await machine.launch().value(for: source) == nil)
    }

    @Test(arguments: Writer.allCases)
    func `a merged value replaces its source, so a sweep that could not delete the source does not merge it again`(
        writer: Writer
    ) async throws {
        let source = source(.better)
        let key = key(source, .merge { mine, theirs in "\(mine ?? "-")|\(theirs)" })
        try await machine.launch().set("mine", for: key)
        try await write("theirs", to: source, by: writer)
        let router = machine.launch()
        _ = await router.status(of: keyring)
        for backend in machine.backends(of: keyring) { backend.inject(.unavailable, of: .apply, repeats: true) }
        _ = await router.sweep(TestCatalog(.key(key)))
        for backend in machine.backends(of: keyring) { backend.removeFaults() }
        #expect(try await machine.launch().value(for: key) == "mine|theirs")
        try await sweep(key)
        #expect(try await machine.launch().value(for: key) == "mine|theirs")
        #expect(try await machine.launch().value(for: source) == nil)
    }

    @Test(arguments: Writer.allCases, ["sourceWins", "merge"])
    func `no sweep undoes a change over a value in the legacy location of the legacy location`(
        writer: Writer, policy: String
    ) async throws {
        let oldest = textKey("oldest", keyring)
        let options = MigrationOptions(allowsWeakerProtection: true)
        let policy = Case(change: .set, writer: writer, protection: .better, policy: policy).conflicts
        let between = textKey("between", suite).moved(from: oldest, options: options).resolvingConflicts(policy)
        let key = textKey("new", .userDefaults(suite: "b")).moved(from: between, options: options).resolvingConflicts(policy)
        try await write("old", to: oldest, by: writer)
        try await machine.launch().set("NEW", for: key)
        // The earlier version of the program runs once more, and moves the replaced value to its own location.
        #expect(try await machine.launch().get(between) == "old")
        try await sweep(key)
        #expect(try await machine.launch().value(for: key) == "NEW")
        for place in [between, oldest] { #expect(try await machine.launch().value(for: textKey(place.name, place.domain)) == nil) }
    }
}
