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

    private func key<Value>(
        _ name: String, _ domain: StorageDomain = .userDefaults, _ type: Value.Type = Value.self, security: SecurityPolicy = .automatic
    ) -> StorageKey<Value> {
        StorageKey(name: name, domain: domain, security: security, owner: "Tests", description: "A value")
    }

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

    @Test func `a recording that cannot read one release changes no expected values`() async throws {
        struct Refusal: Error {}
        let folder = try await recorded()
        let note = key("note", .userDefaults, Note.self)
        try await GoldenStore.record("1.1", of: Keys(.key(note)), in: folder.path) { router in
            try await router.set(Note(title: "b"), for: note)
        }
        let expected = folder.file("1.0/expected.json")
        try Data("{}".utf8).write(to: URL(filePath: expected))
        await #expect(throws: Refusal.self) {
            try await GoldenStore.replay(
                Keys(.key(note)), in: folder.path, isRecording: true,
                check: { release, _ in if release == "1.1" { throw Refusal() } })
        }
        #expect(FileManager.default.contents(atPath: expected) == Data("{}".utf8))
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
