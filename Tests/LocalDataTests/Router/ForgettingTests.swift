import BackendContract
import BackendRuntime
import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Forgetting domains, and everything.
struct ForgettingTests {
    private static let legacy = StorageDomain.userDefaults(suite: "old")
    private static let secret = "the-secret-of-kari"

    private struct SampleNote: Codable, Identifiable, Sendable { var id, text: String }

    private static func key(_ name: String, _ domain: StorageDomain) -> StorageKey<String> { textKey(name, domain) }

    private static func moved(to domain: StorageDomain) -> StorageKey<String> {
        key("token", domain).moved(from: key("oldToken", legacy))
    }

    #if SQLite
        private static let database = StorageDomain.encryptedSQLite(database: "main")

        @Test func `a forgotten database leaves no trace of its values, and other domains stay`() async throws {
            let stage = try Stage()
            let storage = stage.launch()
            try await storage.set(Self.secret, for: Self.key("a", Self.database))
            try await storage.set("stays", for: Self.key("b", .userDefaults(suite: "kept")))
            let path = stage.root.appendingPathComponent("data/databases/main.sqlite").path
            try #require(FileManager.default.fileExists(atPath: path))
            try await storage.forget(Self.database)
            #expect(!FileManager.default.fileExists(atPath: path))
            #expect(try await storage.value(for: Self.key("a", Self.database)) == nil)
            #expect(try await storage.value(for: Self.key("b", .userDefaults(suite: "kept"))) == "stays")
            try await storage.set("new", for: Self.key("a", Self.database))
            #expect(try await stage.launch().value(for: Self.key("a", Self.database)) == "new")
        }

        @Test func `another program that has used a database goes on right after it was forgotten`() async throws {
            let stage = try Stage()
            let (one, two) = (stage.launch(), stage.launch())
            let notes = StorageCollection<SampleNote>("notes", domain: Self.database)
            let (a, b) = (Self.key("a", Self.database), Self.key("b", Self.database))
            for _ in 0..<20 {
                try await one.set(Self.secret, for: a)
                try await one.set([SampleNote(id: "n", text: "old")], in: notes)
                #expect(try await two.count(in: notes) == 1)
                #expect(try await two.value(for: a) == Self.secret)
                try await one.forget(Self.database)
                #expect(try await two.value(for: a) == nil)
                try await two.set([SampleNote(id: "n", text: "new")], in: notes)
                try await two.set("new", for: b)
                #expect(try await one.value(for: b) == "new")
                #expect(try await one.value("n", in: notes)?.text == "new")
                try await two.forget(Self.database)
            }
        }

        @Test(arguments: [database, .userDefaults(suite: "list")])
        func `copies that restores and killed processes left beside a store are destroyed with it`(_ domain: StorageDomain) async throws {
            let stage = try Stage()
            let storage = stage.launch()
            try await storage.set(Self.secret, for: Self.key("a", domain))
            let (kept, other) = (Self.key("a", .userDefaults(suite: "listing")), Self.key("b", .userDefaults(suite: "other")))
            try await storage.set("stays", for: kept)
            try await storage.set("stays", for: other)
            let all = try FileManager.default.subpathsOfDirectory(atPath: stage.root.path)
            let ending = domain == Self.database ? "/main.sqlite" : "list.plist"
            let store = try #require(all.first { $0.hasSuffix(ending) })
            let path = stage.root.appendingPathComponent(store)
            let (folder, name) = (path.deletingLastPathComponent(), path.lastPathComponent)
            let id = "0123456789abcdef"
            let copies = [
                "\(name).replaced-\(id)", "\(name).replaced-\(id)-wal", ".\(name).localdata-\(id).tmp",
                ".\(name).localdata-\(id).tmp-journal", ".\(name).copy-\(id).tmp", ".\(name).restore-\(id)",
            ]
            let others = [
                "\(name).replaced-0123", "\(name).replaced-\(id).txt", "x\(name).replaced-\(id)", ".\(name).localdata-\(id)",
                ".\(name)x.localdata-\(id).tmp", "\(name).backup-\(id)",
            ]
            for file in copies + others { try Data(Self.secret.utf8).write(to: folder.appendingPathComponent(file)) }
            // A second name keeps the bytes of a file after its removal.
            try FileManager.default.linkItem(at: folder.appendingPathComponent(copies[0]), to: stage.root.appendingPathComponent("linked"))
            try await storage.forget(domain)
            let left = try Set(FileManager.default.contentsOfDirectory(atPath: folder.path))
            #expect(left.isDisjoint(with: copies))
            #expect(left.isSuperset(of: others))
            #expect(try Data(contentsOf: stage.root.appendingPathComponent("linked")).allSatisfy { $0 == 0 })
            #expect(try await storage.value(for: kept) == "stays")
            #expect(try await storage.value(for: other) == "stays")
        }

