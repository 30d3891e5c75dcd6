import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Release windows between values of different types, and between different stores.
///
/// A release window is the time in which two releases of a program may run on one machine. Version 1 uses the legacy
/// location of a value, so version 2 also writes a copy of its value there. The closure `down` converts that copy to
/// the older type. The closure `merge` combines a value of version 1 with the current value. A catalog is a program's
/// list of keys. A sweep migrates all of them, `audit` reports their state, and `planSweep` predicts the report of a
/// sweep.
@Suite struct WindowShapeTests {
    private struct Account: Codable, Sendable, Equatable {
        var name: String
        var visits = 0
    }

    private let machine = TestMachine()
    private let old = textKey("name", .userDefaults(suite: "old"))
    private let bare = testKey("account", .userDefaults(suite: "new"), of: Account.self)

    @Test func `with a merge closure, a change by version 1 keeps the fields that the older type does not have`() async throws {
        let key = bare.moved(
            from: old, keeping: .untilReleased, { Account(name: $0) }, down: { $0.name },
            merge: { older, newer in Account(name: older.name, visits: newer.visits) })
        let (v1, v2) = (machine.launch(), machine.launch())
        try await v1.set("Ada", for: old)
        #expect(try await v2.get(key) == Account(name: "Ada"))
        try await v2.set(Account(name: "Ada", visits: 7), for: key)
        #expect(try await v1.get(old) == "Ada")
        try await v1.set("Grace", for: old)
        #expect(try await v2.get(key) == Account(name: "Grace", visits: 7))
        #expect(try await v1.get(old) == "Grace")
        #expect(try await machine.quarantine(v2) == [])
    }

    @Test func `without a merge closure, a set of a value that the older type cannot represent throws encodingFailed`() async throws {
        let key = bare.moved(from: old, keeping: .untilReleased, { Account(name: $0) }, down: { $0.name })
        let (v1, v2) = (machine.launch(), machine.launch())
        try await v2.set(Account(name: "Ada"), for: key)
        #expect(try await v1.get(old) == "Ada")
        await expectRefusal(StorageError.encodingFailed, of: "account", saying: "merge:") {
            try await v2.set(Account(name: "Ada", visits: 7), for: key)
        }
        await expectRefusal(StorageError.encodingFailed) { try await v2.batch { $0.set(Account(name: "Ada", visits: 7), for: key) } }
        await expectRefusal(StorageError.encodingFailed) { try await v2.update(key) { $0?.visits = 7 } }
        #expect(try await v2.get(key) == Account(name: "Ada"))
        #expect(try await v1.get(old) == "Ada")
    }

    @Test func `if the down closure throws, a set fails with encodingFailed and changes nothing`() async throws {
        struct Failure: Error {}
        let key = bare.moved(
            from: old, keeping: .untilReleased, { Account(name: $0) },
            down: { account in
                if account.name.isEmpty { throw Failure() }
                return account.name
            })
        let v2 = machine.launch()
        try await v2.set(Account(name: "Ada"), for: key)
        await expectRefusal(StorageError.encodingFailed, of: "account") { try await v2.set(Account(name: ""), for: key) }
        #expect(try await v2.get(key) == Account(name: "Ada"))
    }

    @Test func `a read throws if the legacy value is undecodable, and a set replaces that value`() async throws {
        let count = testKey("name", .userDefaults(suite: "old"), of: Int.self)
        let key = testKey("count", .userDefaults(suite: "new"), of: Int.self).moved(from: count, keeping: .untilReleased)
        let v2 = machine.launch()
        try await v2.set(1, for: key)
        machine.seedUserDefaults(["name": .string("many")], suite: "old")
        await expectRefusal(StorageError.migrationFailed) { _ = try await v2.get(key) }
        #expect(await v2.sweep(TestCatalog(.key(key))).rows.map(\.state) == [.failed])
        try await v2.set(2, for: key)
        #expect(try await v2.get(key) == 2)
        #expect(try await machine.launch().get(count) == 2)
    }

    // MARK: Options and checks of windows

