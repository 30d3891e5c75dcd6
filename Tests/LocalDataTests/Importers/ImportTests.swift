import BackendContract
import Foundation
import LocalData
import LocalDataBackup
import TestSupport
import Testing

@testable import LocalDataImporters

/// Values of files that are only read, as legacy locations of keys.
@Suite(.inTurn) struct ImportTests {
    private static let mac = StorageDomain.imported("mac")
    private static let place = StorageDomain.userDefaults(suite: "new")

    private let stage: Stage

    init() throws { stage = try Stage() }

    private static func old<Value>(_ name: String, of type: Value.Type = String.self) -> StorageKey<Value> {
        testKey(name, mac, of: type)
    }

    private static func moved<Value>(_ name: String, of type: Value.Type = String.self) -> StorageKey<Value> {
        testKey(name, place, of: type).moved(from: old(name, of: type))
    }

    private func launch(_ source: ImportSource) -> StorageRouter { stage.launch { $0.useImport(source, named: "mac") } }

    private func launch(_ name: String) -> StorageRouter { launch(.propertyList(at: ImportFixture.file(name))) }

    /// Writes a property list that the test may change, and returns its location.
    private func list(_ entries: [String: Any]) throws -> URL {
        let file = URL(filePath: stage.directory.file("mac.plist"))
        try PropertyListSerialization.data(fromPropertyList: entries, format: .binary, options: 0).write(to: file)
        return file
    }

    // MARK: Moving

    @Test(arguments: ["defaults.plist", "defaults-xml.plist"])
    func `every type of a property list is imported`(_ name: String) async throws {
        let router = launch(name)
        #expect(try await router.get(Self.moved("text")) == ImportFixture.secret)
        #expect(try await router.get(Self.moved("unicode")) == "Grüße 😀")
        #expect(try await router.get(Self.moved("integer", of: Int.self)) == 42)
        #expect(try await router.get(Self.moved("negative", of: Int.self)) == -7)
        #expect(try await router.get(Self.moved("unsigned", of: UInt64.self)) == 1 << 63 + 5)
        #expect(try await router.get(Self.moved("real", of: Double.self)) == 1.25)
        #expect(try await router.get(Self.moved("yes", of: Bool.self)))
        #expect(try await !router.get(Self.moved("no", of: Bool.self)))
        #expect(try await router.get(Self.moved("date", of: Date.self)) == Date(timeIntervalSinceReferenceDate: 1_000))
        #expect(try await router.get(Self.moved("data", of: Data.self)) == Data([0, 1, 254]))
        #expect(try await router.get(Self.moved("list", of: DocumentValue.self)) == ["a", 1, false])
        #expect(try await router.get(Self.moved("dictionary", of: DocumentValue.self)) == ["a": 1, "b": ["c": "d"]])
        #expect(try await router.names(of: Self.mac) == ["NSWindow Frame main"])
    }

    @Test func `an import leaves the file unchanged, and a second router finds the value at its destination`() async throws {
        let file = try list(["city": "Bern"])
        let before = try Data(contentsOf: file)
        #expect(try await launch(.propertyList(at: file)).get(Self.moved("city")) == "Bern")
        #expect(try Data(contentsOf: file) == before)
        try FileManager.default.removeItem(at: file)
        #expect(try await launch(.propertyList(at: file)).get(Self.moved("city")) == "Bern")
    }

    @Test func `a sweep imports all keys and leaves no residue`() async throws {
        let file = try list(["city": "Bern", "units": "metric"])
        let catalog = TestCatalog(.key(Self.moved("city")), .key(Self.moved("units")))
        let router = launch(.propertyList(at: file))
        try await router.registerCatalog(catalog)
        #expect(await router.planSweep().rows.map(\.state) == [.moved, .moved])
        #expect(try await router.names(of: Self.mac).sorted() == ["city", "units"])
        let report = try await router.registerCatalog(catalog, migrateImmediately: true)
        try report.requireComplete()
        #expect(report.rows.map(\.state) == [.moved, .moved])
        #expect(await router.sweep(catalog).rows.allSatisfy { $0.state == .unchanged && $0.residue.isEmpty })
        #expect(try await router.audit().recordedResidue.isEmpty)
        #expect(try await router.audit().quarantine.isEmpty)
    }