        @Test func `the bytes of a forgotten database are overwritten before the file is removed`() async throws {
            let stage = try Stage()
            let storage = stage.launch()
            try await storage.set(Self.secret, for: Self.key("a", Self.database))
            let path = stage.root.appendingPathComponent("data/databases/main.sqlite")
            // A second name keeps the file after its removal.
            let kept = stage.root.appendingPathComponent("kept")
            try FileManager.default.linkItem(at: path, to: kept)
            try await storage.forget(Self.database)
            #expect(try Data(contentsOf: kept).allSatisfy { $0 == 0 })
        }

        @Test func `a value that was migrated does not return from its legacy location`() async throws {
            let stage = try Stage()
            try stage.writePropertyList(["oldToken": Self.secret], suite: "old")
            let storage = stage.launch()
            try await storage.registerCatalog(TestCatalog(.key(Self.moved(to: Self.database))))
            try await storage.forget(Self.database)
            #expect(try await storage.value(for: Self.moved(to: Self.database)) == nil)
            #expect(try await stage.launch().value(for: Self.moved(to: Self.database)) == nil)
            #expect(try stage.traces(of: Self.secret) == [])
        }

        @Test func `forgetting everything leaves no file with a value or a key`() async throws {
            let stage = try Stage()
            let storage = stage.launch()
            try await storage.set(Self.secret, for: Self.key("a", Self.database))
            try await storage.set(Self.secret, for: Self.key("b", .userDefaults(suite: "list")))
            try await storage.set(Self.secret, for: textKey("c", .userDefaults(suite: "list"), .encrypted))
            try await storage.forgetEverything()
            #expect(try stage.traces(of: Self.secret) == [])
            let left = try FileManager.default.subpathsOfDirectory(atPath: stage.root.path).filter {
                var isDirectory: ObjCBool = false
                _ = FileManager.default.fileExists(atPath: "\(stage.root.path)/\($0)", isDirectory: &isDirectory)
                return !isDirectory.boolValue && !$0.contains("locks/")
            }
            #expect(left == [])
            #expect(try await storage.value(for: Self.key("a", Self.database)) == nil)
            try await storage.set("new", for: Self.key("a", Self.database))
            #expect(try await storage.value(for: Self.key("a", Self.database)) == "new")
        }