    @Test
    func `a window whose legacy location has weaker protection needs the option keepsWeakerCopy, and all reports list the copy`()
        async throws
    {
        let key = textKey("token", .keychain(service: "app"))
        let (v1, v2) = (machine.launch(), machine.launch(version: "2.0"))
        let unsaid = key.moved(from: old, keeping: .until(version: "3.0"))
        try await v1.set("zero", for: old)
        await expectRefusal(StorageError.weakerProtection, of: "token", saying: "keepsWeakerCopy") { try await v2.set("one", for: unsaid) }
        await expectRefusal(StorageError.weakerProtection) { _ = try await v2.get(unsaid) }
        await expectRefusal(StorageError.weakerProtection) { try await v2.remove(unsaid) }
        await expectRefusal(StorageError.weakerProtection) { try await v2.registerCatalog(TestCatalog(.key(unsaid))) }
        let said = key.moved(from: old, keeping: .until(version: "3.0"), options: MigrationOptions(keepsWeakerCopy: true))
        try await v2.set("one", for: said)
        #expect(try await v1.get(old) == "one")
        let report = try await v2.registerCatalog(TestCatalog(.key(said)), migrateImmediately: true)
        let (audit, plan) = (try await v2.audit(), await v2.planSweep())
        for kept in [report.rows.first?.keeps, audit.rows.first?.keeps, plan.rows.first?.keeps] {
            let kept = try #require(kept)
            #expect(kept.isWeaker && kept.protection == .plain && kept.until == "until version 3.0")
            #expect(kept.place.contains("name"))
        }
        #expect(audit.rows.map(\.state) == [.mirrored] && audit.rows[0].residue == [])
        #expect(audit.rows[0].olderCopies.answer == .some)
    }

    #if Keyring
        @Test(.slow("goes through real files many times"))
        func `a window whose legacy location is a keyring item without metadata needs the option comparesByContent`()
            async throws
        {
            let stage = try Stage(keyring: true)
            let service = "bare.\(UUID().uuidString)"
            let before = textKey("token", .keychain(service: service))
            let key = textKey("token", .keychain(service: stage.service))
            let launch = { stage.launch { $0.keychainStyles[service] = .pythonKeyring } }
            let (v1, v2) = (launch(), launch())
            let unsaid = key.moved(from: before, keeping: .untilReleased)
            await expectRefusal(StorageError.unsupported, of: "token", saying: "comparesByContent") { try await v2.set("one", for: unsaid) }
            let said = key.moved(from: before, keeping: .untilReleased, options: MigrationOptions(comparesByContent: true))
            try await v1.set("zero", for: before)
            #expect(try await v2.get(said) == "zero")
            try await v2.set("one", for: said)
            #expect(try await v1.get(before) == "one")
            try await v1.set("two", for: before)
            #expect(try await v2.get(said) == "two")
            #expect(try await v2.row(of: said).state == .mirrored)
            try await v2.remove(said)
            #expect(try await v1.value(for: before) == nil)
            try await v1.set("three", for: before)
            #expect(try await v2.get(said) == "three")
            try await v1.remove(before)
            #expect(try await v2.value(for: said) == nil)
            for router in [v1, v2] { try await router.shutdown() }
        }
    #endif

    @Test func `the check of a catalog reports incorrectly declared windows and windows that are over`() async throws {
        let v2 = machine.launch()
        func problems(_ keys: AnyStorageKey...) throws -> [CatalogProblem.Kind] { try v2.problems(of: TestCatalog(keys)).map(\.kind) }
        let key = textKey("new", .userDefaults(suite: "new"))
        #expect(try problems(.key(key.moved(from: old, keeping: .untilReleased))) == [])
        #expect(try problems(.key(key.moved(from: key, keeping: .untilReleased))) == [.unusableWindow])
        let middle = textKey("middle", .userDefaults(suite: "middle")).moved(from: old, keeping: .untilReleased)
        #expect(try problems(.key(key.moved(from: middle, keeping: .untilReleased))) == [.unusableWindow])
        let two = key.moved(from: old, keeping: .untilReleased).moved(
            from: textKey("b", .userDefaults(suite: "b")), keeping: .untilReleased)
        #expect(try problems(.key(two)) == [.unusableWindow])
        let shared = textKey("other", .userDefaults(suite: "new")).moved(from: old)
        #expect(try problems(.key(key.moved(from: old, keeping: .untilReleased)), .key(shared)) == [.unusableWindow])
        #expect(try problems(.key(key.moved(from: old, keeping: .until(version: "3")))) == [.unusableWindow])
        let versioned = machine.launch(version: "3.0.1")
        let over = TestCatalog(.key(key.moved(from: old, keeping: .until(version: "3"))))
        #expect(try versioned.problems(of: over).map(\.kind) == [.endedWindow])
        #expect(try machine.launch(version: "2.9").problems(of: over) == [])
    }

    @Test(arguments: [("2.9", true), ("2.10", true), ("3.0-beta", true), ("3", false), ("3.0.0", false), ("3.0.1", false), ("10", false)])
    func `a window until version 3 is open for lower versions, compared number by number, and for pre-releases of version 3`(
        _ test: (version: String, isOpen: Bool)
    ) async throws {
        let key = textKey("new", .userDefaults(suite: "new")).moved(from: old, keeping: .until(version: "3.0"))
        let problems = try machine.launch(version: test.version).problems(of: TestCatalog(.key(key)))
        #expect(problems.isEmpty == test.isOpen)
    }
}