    @Test func `two keys that import one value both receive it`() async throws {
        let file = try list(["city": "Bern"])
        let other = textKey("other", Self.place).moved(from: Self.old("city"))
        let router = launch(.propertyList(at: file))
        let report = try await router.registerCatalog(TestCatalog(.key(Self.moved("city")), .key(other)), migrateImmediately: true)
        #expect(report.rows.map(\.state) == [.moved, .moved])
        #expect(try await router.get(Self.moved("city")) == "Bern")
        #expect(try await router.get(other) == "Bern")
    }

    @Test func `a value that was set before the import stays, and the other value is in the quarantine once`() async throws {
        let file = try list(["city": "Bern"])
        let router = launch(.propertyList(at: file))
        try await router.set("Zug", for: textKey("city", Self.place))
        for _ in 0..<2 {
            _ = await router.sweep(TestCatalog(.key(Self.moved("city"))))
            #expect(try await router.get(Self.moved("city")) == "Zug")
            #expect(try await router.audit().quarantine.count == 1)
        }
    }

    @Test func `archived data in a property list is converted, and an archive is a source of values`() async throws {
        struct Profile: Codable, Equatable {
            var age: Int
            var born: Date
            var tags: [String]
        }
        let expected = Profile(age: 42, born: Date(timeIntervalSinceReferenceDate: 1_000), tags: ["red", "blue"])
        let archived = testKey("profile", Self.place, of: Profile.self)
            .moved(from: Self.old("profile", of: Data.self)) { (archive: Data) in try KeyedArchive(archive).decode() }
        #expect(try await launch("defaults-with-archive.plist").get(archived) == expected)
        let root = testKey("fromFile", Self.place, of: Profile.self).moved(from: Self.old("root", of: Profile.self))
        #expect(try await launch(.keyedArchive(at: ImportFixture.file("profile.archive"))).get(root) == expected)
    }

    // MARK: Removed values

    @Test func `a removed value does not return, even if the file changes`() async throws {
        let file = try list(["city": "Bern"])
        let router = launch(.propertyList(at: file))
        #expect(try await router.get(Self.moved("city")) == "Bern")
        try await router.remove(Self.moved("city"))
        _ = try list(["city": "Basel"])
        for router in [router, launch(.propertyList(at: file))] {
            #expect(try await router.value(for: Self.moved("city")) == nil)
            #expect(try await router.value(for: Self.old("city")) == nil)
            _ = await router.sweep(TestCatalog(.key(Self.moved("city"))))
            #expect(try await router.value(for: Self.moved("city")) == nil)
            #expect(try await router.audit().quarantine.isEmpty)
        }
    }

    @Test func `a value that was removed before the import does not return`() async throws {
        let file = try list(["city": "Bern"])
        let router = launch(.propertyList(at: file))
        try await router.remove(Self.moved("city"))
        #expect(try await router.value(for: Self.moved("city")) == nil)
        #expect(try await launch(.propertyList(at: file)).value(for: Self.moved("city")) == nil)
    }

    @Test func `a forgotten value is not imported again`() async throws {
        let file = try list(["city": "Bern"])
        let router = launch(.propertyList(at: file))
        try await router.registerCatalog(TestCatalog(.key(Self.moved("city"))), migrateImmediately: true)
        #expect(try await router.get(Self.moved("city")) == "Bern")
        try await router.forgetEverything()
        #expect(try await launch(.propertyList(at: file)).value(for: Self.moved("city")) == nil)
    }

