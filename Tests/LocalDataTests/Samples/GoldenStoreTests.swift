import Foundation
import LocalData
import LocalDataTesting
import TestSupport
import Testing

/// Golden stores: `record` keeps the files that a release wrote, and `replay` reads them with the keys of later
/// releases.
@Suite(.inTurn) struct GoldenStoreTests {
    struct Keys: StorageKeyCatalog {
        var allKeys: [AnyStorageKey]
        init(_ keys: AnyStorageKey...) { allKeys = keys }
    }

    struct Note: Codable, Hashable {
        var title: String
        var stars: Int?
    }
    struct Heading: Codable, Hashable { var heading: String }

    private func key<Value>(
        _ name: String, _ domain: StorageDomain = .userDefaults, _ type: Value.Type = Value.self, security: SecurityPolicy = .automatic
    ) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, security: security, owner: "Tests", description: "A value")
    }

    // MARK: Releases of this library

    #if SQLite
        let database = StorageDomain.encryptedSQLite(database: "main")

        /// The keys of a program of the first release. It has values of every kind: as plaintext in property lists,
        /// sealed (encrypted) in a property list, and in a database.
        var keys: Keys {
            Keys(
                .key(key("text", .userDefaults, String.self)), .key(key("number", .userDefaults, Int.self)),
                .key(key("real", .userDefaults, Double.self)), .key(key("date", .userDefaults, Date.self)),
                .key(key("note", .userDefaults, Note.self)), .key(listed),
                .key(key("sealed", .userDefaults, String.self, security: .encrypted)),
                .key(key("text", database, String.self)), .key(key("note", database, Note.self)),
                .key(moved), .key(removed), .key(evolved), .collection(people))
        }

        var listed: StorageKey<[String]> {
            StorageKey(name: "tags", domain: .userDefaults(suite: "other"), serializer: .plist, owner: "Tests", description: "Tags")
        }
        /// A key whose value the first release had already moved from a legacy location.
        var moved: StorageKey<String> { key("moved", database).moved(from: key("old moved")) }
        var evolved: StorageKey<Heading> {
            key("evolved", database).evolving(Evolution.from(Note.self).to { Heading(heading: $0.title) })
        }
        /// A key with a legacy location whose value the first release removed. The older copy must not return.
        var removed: StorageKey<String> { key("removed", database).moved(from: key("old removed")) }

        struct Person: Codable, Identifiable {
            var id: String
            var age: Int
        }
        var people: StorageCollection<Person> { StorageCollection("people", domain: database, owner: "Tests", description: "People") }

        private func fill(_ storage: StorageRouter) async throws {
            for (age, name) in ["Sam", "Ada", "Żaneta"].enumerated() { try await storage.set(Person(id: name, age: age), in: people) }
            try await storage.set("Grüße, 世界", for: key("text", .userDefaults))
            try await storage.set(-42, for: key("number", .userDefaults))
            try await storage.set(0.1, for: key("real", .userDefaults))
            try await storage.set(Date(timeIntervalSinceReferenceDate: 700_000_000.5), for: key("date", .userDefaults))
            try await storage.set(Note(title: "a", stars: 5), for: key("note", .userDefaults))
            try await storage.set(["x", "y"], for: listed)
            try await storage.set("secret", for: key("sealed", .userDefaults, security: .encrypted))
            try await storage.set("in a row", for: key("text", database))
            try await storage.set(Note(title: "b"), for: key("note", database))
            try await storage.set("from an older place", for: key("old moved"))
            _ = try await storage.get(moved)
            try await storage.set("removed", for: removed)
            try await storage.remove(removed)
            // The value has version 1. The next read converts it to version 2.
            try await storage.set(Note(title: "of version 1"), for: key("evolved", database))
        }

        @Test func `this release reads the stores that earlier releases of this library wrote`() async throws {
            if FixtureMismatch.isRecording, !FileManager.default.fileExists(atPath: fixture("0.1/release.json")) {
                try await GoldenStore.record("0.1", of: keys, in: "../Fixtures/Releases", fill)
            }
            try await GoldenStore.replay(keys, in: "../Fixtures/Releases") { _, storage in
                let (gone, heading) = (try await storage.value(for: removed), try await storage.get(evolved))
                #expect(gone == nil)
                #expect(heading == Heading(heading: "of version 1"))
                let version = try await storage.storedValue(for: evolved)?.schemaVersion
                #expect(version == 2)
            }
        }

        @Test func `a replay opens a recorded store with any file permissions and does not change its files`() async throws {
            let folder = try TemporaryDirectory()
            try await GoldenStore.record("1.0", of: keys, in: folder.path, fill)
            let before = try contents(of: folder.path)
            #expect(before.keys.contains { $0.hasSuffix("main.sqlite") || $0.contains("databases/main") }, "\(before.keys.sorted())")
            // Version control does not keep private permissions.
            for path in before.keys { try setPermissions(0o644, of: path) }
            try await GoldenStore.replay(keys, in: folder.path)
            #expect(try contents(of: folder.path) == before)
        }

        private func fixture(_ path: String) -> String {
            URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().appending(path: "Fixtures/Releases/\(path)")
                .path
        }
    #endif

    // MARK: What a replay reports

    private func contents(of folder: String) throws -> [String: Data] {
        var contents: [String: Data] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: folder) {
            let path = "\(folder)/\(name)"
            if let data = FileManager.default.contents(atPath: path) { contents[path] = data }
        }
        return contents
    }

    /// Records a release with one note.
    private func recorded() async throws -> TemporaryDirectory {
        let folder = try TemporaryDirectory()
        try await GoldenStore.record("1.0", of: Keys(.key(key("note", .userDefaults, Note.self))), in: folder.path) {
            try await $0.set(Note(title: "a", stars: 1), for: key("note"))
        }
        return folder
    }

    @Test func `recording a release a second time is an error, and a failed recording leaves no files`() async throws {
        let folder = try await recorded()
        let keys = Keys(.key(key("note", .userDefaults, Note.self)))
        await #expect(throws: FixtureMismatch.self) { try await GoldenStore.record("1.0", of: keys, in: folder.path) { _ in } }
        struct Refused: Error {}
        await #expect(throws: Refused.self) { try await GoldenStore.record("2.0", of: keys, in: folder.path) { _ in throw Refused() } }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["1.0"])
    }

    @Test func `a replay names each value that is absent, unreadable or different from the recording`() async throws {
        let folder = try await recorded()
        func differences(_ keys: Keys) async -> [String] {
            do { try await GoldenStore.replay(keys, in: folder.path, isRecording: false) } catch let error as FixtureMismatch {
                return error.differences
            } catch { return ["\(error)"] }
            return []
        }
        #expect(await differences(Keys(.key(key("note", .userDefaults, Note.self)))).isEmpty)
        let upper = key("note", .userDefaults, Note.self).evolving(
            Evolution.from(Note.self).to { Note(title: $0.title.uppercased(), stars: $0.stars) })
        #expect(await differences(Keys(.key(upper))) == [#"1.0/note was {"stars":1,"title":"a"} and is {"stars":1,"title":"A"}"#])
        #expect(await differences(Keys(.key(textKey("other", .userDefaults)))) == ["1.0/note had a value and is absent"])
        let unread = await differences(Keys(.key(key("note", .userDefaults, Int.self))))
        #expect(unread.count == 1 && unread[0].contains("not of type Int"), "\(unread)")
        // A difference that is recorded on purpose is expected from then on.
        try await GoldenStore.replay(Keys(.key(upper)), in: folder.path, isRecording: true)
        #expect(await differences(Keys(.key(upper))).isEmpty)
        #expect(await differences(Keys(.key(key("note", .userDefaults, Note.self)))).count == 1)
    }

    // MARK: Secrets in golden stores

    /// Keys whose values are protected by the keyring, or sealed with a key in the keyring.
    private var protected: Keys {
        Keys(.key(key("token", .keychain, String.self)), .key(key("pin", .userDefaults, String.self, security: .encrypted(.keychain))))
    }

    private func recordedSecrets() async throws -> TemporaryDirectory {
        let folder = try TemporaryDirectory()
        try await GoldenStore.record("1.0", of: protected, in: folder.path) { storage in
            try await storage.set("in the keyring", for: key("token", .keychain))
            try await storage.set("in a seal", for: key("pin", .userDefaults, security: .encrypted(.keychain)))
        }
        return folder
    }

    @Test func `a golden store uses a separate keyring, which is recorded with it`() async throws {
        let folder = try await recordedSecrets()
        try await GoldenStore.replay(protected, in: folder.path) { _, storage in
            let token = try await storage.get(key("token", .keychain, String.self))
            let pin = try await storage.get(key("pin", .userDefaults, String.self, security: .encrypted(.keychain)))
            #expect(token == "in the keyring" && pin == "in a seal")
        }
    }

    #if Keyring
        @Test(.tags(.keyring)) func `recording a golden store neither writes nor reads the session keyring`() async throws {
            let stage = try Stage(keyring: true)
            let real = stage.launch()
            _ = try await recordedSecrets()
            #expect(try await real.names(of: .keychain(service: "golden")).isEmpty)
            // The session keyring has a value under the same name. While a golden store is recorded, this value must
            // not be read.
            let token = key("token", .keychain(service: "golden"), String.self)
            try await real.set("real", for: token)
            let folder = try TemporaryDirectory()
            try await GoldenStore.record("1.0", of: protected, in: folder.path) { storage in
                let seen = try await storage.value(for: token)
                #expect(seen == nil)
            }
            try await real.remove(token)
            try await real.shutdown()
        }
    #endif

    @Test func `neither the files of a golden store nor the error of a mismatch reveal a protected value`() async throws {
        let folder = try await recordedSecrets()
        let secrets = ["in the keyring", "in a seal"].flatMap { [Data($0.utf8), Data(Data($0.utf8).base64EncodedString().utf8)] }
        func requireSecrecy() throws {
            for (path, data) in try contents(of: folder.path) {
                for secret in secrets { #expect(data.range(of: secret) == nil, "\(path)") }
            }
        }
        try requireSecrecy()
        let louder = Keys(
            .key(
                key("token", .keychain, String.self).evolving(Evolution.from(String.self).to { $0.uppercased() })))
        let error = await #expect(throws: FixtureMismatch.self) {
            try await GoldenStore.replay(louder, in: folder.path, isRecording: false)
        }
        let differences = try #require(error?.differences)
        #expect(differences.count == 2 && differences.contains { $0.contains("1.0/token has another value") }, "\(differences)")
        for text in differences { #expect(!text.contains("keyring") && !text.contains("KEYRING") && !text.contains("seal"), "\(text)") }
        // Values that are recorded again on purpose are sealed, too.
        try await GoldenStore.replay(louder, in: folder.path, isRecording: true)
        try await GoldenStore.replay(louder, in: folder.path, isRecording: false)
        for (path, data) in try contents(of: folder.path) { #expect(data.range(of: Data("IN THE KEYRING".utf8)) == nil, "\(path)") }
        try requireSecrecy()
    }

    @Test func `recording the same values again changes no file`() async throws {
        let folder = try await recordedSecrets()
        let before = try contents(of: folder.path)
        try await GoldenStore.replay(protected, in: folder.path, isRecording: true)
        #expect(try contents(of: folder.path) == before)
    }

    @Test func `a replay of a folder without releases throws an error`() async throws {
        let folder = try TemporaryDirectory()
        await #expect(throws: FixtureMismatch.self) { try await GoldenStore.replay(Keys(), in: folder.path) }
    }
}