        /// Every fifth operation. The search `faults` tries every one (`forget a domain`).
        @Test func `a call that was killed at a file operation is completed by the next program`() async throws {
            for number in stride(from: 1, through: .max, by: 5) {
                let stage = try Stage()
                try stage.writePropertyList(["oldToken": Self.secret], suite: "old")
                let catalog = TestCatalog(.key(Self.moved(to: Self.database)), .key(Self.key("other", Self.database)))
                let before = stage.launch()
                try await before.registerCatalog(catalog, migrateImmediately: true)
                try await before.set(Self.secret, for: Self.key("other", Self.database))
                try await before.shutdown()

                let files = HookedFiles()
                let killed = stage.launch { $0.runtime.files = files }
                try await killed.registerCatalog(catalog)
                files.arm(.stops, at: number)
                var isKilled = false
                do { try await killed.forget(Self.database) } catch { isKilled = true }
                let wasMarked = FileManager.default.fileExists(atPath: stage.root.appendingPathComponent("data/forget.json").path)

                let next = stage.launch()
                let other = try await next.value(for: Self.key("other", Self.database))
                // Without the mark, the call had either not begun to destroy the store, or just completed that.
                #expect(other == nil || (!wasMarked && isKilled && other == Self.secret), "killed at operation \(number)")
                if other == nil { #expect(try await next.value(for: Self.moved(to: Self.database)) == nil) }
                #expect(!FileManager.default.fileExists(atPath: stage.root.appendingPathComponent("data/forget.json").path))
                try await next.shutdown()
                if !isKilled { break }
            }
        }

        @Test func `a database with a freshness anchor is refused, and nothing is changed`() async throws {
            let stage = try Stage()
            let storage = stage.launch { $0.freshnessAnchors["main"] = .file("anchor") }
            await expectRefusal(.unsupported, saying: "anchor") { try await storage.forget(Self.database) }
        }
    #endif

    private static let modern = StorageDomain.userDefaults(suite: "new")
    private static let note = Note(id: "a", text: secret)

    @Test func `records of a collection do not return from the older collection, whether they were moved or not`() async throws {
        for isMoved in [false, true] {
            let stage = try Stage()
            let storage = stage.launch()
            let older = Note.collection("older", Self.legacy)
            let notes = Note.collection("notes", Self.modern).moved(from: older)
            try await storage.set(Self.note, in: older)
            try await storage.registerCatalog(TestCatalog(.collection(notes)))
            if isMoved {
                #expect(try await storage.everything(in: notes).records == [Self.note])
                // A program of an earlier release writes again.
                try await stage.launch().set(Note(id: "b", text: Self.secret), in: older)
            }
            try await storage.forget(Self.modern)
            #expect(try await storage.everything(in: notes).records == [])
            #expect(try await stage.launch().everything(in: notes).records == [])
            #expect(try stage.traces(of: Self.secret) == [])
        }
    }

    @Test func `records of a collection do not return from the oldest of several collections, or from a list`() async throws {
        let stage = try Stage()
        let storage = stage.launch()
        let list = testKey("list", Self.legacy, of: [Note].self)
        let oldest = Note.collection("oldest", Self.legacy)
        let notes = Note.collection("notes", Self.modern).moved(from: Note.collection("older", Self.legacy).moved(from: oldest))
        let split = Note.collection("split", Self.modern).moved(from: list) { $0 }
        try await storage.set(Self.note, in: oldest)
        try await storage.set([Self.note], for: list)
        try await storage.registerCatalog(TestCatalog(.collection(notes), .collection(split)))
        try await storage.forget(Self.modern)
        #expect(try await storage.everything(in: notes).records == [])
        #expect(try await storage.everything(in: split).records == [])
        #expect(try stage.traces(of: Self.secret) == [])
    }

    @Test func `a list from which another collection still takes records is not removed, and nothing is forgotten`() async throws {
        let storage = try Stage().launch()
        let list = testKey("list", Self.legacy, of: [Note].self)
        let notes = Note.collection("notes", Self.modern).moved(from: list) { $0 }
        let others = Note.collection("others", .userDefaults(suite: "kept")).moved(from: list) { $0 }
        try await storage.set([Self.note], for: list)
        try await storage.registerCatalog(TestCatalog(.collection(notes), .collection(others)))
        await expectRefusal(.residueRemains, saying: "others") { try await storage.forget(Self.modern) }
        #expect(try await storage.value(for: list) == [Self.note])
        await storage.sweep()
        try await storage.forget(Self.modern)
        #expect(try await storage.everything(in: notes).records == [])
        #expect(try await storage.everything(in: others).records == [Self.note])
    }

    /// Every fifth operation, as above.
    @Test func `a call that was killed at a file operation leaves no quarantined copy`() async throws {
        let key = Self.key("token", Self.modern).moved(from: Self.key("oldToken", Self.legacy))
        for number in stride(from: 1, through: .max, by: 5) {
            let stage = try Stage()
            let before = stage.launch()
            try await before.set("mine", for: Self.key("token", Self.modern))
            try await before.set("x", for: Self.key("other", Self.legacy))
            try await before.set(Self.secret, for: Self.key("oldToken", Self.legacy))
            _ = try await before.registerCatalog(TestCatalog(.key(key)), migrateImmediately: true)
            try #require(try await before.quarantine.values().count == 1)
            try await before.shutdown()

            let files = HookedFiles()
            let killed = stage.launch { $0.runtime.files = files }
            files.arm(.stops, at: number)
            var isKilled = false
            do { try await killed.forget(Self.legacy) } catch { isKilled = true }

            let next = stage.launch()
            if try await next.value(for: Self.key("other", Self.legacy)) == nil {
                #expect(try await next.quarantine.values().isEmpty, "killed at operation \(number)")
            }
            try await next.shutdown()
            if !isKilled { break }
        }
    }

    @Test func `a list is forgotten with its quarantined copies`() async throws {
        let stage = try Stage()
        let storage = stage.launch()
        try await storage.set(Self.secret, for: Self.key("a", Self.legacy))
        try await storage.forget(Self.legacy)
        #expect(try stage.traces(of: Self.secret) == [])
        #expect(try await storage.value(for: Self.key("a", Self.legacy)) == nil)
    }

    @Test func `a list behind a symbolic link is forgotten, and a linked folder of another program stays`() async throws {
        let stage = try Stage()
        let storage = stage.launch()
        try await storage.set(Self.secret, for: Self.key("a", Self.legacy))
        let other = URL(fileURLWithPath: stage.directory.file("other"))
        try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
        try Data("theirs".utf8).write(to: other.appendingPathComponent("file"))
        let list = URL(fileURLWithPath: "\(stage.preferences)/old.plist")
        try FileManager.default.moveItem(at: list, to: other.appendingPathComponent("old.plist"))
        try FileManager.default.createSymbolicLink(at: list, withDestinationURL: other.appendingPathComponent("old.plist"))
        let data = stage.root.appendingPathComponent("data")
        try FileManager.default.createDirectory(at: data, withIntermediateDirectories: true)
        try FileManager.default.createSymbolicLink(at: data.appendingPathComponent("link"), withDestinationURL: other)
        try await storage.forgetEverything()
        #expect(try stage.traces(of: Self.secret) == [])
        #expect(try FileManager.default.contentsOfDirectory(atPath: other.path) == ["file"])
        #expect(try Data(contentsOf: other.appendingPathComponent("file")) == Data("theirs".utf8))
    }

    @Test func `a store of a custom backend is emptied`() async throws {
        let storage = TestMachine().launch()
        let key = Self.key("a", .keychain)
        try await storage.set("x", for: key)
        try await storage.forget(.keychain)
        #expect(try await storage.value(for: key) == nil)
    }

    @Test func `damaged bytes in a store of a custom backend are deleted`() async throws {
        let machine = TestMachine()
        let storage = machine.launch()
        let key = Self.key("a", .keychain)
        try await storage.set("x", for: key)
        machine.corrupt(.keychain, name: "a", bytes: [0xFF])
        try await storage.forget(.keychain)
        #expect(try await storage.value(for: key) == nil)
    }

    @Test func `a store of a custom backend that is locked during the call is reported as locked`() async throws {
        let machine = TestMachine()
        let storage = machine.launch()
        let key = Self.key("a", .keychain)
        try await storage.set("x", for: key)
        for backend in machine.backends(of: .keychain) { backend.inject(.locked, of: .apply) }
        await expectRefusal(.locked) { try await storage.forget(.keychain) }
        #expect(try await storage.value(for: key) == "x")
        try await storage.forget(.keychain)
        #expect(try await storage.value(for: key) == nil)
    }

    @Test func `the records of a collection in a store of a custom backend are deleted`() async throws {
        let storage = TestMachine().launch()
        let notes = Note.collection(.keychain)
        try await storage.registerCatalog(TestCatalog(.collection(notes)))
        try await storage.set(Self.note, in: notes)
        try await storage.forget(.keychain)
        #expect(try await storage.everything(in: notes).records == [])
    }

    @Test func `the backup of an older version in a store of a custom backend is deleted`() async throws {
        let storage = TestMachine().launch()
        let key = Self.key("a", .keychain).evolving(Evolution.from(Int.self).to { "\($0)" }.keepingBackup())
        try await storage.set(7, for: testKey("a", .keychain, of: Int.self))
        try await storage.registerCatalog(TestCatalog(.key(key)))
        #expect(try await storage.get(key) == "7")
        try await storage.forget(.keychain)
        #expect(try await storage.restoreBackup(for: key) == nil)
    }

    @Test func `two programs that find an unfinished call complete it once, and keep what is written afterwards`() async throws {
        let stage = try Stage()
        let first = stage.launch()
        try await first.set(Self.secret, for: Self.key("a", Self.legacy))
        try await first.shutdown()
        let mark = stage.root.appendingPathComponent("data/forget.json")
        try FileManager.default.createDirectory(at: mark.deletingLastPathComponent(), withIntermediateDirectories: true)
        try Data(#"{"domains":[{"kind":{"name":"userDefaults"},"scope":"old"}]}"#.utf8).write(to: mark)
        let (one, two) = (stage.launch(), stage.launch())
        async let a: Void = one.set("one", for: Self.key("b", Self.legacy))
        async let b: Void = two.set("two", for: Self.key("c", Self.legacy))
        _ = try await (a, b)
        let next = stage.launch()
        #expect(try await next.value(for: Self.key("a", Self.legacy)) == nil)
        #expect(try await next.value(for: Self.key("b", Self.legacy)) == "one")
        #expect(try await next.value(for: Self.key("c", Self.legacy)) == "two")
    }

    #if Keyring
        @Test func `a keyring that cannot be reached is refused, and the other stores stay open`() async throws {
            let stage = try Stage()
            // Another process, because the tests of this one share a keyring.
            var environment = ProcessInfo.processInfo.environment
            environment["DBUS_SESSION_BUS_ADDRESS"] = "unix:path=/nonexistent"
            let program = try stage.worker(environment)
            #expect(try await program.run("put", "suite:old", "a", "x") == "done")
            #expect(try await program.run("forget", "keychain").contains("unavailable"))
            #expect(try await program.run("look", "suite:old", "a") == "value x")
            #expect(!FileManager.default.fileExists(atPath: stage.root.appendingPathComponent("data/forget.json").path))
            #expect(try await stage.worker(environment).run("look", "suite:old", "a") == "value x")
        }

        @Test func `the items of a keyring service are removed, and the key of a database stays`() async throws {
            let stage = try Stage(keyring: true)
            let change: (inout StorageConfiguration) -> Void = { $0.keySource = .keychain }
            let storage = stage.launch(change)
            try await storage.set(Self.secret, for: Self.key("a", .keychain))
            #if SQLite
                try await storage.set("sealed", for: Self.key("b", Self.database))
            #endif
            try await storage.forget(.keychain)
            #expect(try await storage.value(for: Self.key("a", .keychain)) == nil)
            #if SQLite
                #expect(try await stage.launch(change).value(for: Self.key("b", Self.database)) == "sealed")
                try await storage.forgetEverything()
                #expect(try await stage.launch(change).value(for: Self.key("b", Self.database)) == nil)
            #endif
        }
    #endif
}