    @Test func `an import with another name reads the file again`() async throws {
        let file = try list(["city": "Bern"])
        let router = stage.launch {
            $0.useImport(.propertyList(at: file), named: "mac")
            $0.useImport(.propertyList(at: file), named: "second")
        }
        try await router.remove(Self.old("city"))
        #expect(try await router.value(for: Self.old("city")) == nil)
        #expect(try await router.get(textKey("city", .imported("second"))) == "Bern")
    }

    @Test func `names whose bytes differ are different names`() async throws {
        // Both texts are "é": one character, and a letter with a combining accent.
        let (composed, decomposed) = ("\u{E9}", "e\u{301}")
        let file = try list([composed: "Bern"])
        let router = launch(.propertyList(at: file))
        #expect(try await router.value(for: Self.old(decomposed)) == nil)
        #expect(try await router.get(Self.old(composed)) == "Bern")
        try await router.remove(Self.old(decomposed))
        #expect(try await router.names(of: Self.mac) == [composed])
        let store = try router.store(of: Self.mac, as: ImportedStore.self, otherwise: "It is no import.")
        let probes = try await store.read([StorageAddress(decomposed), StorageAddress(composed)], .fresh)
        #expect(probes[0] == .absent)
        #expect(probes[1].record?.payload == .native(.string("Bern")))
        try await router.remove(Self.old(composed))
        #expect(try await router.value(for: Self.old(composed)) == nil)
        #expect(try await router.value(for: Self.old(decomposed)) == nil)
    }

    #if SQLite
        // MARK: Backups

        /// Returns a router in a folder of the stage of a backup.
        private func launch(_ source: ImportSource, _ kit: BackupStage, _ root: String) -> StorageRouter {
            var configuration = kit.configuration(root)
            configuration.useImport(source, named: "mac")
            return StorageRouter(configuration: configuration)
        }

        @Test func `a value that was removed after its import does not return after a restore in another folder`() async throws {
            let (kit, file) = (try BackupStage(), try list(["city": "Bern"]))
            let router = launch(.propertyList(at: file), kit, "root")
            try await router.set("v", for: kit.plain)
            #expect(try await router.get(Self.moved("city")) == "Bern")
            try await router.remove(Self.moved("city"))
            let made = try await router.backup(to: kit.kit, openedBy: [kit.secret])
            #expect(made.stores.map(\.name).contains("imports"))
            try await router.shutdown()
            try await kit.restore(into: "other")
            // The record of the removal names the old value, so only the record of the import stops another one.
            _ = try list(["city": "Basel"])
            let other = launch(.propertyList(at: file), kit, "other")
            #expect(try await other.get(kit.plain) == "v")
            #expect(try await other.value(for: Self.old("city")) == nil)
            #expect(try await other.value(for: Self.moved("city")) == nil)
            try await other.shutdown()
        }

        @Test func `a value that was imported after a backup is imported again after its restore`() async throws {
            let (kit, file) = (try BackupStage(), try list(["city": "Bern"]))
            let city = textKey("city", .userDefaults).moved(from: Self.old("city"))
            let before = launch(.propertyList(at: file), kit, "root")
            try await before.set("v", for: kit.plain)
            let made = try await before.backup(to: kit.kit, openedBy: [kit.secret])
            #expect(!made.stores.map(\.name).contains("imports"))
            #expect(try await before.get(city) == "Bern")
            try await before.shutdown()
            let report = try await kit.restore(into: "root", replacing: ["userDefaults(standard)", "ledger"])
            #expect(report.restored.contains("userDefaults(standard)"))
            let after = launch(.propertyList(at: file), kit, "root")
            #expect(try await after.get(city) == "Bern")
            try await after.shutdown()
        }
    #endif

    // MARK: The record

