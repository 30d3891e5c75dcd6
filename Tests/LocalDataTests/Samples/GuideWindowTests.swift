import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// The samples of the guide `TwoReleases`, and tests of the behavior that it promises.
@Suite struct GuideWindowTests {
    private struct Account: Codable, Sendable, Equatable {
        var name: String
        var visits: Int
    }

    private let machine = TestMachine()
    private let new = StorageKeyGroup(owner: "Guide", domain: .userDefaults(suite: "new"))
    private let old = StorageKeyGroup(owner: "Guide", domain: .userDefaults(suite: "old"))

    @Test func `two releases share one value until the release window ends`() async throws {
        // Release 2 uses the new location and keeps the legacy location up to date until release 3.
        let city: StorageKey<String> = new.key("city", "The first city to show")
            .moved(from: old.key("town", "The city, in release 1"), keeping: .until(version: "3.0"))

        let town: StorageKey<String> = old.key("town", "The city")
        let (release1, release2) = (machine.launch(version: "1.4"), machine.launch(version: "2.0"))
        try await release1.set("Oslo", for: town)
        #expect(try await release2.get(city) == "Oslo")
        try await release2.set("Bergen", for: city)
        #expect(try await release1.get(town) == "Bergen")
        try await release1.set("Tromsø", for: town)
        #expect(try await release2.get(city) == "Tromsø")
        let release3 = machine.launch(version: "3.0")
        #expect(await release3.sweep(TestCatalog(.key(city))).rows.map(\.state) == [.purged])
        #expect(try await release3.get(city) == "Tromsø")
        #expect(try await release1.value(for: town) == nil)
    }

    @Test func `two releases share the records of one collection`() async throws {
        let oldNotes = Note.collection("old notes", .userDefaults(suite: "old"))
        // Both releases read, add, change and remove notes. The release window ends for all notes at once.
        let notes = StorageCollection<Note>(
            "notes", domain: .encryptedSQLite(database: "main"), owner: "Guide", description: "What was noted"
        )
        .moved(from: oldNotes, keeping: .for(days: 60), options: MigrationOptions(keepsWeakerCopy: true))

        let (release1, release2) = (machine.launch(), machine.launch())
        try await release1.set(Note(id: "a", text: "of release 1"), in: oldNotes)
        try await release2.set(Note(id: "b", text: "of release 2"), in: notes)
        #expect(try await release1.count(in: oldNotes) == 2)
        try await release1.remove("b", in: oldNotes)
        #expect(try await release2.count(in: notes) == 1)
        try await release2.endReleaseWindow(in: notes)
        #expect(try await release1.count(in: oldNotes) == 0)
        #expect(try await release2.value("a", in: notes)?.text == "of release 1")
    }

    @Test func `a value of an older type is merged with the new value`() async throws {
        // Release 1 stores only the name. A name that it writes keeps the visits that release 2 counted.
        let account: StorageKey<Account> = new.key("account", "Who uses the program, and how often")
            .moved(
                from: old.key("user", "The name, in release 1"), keeping: .for(days: 60),
                { (name: String) in Account(name: name, visits: 0) }, down: { $0.name },
                merge: { older, newer in Account(name: older.name, visits: newer.visits) })

        let user: StorageKey<String> = old.key("user", "The name")
        let (release1, release2) = (machine.launch(), machine.launch())
        try await release2.set(Account(name: "Ada", visits: 7), for: account)
        try await release1.set("Grace", for: user)
        #expect(try await release2.get(account) == Account(name: "Grace", visits: 7))
    }

    @Test func `a copy with weaker protection needs an explicit option, and every report lists the copy`() async throws {
        // Release 1 stored the token as plaintext. Release 2 keeps that copy up to date while release 1 may run again.
        let token: StorageKey<String> = StorageKeyGroup(owner: "Guide", domain: .keychain).key("token", "Opens the service")
            .moved(
                from: old.key("token", "The token, in release 1"), keeping: .untilReleased, options: MigrationOptions(keepsWeakerCopy: true)
            )

        let storage = machine.launch()
        try await storage.set("abc", for: token)
        let report = try await storage.registerCatalog(TestCatalog(.key(token)), migrateImmediately: true)
        var warnings: [String] = []
        func warn(_ text: String) { warnings.append(text) }
        for case let kept? in report.rows.map(\.keeps) where kept.isWeaker {
            warn("A weaker copy is kept in \(kept.place), \(kept.until).")
        }
        // No installation will go back to release 1.
        try await storage.endReleaseWindow(for: token)

        #expect(warnings == ["A weaker copy is kept in userDefaults(old)/token, until it is released."])
        #expect(try await storage.get(token) == "abc")
        #expect(try await machine.launch().value(for: old.key("token", "The token") as StorageKey<String>) == nil)
    }
}
