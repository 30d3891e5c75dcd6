#if SQLite
    import BackendContract
    import Foundation
    import LocalData
    import LocalDataBackup
    import Sealing
    import TestSupport
    import Testing

    /// Backup files in which an attacker has changed bytes, removed bytes at the end, or exchanged chunks. The content
    /// of a backup is encrypted in chunks.
    @Suite(.inTurn) struct BackupAttackTests {
        private let stage: BackupStage

        init() throws { stage = try BackupStage() }

        /// Returns the bytes of a small backup that a passphrase and a recovery key can open.
        ///
        /// The databases are deleted before the backup, so that the backup contains little more than one property list.
        private func small() async throws -> [UInt8] {
            let router = stage.router()
            try await router.set("v", for: stage.plain)
            let key = try await router.addRecoveryKey(to: .encryptedSQLite(database: "x"))
            try await router.shutdown()
            try FileManager.default.removeItem(atPath: stage.stage.directory.file("root") + "/data/databases")
            let again = stage.router()
            try await again.backup(to: stage.kit, openedBy: [stage.secret, .recoveryKey(key)], including: [.userDefaults])
            try await again.shutdown()
            return Array(try Data(contentsOf: stage.kit))
        }

        private func isRefused(_ bytes: [UInt8], _ name: String) async throws -> Bool {
            let file = URL(fileURLWithPath: stage.stage.directory.file(name))
            try Data(bytes).write(to: file)
            do {
                try await StorageRouter.verifyBackup(at: file, with: stage.secret)
                return false
            } catch let error as StorageError {
                return [StorageError.corrupted, .encryptionKeyMismatch, .unsupported].contains(error.code)
            }
        }

        /// This test changes a sample of the bytes. A long search (with the variable `LOCALDATA_LAWS`) changes every
        /// byte. `SealedStreamTests` also changes every byte of an encrypted file.
        @Test func `a changed, truncated or extended backup is refused, and a restore writes nothing`() async throws {
            let bytes = try await small()
            #expect(try await !isRefused(bytes, "whole"))
            for index in sample(0..<bytes.count, 24) {
                var changed = bytes
                changed[index] ^= 1 << UInt8(index % 8)
                #expect(try await isRefused(changed, "changed"), "byte \(index)")
                #expect(try await isRefused(Array(bytes[..<index]), "shorter"), "length \(index)")
                let file = URL(fileURLWithPath: stage.stage.directory.file("changed"))
                await #expect(throws: StorageError.self) { try await stage.restore(into: "other", from: file) }
            }
            #expect(try await isRefused(bytes + [0], "longer"))
            #expect(try stage.files("other").isEmpty)
        }

        @Test func `a backup with swapped, repeated or missing chunks, or with chunks of another backup, is refused`() async throws {
            let router = stage.router()
            let big = String(repeating: "abcdefgh", count: 40_000)
            try await router.set(big, for: stage.plain)
            try await router.shutdown()
            let other = URL(fileURLWithPath: stage.stage.directory.file("second"))
            try await stage.backup()
            try await stage.backup(to: other)
            let (first, second) = (Array(try Data(contentsOf: stage.kit)), Array(try Data(contentsOf: other)))
            // The length of the header of a backup with one passphrase: the sum of the lengths of the header's fields.
            let start = 22 + 5 + 113 + 32
            func chunks(_ bytes: [UInt8]) -> [[UInt8]] {
                stride(from: start, to: bytes.count, by: SealedStream.sealedLength).map {
                    Array(bytes[$0..<min(bytes.count, $0 + SealedStream.sealedLength)])
                }
            }
            let (mine, theirs) = (chunks(first), chunks(second))
            try #require(mine.count >= 4)
            func file(_ chunks: [[UInt8]]) -> [UInt8] { Array(first[..<start]) + chunks.flatMap(\.self) }
            #expect(try await !isRefused(file(mine), "same"))
            var exchanged = mine
            exchanged.swapAt(0, 1)
            var mixed = mine
            mixed[1] = theirs[1]
            var lastOfOther = mine
            lastOfOther[mine.count - 1] = theirs[theirs.count - 1]
            for (name, chunks) in [
                ("exchanged", exchanged), ("repeated", [mine[0]] + mine), ("without one", Array(mine.dropFirst())), ("mixed", mixed),
                ("without the last", Array(mine.dropLast())), ("last of another", lastOfOther),
                ("two ends", mine + [mine[mine.count - 1]]),
            ] {
                #expect(try await isRefused(file(chunks), name), "\(name)")
            }
            #expect(try await isRefused(Array(second[..<start]) + mine.flatMap(\.self), "another header"))
        }

        @Test func `a backup contains no plaintext`() async throws {
            try await stage.fill()
            try await stage.backup()
            let bytes = try Data(contentsOf: stage.kit)
            for text in [BackupStage.marker, "standard", stage.stage.service, "sealing-key"] {
                #expect(bytes.range(of: Data(text.utf8)) == nil)
            }
        }
    }
#endif
