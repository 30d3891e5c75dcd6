import BackendContract
import Foundation
import LocalData
import TestSupport
import Testing

/// Folders and files in which another user could plant content. Opening a store there is refused, as ssh refuses such
/// files.
///
/// A sealed value is encrypted and authenticated with a sealing key. The ledger is a file that records which sealing
/// keys were used.
@Suite struct TrustTests {
    private let secret = "a-secret-nobody-guesses"

    private func key(_ name: String = "a") -> StorageKey<String> {
        StorageKey(name: name, domain: .userDefaults(suite: "app"), security: .encrypted, owner: "Tests", description: "A value")
    }

    /// Makes a file or folder of a stage, the folder of a test, writable for other users. Expects that a new router
    /// then refuses to read and set the key, and works again after the permissions are corrected.
    private func expectUntrusted(
        of key: StorageKey<String>, _ path: String, mode: Int, on stage: Stage
    ) async throws {
        let before = try #require(try filePermissions(path))
        try setPermissions(mode, of: path)
        let router = stage.launch()
        for body: () async throws -> Void in [
            { _ = try await router.get(key) }, { try await router.set("other", for: key) },
        ] {
            let error = try await #require(throws: StorageError.self) { try await body() }
            #expect(error.code == .untrusted, "\(path): \(error)")
            #expect(error.message.contains("\(path),") && error.message.contains("chmod go-w"), "\(error)")
            #expect(!"\(error)".contains(secret))
        }
        try setPermissions(before, of: path)
        #expect(try await router.get(key) == secret)
        #expect(try await stage.launch().get(key) == secret)
    }

    @Test(arguments: ["", "/data", "/state"])
    func `a sealed value is not read or changed below a folder that others can write`(folder: String) async throws {
        let stage = try Stage()
        try await stage.launch().set(secret, for: key())
        for mode in [0o702, 0o707] { try await expectUntrusted(of: key(), stage.root.path + folder, mode: mode, on: stage) }
    }

    @Test func `a sealed value is not read or changed while other users can write the list of used keys`() async throws {
        let stage = try Stage()
        try await stage.launch().set(secret, for: key())
        try await expectUntrusted(of: key(), stage.root.path + "/state/pins.plist", mode: 0o602, on: stage)
    }

    #if SQLite
        private func row(_ name: String = "a") -> StorageKey<String> {
            StorageKey(name: name, domain: .encryptedSQLite(database: "main"), owner: "Tests", description: "A value")
        }

        @Test(arguments: ["/data", "/data/databases", "/locks", "/data/databases/main.sqlite"])
        func `a database that others can write or replace is not opened`(path: String) async throws {
            let stage = try Stage()
            let first = stage.launch()
            try await first.set(secret, for: row())
            try await first.shutdown()
            try await expectUntrusted(of: row(), stage.root.path + path, mode: 0o772, on: stage)
        }

        @Test(.enabled(if: TestAccessControlList.areSupported, "needs access control lists"))
        func `a database below a folder that an access control list opens to another user is not opened`() async throws {
            let stage = try Stage()
            let first = stage.launch()
            try await first.set(secret, for: row())
            try await first.shutdown()
            for folder in ["/data", "/data/databases"] {
                let path = stage.root.path + folder
                try #require(TestAccessControlList(mask: 7, users: [12_345: 7]).give(to: path))
                let router = stage.launch()
                let error = try await #require(throws: StorageError.self) { try await router.get(row()) }
                #expect(error.code == .untrusted && error.message.contains("user 12345 can write to the folder \(path),"), "\(error)")
                try setPermissions(0o700, of: path)
                #expect(try await router.get(row()) == secret)
            }
        }

        @Test func `no database is created in a folder that others can write`() async throws {
            let stage = try Stage()
            let folder = stage.root.path + "/data/databases"
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            try setPermissions(0o777, of: folder)
            await expectRefusal(StorageError.untrusted, hiding: [secret]) { try await stage.launch().set(secret, for: row()) }
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder).isEmpty)
        }

        @Test(.enabled(if: geteuid() == 0, "changes owners"))
        func `a program trusts files of root and of its user, and no files of a third user`() async throws {
            let stage = try Stage()
            let root = stage.root.path
            let first = stage.launch()
            try await first.set(secret, for: row("a"))
            try await first.shutdown()
            let nobody: UInt32 = 65_534
            for path in ["", "/data", "/state", "/locks", "/data/databases"] { #expect(chown(root + path, nobody, nobody) == 0) }
            for name in try FileManager.default.subpathsOfDirectory(atPath: root) { #expect(chown(root + "/" + name, nobody, nobody) == 0) }
            // Root refuses the files, because they belong to another user.
            let error = try await #require(throws: StorageError.self) { try await stage.launch().get(row("a")) }
            #expect(error.code == .untrusted && error.message.contains("user 65534"), "\(error)")
            // For user 65534, the files are trusted: they belong to it, and the folders above belong to root.
            try setPermissions(0o755, of: stage.directory.path)
            #expect(try await stage.workerAsNobody().ask("look database:main a") == "value \(secret)")
            // One folder that belongs to a third user is enough for a refusal.
            #expect(chown(root + "/data", 12_345, 12_345) == 0)
            try setPermissions(0o755, of: root + "/data")
            let answer = try await stage.workerAsNobody().ask("look database:main a")
            #expect(answer.contains("untrusted") && !answer.contains(secret), "\(answer)")
        }
    #endif
}