    @Test func `the record of an import contains the name, and nothing of the value`() async throws {
        /// Imports a value, and returns what LocalData records for its name.
        func record(_ value: String, _ stage: Stage) async throws -> [String: Any] {
            let file = try list(["city": value])
            try await stage.launch { $0.useImport(.propertyList(at: file), named: "mac") }.remove(Self.old("city"))
            let bytes = try Data(contentsOf: stage.root.appending(path: "data/imports.plist"))
            let whole = try PropertyListSerialization.propertyList(from: bytes, format: nil) as? [String: Any]
            let namespaces = (whole?["LocalData.metadata"] as? [String: Any])?["namespaces"] as? [String: Any]
            return try #require((namespaces?["mac"] as? [String: Any])?["city"] as? [String: Any])
        }
        let (one, two) = (try await record(ImportFixture.secret, stage), try await record("Bern", try Stage()))
        #expect(one["value"] as? Bool == true)
        var (first, second) = (try #require(one["metadata"] as? [String: Any]), try #require(two["metadata"] as? [String: Any]))
        // Each mark has a random revision.
        #expect(first.removeValue(forKey: "revision") != nil && second.removeValue(forKey: "revision") != nil)
        #expect(NSDictionary(dictionary: first) == NSDictionary(dictionary: second))
    }

    // MARK: Refusals

    @Test func `a set in the domain of an import is refused`() async throws {
        let router = launch("defaults.plist")
        await expectRefusal(StorageError.unsupported, of: "text", hiding: [ImportFixture.secret]) {
            try await router.set("x", for: Self.old("text"))
        }
        #expect(try await router.get(Self.old("text")) == ImportFixture.secret)
    }

    @Test func `an import without a source is unavailable, and a file that does not exist has no values`() async throws {
        await expectRefusal(StorageError.unavailable, of: "city") { _ = try await stage.launch().value(for: Self.old("city")) }
        let missing = launch(.propertyList(at: URL(filePath: stage.directory.file("missing.plist"))))
        #expect(try await missing.value(for: Self.moved("city")) == nil)
        #expect("\(await missing.status(of: Self.mac))" == "absent")
    }

    @Test(arguments: ImportFixture.damagedLists)
    func `a damaged file is an error of the read, and nothing is written`(_ name: String) async throws {
        let router = launch(name)
        await expectRefusal(StorageError.corrupted, hiding: [ImportFixture.secret]) { _ = try await router.get(Self.moved("text")) }
        await expectRefusal(StorageError.corrupted, hiding: [ImportFixture.secret]) { _ = try await router.names(of: Self.mac) }
        #expect(await router.status(of: Self.mac).error?.code == StorageError.corrupted)
        #expect(try stage.propertyList(suite: "new").isEmpty)
    }

    @Test(arguments: ImportFixture.unsupportedLists)
    func `a file with a value that no store can hold is refused as a whole`(_ name: String) async throws {
        let router = launch(name)
        await expectRefusal(StorageError.unsupported) { _ = try await router.get(Self.moved("a")) }
    }

    @Test(arguments: ImportFixture.damagedArchives + ImportFixture.unsupportedArchives + ["null-in-list.archive"])
    func `an archive that cannot be read is an error of the read`(_ name: String) async throws {
        let router = launch(.keyedArchive(at: ImportFixture.file(name)))
        await expectRefusal(StorageError.corrupted, StorageError.unsupported, hiding: [ImportFixture.secret]) {
            _ = try await router.get(Self.moved("root"))
        }
    }

    @Test func `a value of another type is an error, and the import is not recorded`() async throws {
        let file = try list(["city": 7])
        let router = launch(.propertyList(at: file))
        await expectRefusal(StorageError.migrationFailed) { _ = try await router.get(Self.moved("city")) }
        #expect(try await router.get(Self.old("city", of: Int.self)) == 7)
    }

    @Test func `a damaged record of imports is an error, not an import`() async throws {
        let file = try list(["city": "Bern"])
        try await launch(.propertyList(at: file)).remove(Self.old("city"))
        try writeFile("no property list", to: stage.root.path + "/data/imports.plist")
        let router = launch(.propertyList(at: file))
        await expectRefusal(StorageError.corrupted, StorageError.unavailable) { _ = try await router.get(Self.moved("city")) }
    }
}
