#if SQLite
    import BackendContract
    import BackendRuntime
    import Foundation
    import SQLiteBackend
    import Sealing
    import TestSupport
    import Testing

    /// Tests of recovery keys as recipients of a database. A recipient is a key for which the data keys of the database are wrapped.
    @Suite(.inTurn) struct RecipientTests {
        private func key(_ seed: UInt8) -> RecoveryKeyPair { RecoveryKeyPair { [UInt8](repeating: seed, count: $0) } }

        /// Makes a database with a value that two recovery keys can also open.
        private func prepare() async throws -> Place {
            let place = try Place()
            let store = place.store()
            let results = try await store.apply([.put(.bytes([1, 2, 3]), at: StorageAddress("a"))])
            #expect(results.map(\.isApplied) == [true])
            for seed in [1, 2] as [UInt8] {
                try await store.change(.addingRecovery(key(seed)))
            }
            await store.close()
            return place
        }

        @Test func `the independent reader opens a database with a recovery key`() async throws {
            let place = try await prepare()
            let file = place.folder + "/recovery.txt"
            for seed in [1, 2] as [UInt8] {
                try key(seed).text.write(toFile: file, atomically: true, encoding: .utf8)
                let dump = try await Reader.dump(place.path, file)
                #expect(dump.records.count == 1)
                #expect(dump.recipients.map(\.source).filter { $0 == "recovery key" }.count == 2)
            }
            try key(3).text.write(toFile: file, atomically: true, encoding: .utf8)
            await #expect(throws: ProgramFailure.self) { try await Reader.dump(place.path, file) }
        }

        @Test func `a database is refused after a recovery key in its file was changed, replaced or removed`() async throws {
            let place = try await prepare()
            let original = try Data(contentsOf: URL(filePath: place.path))
            let attacker = try SealedDatabase(path: place.path, keyFile: place.keyPath)
            let wraps = try attacker.tables().keys.wraps.filter { $0.source == RecoveryRecipient.source }
                .map { [Data($0.recipient), Data($0.verifier), Data($0.wrapped)] }
            #expect(wraps.count == 2)
            var attacks = 0
            func expectRefused(_ how: String) async throws {
                attacks += 1
                let store = place.store()
                let probe = try await store.read([StorageAddress("a")], .fresh)[0]
                guard case .unavailable(let error) = probe else {
                    Issue.record("\(how): \(probe)")
                    return
                }
                #expect(error.code == .corrupted, "\(how): \(error)")
                for key in [key(1), key(2)] {
                    await #expect(throws: BackendError.self, "\(how)") { try await store.takeOver(from: .recovery(key)) }
                }
                await store.close()
                for suffix in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: place.path + suffix) }
                try original.write(to: URL(filePath: place.path))
            }
            let columns = ["recipient", "verifier", "wrapped"]
            for (column, name) in columns.enumerated() {
                for at in 0..<wraps[0][column].count {
                    var changed = wraps[0][column]
                    changed[at] ^= 1
                    try attacker.write { try $0.execute("UPDATE wraps SET \(name) = ? WHERE recipient = ?", [changed, wraps[0][0]]) }
                    try await expectRefused("\(name) \(at)")
                }
            }
            let stranger = try RecoveryRecipient(publicKey: key(9).publicKey)
            try attacker.write {
                try $0.execute(
                    "UPDATE wraps SET recipient = ?, verifier = ? WHERE recipient = ?",
                    [Data(stranger.id), Data(stranger.publicKey), wraps[0][0]])
            }
            try await expectRefused("another public half")
            try attacker.write { try $0.execute("DELETE FROM wraps WHERE recipient = ?", [wraps[0][0]]) }
            try await expectRefused("one left out")
            #expect(attacks == 8 + 32 + 160 + 2)
            let store = place.store()
            let probe = try await store.read([StorageAddress("a")], .fresh)[0]
            #expect(probe.record?.payload == .bytes([1, 2, 3]))
            await store.close()
        }
    }
#endif
