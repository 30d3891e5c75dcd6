#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import LocalData
    import LocalDataBackup
    import Sealing
    import Synchronization
    import TestSupport
    import Testing

    /// Rotations of the sealing key in each kind of key source: a credential, a passphrase file, a custom source, the
    /// keyring.
    @Suite(.inTurn) struct KeySourceRotationTests {
        private let stage: Stage
        private let list = textKey("list", .userDefaults(suite: "list"), .encrypted)
        private let row = textKey("row", .encryptedSQLite(database: "main"))
        private let secret = textKey("secret", .keychain)

        init() throws { stage = try Stage() }

        @Test func `a credential, a file with one key in each line, is rotated by adding and reordering lines`() async throws {
            let folder = try stage.directory.folder("credentials")
            let (old, new) = (SealingKey.random(Runtime.live.randomBytes).text, SealingKey.random(Runtime.live.randomBytes).text)
            func launch() async throws -> StorageRouter {
                let router = stage.launch {
                    $0.keySource = .credential("key")
                    $0.runtime.host.environment["CREDENTIALS_DIRECTORY"] = folder
                }
                try await router.registerCatalog(TestCatalog(.key(list), .key(row)))
                return router
            }
            func provide(_ lines: String...) throws {
                try? FileManager.default.removeItem(atPath: folder + "/key")
                try writeFile(lines.joined(separator: "\n") + "\n", to: folder + "/key")
            }
            try provide(old)
            let router = try await launch()
            for key in [list, row] { try await router.set("value", for: key) }
            let refusal = try await #require(throws: StorageError.self) { try await router.rotateKey() }
            #expect(refusal.code == StorageError.unsupported && refusal.message.contains("localdata keys new"))
            try await router.shutdown()
            // Provide the new key everywhere as a second line first, so that every program can open with it. Then make
            // it the first line.
            try provide(old, new)
            let prepared = try await launch()
            try await prepared.set("again", for: list)
            try await prepared.shutdown()
            try provide(new, old)
            let report = try await launch().rotateKey()
            #expect(report.isComplete && report.values == 1 && report.databases == 1, "\(report)")
            let done = try await #require(throws: StorageError.self) { try await launch().deleteOlderKeys() }
            #expect(done.code == StorageError.unsupported && done.message.contains("every line but the first"), "\(done)")
            try provide(new)
            #expect(try await launch().get(list) == "again")
            #expect(try await launch().get(row) == "value")
            try provide(old)
            let stale = try await #require(throws: StorageError.self) { try await launch().get(row) }
            #expect(stale.code == StorageError.encryptionKeyMismatch)
        }

        /// A key source that keeps the versions of its key, as a key management service does.
        private final class Versions: CustomKeySource {
            let protection = ProtectionLevel.sealed
            let keys = Mutex<[SealingKeyMaterial]>([])

            func load() async throws -> SealingKeyMaterial? { keys.withLock(\.first) }
            func loadOthers() async throws -> [SealingKeyMaterial] { keys.withLock { Array($0.dropFirst()) } }
            func create(_ key: SealingKeyMaterial) async throws -> SealingKeyMaterial {
                keys.withLock { keys in
                    if keys.isEmpty { keys = [key] }
                    return keys[0]
                }
            }
            func replace(_ old: SealingKeyMaterial, with key: SealingKeyMaterial, others: [SealingKeyMaterial]) async throws {
                try keys.withLock { keys in
                    guard keys.first?.text == old.text else { throw BackendError(.conflict, "It holds another key.") }
                    keys = [key] + others
                }
            }
        }

        @Test func `rotateKey works with a passphrase file, and with a custom source that can replace its key`() async throws {
            let versions = Versions()
            let cost = ScryptCost.tooCheapForAnythingButTests(logN: 1, blockSize: 1, parallelism: 1)
            for source in [KeySourceReference.custom("versions"), .passphrase("main")] {
                func launch() async throws -> StorageRouter {
                    let router = stage.launch {
                        $0.keySource = source
                        $0.customKeySources["versions"] = versions
                        $0.scryptCost = cost
                        $0.passphrase = { _ in "open sesame" }
                    }
                    try await router.registerCatalog(TestCatalog(.key(list), .key(row)))
                    return router
                }
                func requireValues() async throws {
                    for key in [list, row] {
                        let router = try await launch()
                        #expect(try await router.get(key) == "value")
                        // The folder is removed below, and a router that closes later would write to it.
                        try await router.shutdown()
                    }
                }
                let router = try await launch()
                for key in [list, row] { try await router.set("value", for: key) }
                let report = try await router.rotateKey()
                #expect(report.isComplete && report.values == 1 && report.databases == 1 && report.olderKeys == 1, "\(source): \(report)")
                try await requireValues()
                try await router.deleteOlderKeys()
                #expect(try await router.rotateKey().olderKeys == 1)
                try await router.shutdown()
                try await requireValues()
                try FileManager.default.removeItem(at: stage.root)
            }
            #expect(versions.keys.withLock(\.count) == 2)
        }

        #if Keyring
            @Test(.tags(.keyring)) func `rotateKey replaces a key in the keyring`() async throws {
                let stage = try Stage(keyring: true)
                func launch() async throws -> StorageRouter {
                    let router = stage.launch { $0.keySource = .keychain }
                    try await router.registerCatalog(TestCatalog(.key(list), .key(row), .key(secret)))
                    return router
                }
                let router = try await launch()
                for key in [list, row, secret] { try await router.set("value", for: key) }
                let report = try await router.rotateKey()
                #expect(report.isComplete && report.values == 1 && report.databases == 1, "\(report)")
                for key in [list, row, secret] { #expect(try await launch().get(key) == "value") }
                try await router.deleteOlderKeys()
                for key in [list, row, secret] { #expect(try await launch().get(key) == "value") }
                try await router.shutdown()
            }
        #endif
    }
#endif
