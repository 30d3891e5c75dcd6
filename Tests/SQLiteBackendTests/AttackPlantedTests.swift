#if SQLite
    import BackendContract
    import Crypto
    import Foundation
    import TestSupport
    import Testing

    @testable import SQLiteBackend
    @testable import Sealing

    /// Tests of databases that an attacker made and put in place of the victim's database.
    /// The attacker has read the victim's file, but has no key of the victim.
    /// A data key encrypts the rows of a database. The table `wraps` has the data keys, each wrapped (encrypted) for
    /// every key that may open the database.
    /// A recovery key is a key pair that opens a database whose usual key is lost.
    /// A sender is a key pair of a database, with which it wraps data keys for the public half of a recovery key.
    /// A voucher is the confirmation by a recovery key that a sender belongs to a database.
    extension Attacks {
        @Suite struct Planted {
            private let victim = RecoveryKeyPair { [UInt8](repeating: 1, count: $0) }
            private let attacker = RecoveryKeyPair { [UInt8](repeating: 2, count: $0) }

            private func random(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: .min ... .max) } }

            private func key(of place: Place) throws -> SealingKey {
                try SealingKey(text: String(contentsOf: URL(filePath: place.keyPath), encoding: .utf8))
            }

            /// The ways to forge the row of `wraps` for the victim's recovery key.
            enum Forgery: CaseIterable {
                /// The row has the attacker's sender, and a voucher that was made with the attacker's recovery key.
                case ownVoucher
                /// The row has the attacker's sender, and the victim's voucher, which is for another sender.
                case ownSender
                /// The row has the victim's voucher, into which the attacker's sender was copied.
                case changedVoucher
                /// The row is sealed in the base mode of HPKE, which has no sender.
                case noSender
                /// The row is the genuine one of the victim, for a data key that the attacker does not have.
                case genuineRow
            }

            /// Adds the victim's recovery key to the attacker's database, using only what the attacker has.
            private func forge(_ forgery: Forgery, into place: Place, genuine: KeyTables.Wrap) throws {
                let connection = try Connection(path: place.path)
                defer { connection.close() }
                let header = try DatabaseHeader(reading: connection)
                let holder = KeyHolder.key(try key(of: place))
                let keyset = try header.open(holder, in: nil)
                let keys = try holder.open(header.keys, database: header.database)
                let recipient = try RecoveryRecipient(publicKey: victim.publicKey)
                let genuineVoucher = try RecoveryVoucher(genuine.wrapped)
                let sender = RecoverySender(random)
                let voucher: RecoveryVoucher =
                    switch forgery {
                    case .ownVoucher: RecoveryVoucher(of: sender.publicKey, origin: header.database, by: attacker)
                    case .ownSender, .noSender, .genuineRow: genuineVoucher
                    case .changedVoucher:
                        try RecoveryVoucher(genuineVoucher.origin + sender.publicKey + genuineVoucher.bytes.suffix(32))
                    }
                var wraps = header.keys.wraps
                for (id, key) in keys {
                    var wrap = try recipient.wrap(key, from: sender, voucher, database: header.database)
                    if forgery == .noSender {
                        let plain = key.withUnsafeBytes { Array($0) }
                        var context = Fields("LocalData SQLite 1 recovery wrap")
                        for part in [header.database, id, recipient.publicKey] { context.add(part) }
                        wrap.wrapped =
                            voucher.bytes
                            + (try recipient.seal(plain, for: "LocalData SQLite 1 recovery wrap", authenticating: context.bytes))
                    }
                    if forgery == .genuineRow { wrap.wrapped = genuine.wrapped }
                    wraps.append(wrap)
                }
                let active = try #require(keys[keyset.active.id])
                let sealed = try sender.sealed(with: active, database: header.database, random)
                let tables = try KeyTables(keys: header.keys.keys, wraps: wraps, sender: sealed)
                let forged = header.changed(keyset) { $0.keys = tables }
                try connection.execute("BEGIN IMMEDIATE")
                try forged.write(to: connection)
                var state = try #require(try connection.bytes(DatabaseFormat.stateQuery).flatMap { keyset.active.openState($0) })
                state.header = forged.tag
                try connection.execute("DELETE FROM state")
                try connection.insert("INSERT INTO state VALUES (1, ?1)", [[.bytes(try keyset.active.seal(state, random))]])
                try connection.execute("COMMIT")
            }

            @Test(arguments: Forgery.allCases)
            func `a planted database with a forged entry for the recovery key of the victim is not recovered`(
                _ forgery: Forgery
            ) async throws {
                let (own, planted) = (try Place(), try Place())
                let store = own.store()
                try await store.put("secret", at: "a")
                try await store.change(.addingRecovery(victim))
                await store.close()
                let genuine = try #require(
                    try SealedDatabase(path: own.path, keyFile: own.keyPath).tables().keys.wraps.first {
                        $0.source == RecoveryRecipient.source
                    })
                let foreign = planted.store()
                try await foreign.put("planted", at: "a")
                await foreign.close()
                try forge(forgery, into: planted, genuine: genuine)
                // A store with the attacker's key accepts the forged database.
                let check = planted.store()
                #expect(try await check.text("a") == "planted")
                #expect(try await check.recipients().count == 2)
                await check.close()
                try FileManager.default.removeItem(atPath: own.path)
                for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: own.path + ending) }
                try FileManager.default.copyItem(atPath: planted.path, toPath: own.path)
                let before = try Data(contentsOf: URL(filePath: own.path))
                let recovering = own.store()
                let error = await failure { () throws(BackendError) in try await recovering.takeOver(from: .recovery(victim)) }
                #expect(
                    error?.code == .corrupted && error?.reason.contains("without the key's confirmation") == true,
                    "\(String(describing: error))")
                await recovering.close()
                #expect(try Data(contentsOf: URL(filePath: own.path)) == before)
            }

            @Test func `every recovery gives the database a new data key, and a recovery key works until it is removed`() async throws {
                let place = try Place()
                let store = place.store()
                try await store.put("secret", at: "a")
                try await store.change(.addingRecovery(victim))
                try await store.change(.addingRecovery(attacker))
                let database = try SealedDatabase(path: place.path, keyFile: place.keyPath)
                let former = try database.tables().keys.keys
                for key in [victim, attacker, victim] {
                    try await store.takeOver(from: .recovery(key))
                    try await store.put("secret", at: "b")
                }
                let keys = try database.tables().keys.keys
                #expect(keys.count { $0.state == KeyTables.State.decryptOnly } == 3 && keys.count == 4)
                #expect(former.allSatisfy { key in keys.contains { $0.id == key.id && $0.state == KeyTables.State.decryptOnly } })
                _ = try await store.rotateDataKey(batch: 10) { _, _ in }
                #expect(try database.tables().keys.keys.count { $0.state != KeyTables.State.destroyed } == 1)
                #expect(try await store.text("a") == "secret")
                try await store.change(.removingRecovery(try RecoveryRecipient(publicKey: attacker.publicKey).id))
                let error = await failure { () throws(BackendError) in try await store.takeOver(from: .recovery(attacker)) }
                #expect(error?.code == .encryptionKeyMismatch)
                try await store.takeOver(from: .recovery(victim))
                // Removing the last recovery key removes the sender. The next recovery key gets another sender.
                let sender = try #require(try database.tables().keys.sender)
                try await store.change(.removingRecovery(try RecoveryRecipient(publicKey: victim.publicKey).id))
                #expect(try database.tables().keys.sender == nil)
                try await store.change(.addingRecovery(victim))
                #expect(try database.tables().keys.sender != sender)
                try await store.takeOver(from: .recovery(victim))
                #expect(try await store.verifyIntegrity { _ in }?.isSound == true)
                await store.close()
            }
        }
    }
#endif
