#if SQLite
    import BackendContract
    import BackendRuntime
    import Crypto
    import Foundation
    import LocalData
    import Synchronization
    import TestSupport
    import Testing

    @testable import Sealing

    /// A key is identified by a commitment, a hash of its bytes. Another key with the same short id is refused.
    ///
    /// A key source is where the key is stored, such as a key file. For each key source, the ledger records the id and
    /// the commitment of its key. To seal a value is to encrypt it.
    @Suite(.inTurn) struct KeyIdentityTests {
        private let list = textKey("a", .userDefaults(suite: "sealed"), .encrypted)

        @Test func `a forged key with the id of the recorded key seals no new value and no new database`() async throws {
            let stage = try Stage()
            try await stage.launch().set("v", for: list)
            let keyFile = stage.root.path + "/data/sealing-key"
            let right = try String(contentsOfFile: keyFile, encoding: .utf8)
            let forged = SealingKey.random(Runtime.live.randomBytes).text(claiming: try SealingKey(text: right))
            try writeFile(forged + "\n", to: keyFile)
            for domain in [StorageDomain.userDefaults(suite: "other"), .encryptedSQLite(database: "other")] {
                let new = textKey("new", domain, domain.kind == .userDefaults ? .encrypted : .automatic)
                await expectRefusal(StorageError.encryptionKeyMismatch, of: "new") { try await stage.launch().set("w", for: new) }
                try writeFile(right, to: keyFile)
                #expect(try await stage.launch().value(for: new) == nil)
                try writeFile(forged + "\n", to: keyFile)
            }
            try writeFile(right, to: keyFile)
            #expect(try await stage.launch().get(list) == "v")
        }

        /// A key source with one key.
        private struct Holding: KeySource {
            let key: SealingKey
            let identifier = "source"
            let pin = "source"
            let protection = ProtectionLevel.sealed
            func load() async throws(BackendError) -> SourceKeys? { SourceKeys(only: key) }
            func create(_ keys: SourceKeys) async throws(BackendError) -> SourceKeys { throw BackendError(.failed, "There is a key.") }
        }

        @Test func `the commitment distinguishes two keys that have the same id`() async throws {
            let key = SealingKey.random(Runtime.live.randomBytes)
            let colliding = SealingKey(collidingWith: key.id, key: SymmetricKey(size: .bits256))
            func refused(_ key: SealingKey, recorded: SealingKey) async -> [BackendError.Code?] {
                let pins = SealingKeys.Pins(
                    recorded: { (_) throws(BackendError) in recorded.identity }, record: { (_, _) throws(BackendError) in },
                    all: { () throws(BackendError) in [recorded.identity] })
                let keys = SealingKeys(pins: pins, randomBytes: Runtime.live.randomBytes)
                let opening = await code { () throws(BackendError) in try await keys.existing(from: Holding(key: key)).current }
                let sealing = await code { () throws(BackendError) in
                    try await keys.forSealing(from: Holding(key: key)) { () throws(BackendError) in [recorded.id] }
                }
                return [opening, sealing]
            }
            #expect(await refused(colliding, recorded: key) == [.encryptionKeyMismatch, .encryptionKeyMismatch])
            #expect(await refused(key, recorded: key) == [nil, nil])
        }

        private func code(_ work: () async throws(BackendError) -> SealingKey) async -> BackendError.Code? {
            do throws(BackendError) { _ = try await work() } catch { return error.code }
            return nil
        }

        @Test func `a damaged record of the key in the ledger is an error, and not taken for a first start`() async throws {
            let stage = try Stage()
            try await stage.launch().set("v", for: list)
            let ledger = stage.root.path + "/state/pins.plist"
            let text = try String(contentsOfFile: ledger, encoding: .utf8)
            let id = try SealingKey(text: String(contentsOfFile: stage.root.path + "/data/sealing-key", encoding: .utf8)).identity.text
            #expect(text.contains(id))
            try writeFile(text.replacing(id, with: String(id.prefix(20))), to: ledger)
            await expectRefusal(StorageError.corrupted, of: "a") { try await stage.launch().set("w", for: list) }
            try writeFile(text, to: ledger)
            #expect(try await stage.launch().get(list) == "v")
        }
    }
#endif
