#if SQLite
    import BackendContract
    import Crypto
    import Foundation
    import Sealing
    import TestSupport
    import Testing

    @testable import SQLiteBackend

    /// Attacks on the parts of a database that are not encrypted, and on the key file. These parts are the header and
    /// the tables of wrapped keys, that is, of encrypted keys.
    extension Attacks {
        struct Headers {
            /// Opens the attacked database again, and requires that every read and every change is refused.
            /// The error of each read must have one of the given codes.
            private func expectRefused(
                _ target: AttackTarget, _ tally: inout AttackTally, as codes: Set<BackendError.Code>, keyFile: String? = nil
            ) async throws {
                let rows = try target.rowsNow()
                let store = target.store(keyFile: keyFile)
                tally.countAttack()
                let probes = try await tally.look(store, target.expected, aimedAt: Set(target.expected.map(\.address)))
                for probe in probes {
                    let code = code(of: probe)
                    #expect(code.map(codes.contains) == true, "\(tally.name): \(probe)")
                }
                try await tally.change(store, probes, target.expected)
                await store.close()
                #expect(try target.rowsNow() == rows)
            }

            private func expectAllRefused(_ tally: AttackTally, _ target: AttackTarget) {
                tally.note()
                #expect(tally.aimed == [.refused: tally.attacks * target.expected.count])
                #expect(tally.lists == [.refused: tally.attacks])
                #expect(tally.madeChanges == 0)
            }

            private static let damaged: Set<BackendError.Code> = [.corrupted, .encryptionKeyMismatch]

            @Test func `a flipped bit anywhere in the header is refused`() async throws {
                let target = try await AttackTarget()
                var tally = AttackTally("flip a bit of the header's values")
                for entry in target.header {
                    for at in 0..<entry.value.count {
                        for mask in masks(at: at) {
                            var value = entry.value
                            value[at] ^= mask
                            try target.attack("UPDATE header SET value = ? WHERE name = ?", [value, entry.name])
                            // A flipped bit in the list of features can result in the name of an unknown feature.
                            try await expectRefused(
                                target, &tally, as: entry.name == "features" ? Self.damaged.union([.unsupported]) : Self.damaged)
                            try target.restoreHeader()
                        }
                    }
                }
                expectAllRefused(tally, target)
                var names = AttackTally("flip a bit of the header's names")
                for entry in target.header {
                    for at in 0..<entry.name.utf8.count {
                        for mask in masks(at: at) where mask != 0x80 {
                            var name = Array(entry.name.utf8)
                            name[at] ^= mask
                            try target.attack(
                                "UPDATE header SET name = ? WHERE name = ?", [String(decoding: name, as: UTF8.self), entry.name])
                            try await expectRefused(target, &names, as: Self.damaged)
                            try target.restoreHeader()
                        }
                    }
                }
                expectAllRefused(names, target)
            }

            @Test func `a flipped bit anywhere in the key tables is refused`() async throws {
                let target = try await AttackTarget()
                var tally = AttackTally("flip a bit of the tables of keys")
                for (table, columns) in [("keys", ["key"]), ("wraps", RawWrap.columns)] {
                    for column in columns {
                        let original = try #require(try target.attacking { try $0.value("SELECT \(column) FROM \(table)")?.blob })
                        for at in original.indices {
                            for mask in masks(at: at) {
                                var value = original
                                value[at] ^= mask
                                try target.attack("UPDATE \(table) SET \(column) = ?", [value])
                                try await expectRefused(target, &tally, as: Self.damaged)
                                try target.restoreHeader()
                            }
                        }
                    }
                }
                for bit in 0..<64 {
                    try target.attack("UPDATE keys SET state = ?", [1 ^ (Int64(1) << bit)])
                    try await expectRefused(target, &tally, as: Self.damaged)
                    try target.restoreHeader()
                }
                expectAllRefused(tally, target)
            }

            @Test func `the header and key tables are refused if a row is added, removed, exchanged, or has a value of another type`()
                async throws
            {
                let target = try await AttackTarget()
                let twin = try await AttackTarget("twin", in: target.folder)
                var tally = AttackTally("change rows of header and keys")
                let (key, wrap) = (twin.keys[0], twin.wraps[0])
                let insertWrap = "INSERT INTO wraps VALUES (?, ?, ?, ?, ?)"
                var attacks: [(sql: String, arguments: [any PlainArgument])] = [
                    ("INSERT INTO header VALUES ('comment', x'00')", []), ("INSERT INTO header VALUES ('', x'')", []),
                    ("DELETE FROM header", []), ("DELETE FROM keys", []), ("DELETE FROM wraps", []),
                    ("UPDATE header SET value = x'' WHERE name = 'database'", []),
                    ("INSERT INTO keys VALUES (?, 1)", [key.key]), ("INSERT INTO keys VALUES (?, 2)", [key.key]),
                    ("INSERT INTO keys VALUES (?, 3)", [key.key]), ("UPDATE keys SET key = ?", [key.key]),
                    (insertWrap, [wrap.key, wrap.recipient, wrap.source, wrap.verifier, wrap.wrapped]),
                    (insertWrap, [target.wraps[0].key, key.key, wrap.source, wrap.verifier, wrap.wrapped]),
                    ("UPDATE wraps SET wrapped = ?", [wrap.wrapped]), ("UPDATE wraps SET verifier = ?", [wrap.verifier]),
                    ("UPDATE wraps SET wrapped = substr(wrapped, 1, 71)", []), ("UPDATE wraps SET wrapped = x''", []),
                    ("UPDATE keys SET state = 'active'", []), ("UPDATE keys SET state = 1.5", []), ("UPDATE keys SET state = x'01'", []),
                    ("UPDATE wraps SET source = CAST('golden' AS BLOB)", []), ("UPDATE wraps SET source = x'ff'", []),
                    ("UPDATE header SET value = 17 WHERE name = 'tag'", []),
                    ("INSERT INTO header VALUES (CAST('context' AS BLOB), x'00')", []),
                    ("UPDATE header SET value = x'0102' WHERE name = 'formats'", []),
                    ("UPDATE header SET value = x'0101' WHERE name = 'formats'", []),
                    (
                        "UPDATE header SET value = ? WHERE name = 'context'",
                        [Data(StoreContext(application: "other", kind: "sqlite", scope: "store").bytes)]
                    ),
                ]
                // Copy the value of one column into another column, of the same table or of another one.
                for column in RawWrap.columns {
                    for other in RawWrap.columns where other != column { attacks.append(("UPDATE wraps SET \(column) = \(other)", [])) }
                    for entry in target.header {
                        attacks.append(("UPDATE wraps SET \(column) = (SELECT value FROM header WHERE name = ?)", [entry.name]))
                        attacks.append(("UPDATE header SET value = (SELECT \(column) FROM wraps) WHERE name = ?", [entry.name]))
                    }
                    attacks.append(("UPDATE wraps SET \(column) = (SELECT sealed FROM records)", []))
                }
                // The columns `key` of both key tables have the same bytes, so exchanging them is no attack.
                for entry in target.header {
                    attacks.append(("DELETE FROM header WHERE name = ?", [entry.name]))
                    let other = try #require(twin.header.first { $0.name == entry.name })
                    if other.value != entry.value {
                        attacks.append(("UPDATE header SET value = ? WHERE name = ?", [other.value, entry.name]))
                    }
                }
                for attack in attacks {
                    try target.attack(attack.sql, attack.arguments)
                    try await expectRefused(target, &tally, as: Self.damaged)
                    try target.restoreHeader()
                }
                // Replace header and keys by those of the other database, which are valid. The last commit names other keys.
                try target.attacking { database in
                    try database.execute("DELETE FROM header; DELETE FROM keys; DELETE FROM wraps")
                    try twin.insertHeader(database)
                }
                var whole = AttackTally("header and keys of another database with the same key")
                let store = target.store()
                whole.countAttack()
                let all = Set(target.expected.map(\.address))
                let probes = try await whole.look(store, target.expected, aimedAt: all)
                #expect(probes.allSatisfy { $0.error?.code == .corrupted }, "\(probes)")
                #expect(whole.lists == [.refused: 1])
                await store.close()
                whole.note()
                expectAllRefused(tally, target)
            }

            @Test func `a value of another type in the header or key tables is refused even if its bytes are unchanged`() async throws {
                let target = try await AttackTarget()
                var tally = AttackTally("text for bytes, bytes for text in header and keys")
                for sql in [
                    "UPDATE header SET name = CAST(name AS BLOB)", "UPDATE header SET value = CAST(value AS TEXT)",
                    "UPDATE wraps SET wrapped = CAST(wrapped AS TEXT)", "UPDATE keys SET key = CAST(key AS TEXT)",
                    "UPDATE wraps SET source = CAST(source AS TEXT)",
                    "UPDATE wraps SET recipient = CAST(recipient AS TEXT), verifier = CAST(verifier AS TEXT)",
                ] {
                    try target.attack(sql)
                    try await expectRefused(target, &tally, as: Self.damaged)
                    try target.restoreHeader()
                }
                expectAllRefused(tally, target)
            }

            @Test func `a database with an unknown feature is refused, and the error has the name of the feature`() async throws {
                let target = try await AttackTarget()
                var tally = AttackTally("unknown features")
                let telepathy = DatabaseFeature(name: "telepathy", need: .reading, tables: [])
                let feature = Data(DatabaseFeature.bytes(of: [.labels, telepathy]))
                try target.attack("UPDATE header SET value = ? WHERE name = 'features'", [feature])
                try await expectRefused(target, &tally, as: [.unsupported])
                let store = target.store()
                let error = try await #require(store.read(StorageAddress("other")).error, "not refused")
                #expect(error.reason.contains("telepathy"))
                await store.close()
                for garbage in [Data([0]), Data([0, 0, 0, 9, 1]), Data([255, 255, 255, 255]), Data([0, 0, 0, 1, 0xFF])] {
                    try target.attack("UPDATE header SET value = ? WHERE name = 'features'", [garbage])
                    try await expectRefused(target, &tally, as: [.corrupted])
                }
                expectAllRefused(tally, target)
            }

            @Test func `a file of another format or application is refused and left unchanged`() async throws {
                let target = try await AttackTarget()
                var tally = AttackTally("another user_version or application_id")
                for version in [0, 2, 99, -1, Int(Int32.max), Int(Int32.min)] {
                    try target.attack("PRAGMA user_version = \(version)")
                    try await expectRefused(target, &tally, as: [.unsupported])
                }
                try target.attack("PRAGMA user_version = 1")
                for id in [0, 0x4C44_4232, 0x0FFF_FFFF, -1] {
                    try target.attack("PRAGMA application_id = \(id)")
                    try await expectRefused(target, &tally, as: [.corrupted])
                }
                expectAllRefused(tally, target)
            }

            @Test func `an open store refuses changes after the header, the key tables or the format of its file was changed`() async throws
            {
                let target = try await AttackTarget()
                var tally = AttackTally("change header, keyset or format under an open store")
                let attacks = [
                    "UPDATE header SET value = zeroblob(32) WHERE name = 'tag'", "UPDATE keys SET state = 2",
                    "UPDATE header SET value = x'41' WHERE name = 'context'", "DELETE FROM keys", "DELETE FROM wraps",
                    "INSERT INTO header VALUES ('x', x'')",
                    "PRAGMA user_version = 2", "PRAGMA application_id = 7",
                ]
                for attack in attacks {
                    let store = target.store()
                    #expect(try await store.probes(target.expected.map(\.address)) == target.expected.map(\.probe))
                    try target.attack(attack)
                    tally.countAttack()
                    for mutation in [StorageMutation.put(.bytes([1]), at: StorageAddress("other")), .delete(StorageAddress("attacked"))] {
                        let result = try await store.apply(mutation)
                        tally.countChange(isMade: result.isApplied)
                        #expect(!result.isApplied, "\(attack): \(mutation.operation)")
                    }
                    _ = try await tally.look(store, target.expected, aimedAt: [], listing: false)
                    await store.close()
                    try target.attack("PRAGMA user_version = 1")
                    try target.attack("PRAGMA application_id = \(0x4C44_4231)")
                    try target.restoreHeader()
                    #expect(try target.rowsNow() == target.rows)
                }
                tally.note()
                #expect(tally.madeChanges == 0)
                #expect(tally.others[.wrong] == nil && tally.others[.hidden] == nil)
            }

            // MARK: The key

            @Test func `a wrong, damaged or missing key opens nothing and is not replaced by a new key`() async throws {
                let target = try await AttackTarget()
                var tally = AttackTally("a wrong, broken or missing key")
                let random = SealingKey.random { count in (0..<count).map { _ in UInt8.random(in: .min ... .max) } }
                let sameName = random.text(claiming: target.key)
                let sameKey = target.key.text(claiming: random)
                let text = target.key.text
                var texts = [random.text, sameName, sameKey, "", "\n", "garbage", "\0\0\0\0", text + " more", text + text]
                texts += (1..<text.count).map { String(text.prefix($0)) }
                // Change each character of the key.
                texts += (33..<text.count - 1).map { at in
                    var bytes = Array(text.utf8)
                    bytes[at] = bytes[at] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                    return String(decoding: bytes, as: UTF8.self)
                }
                for (number, text) in texts.enumerated() {
                    let file = target.folder.file("keys/\(number)")
                    try writeFile(text, to: file)
                    // The store identifies a key file by its name, so every wrong key gets the name of the right one.
                    let folder = try target.folder.folder("keys/of \(number)")
                    try FileManager.default.moveItem(atPath: file, toPath: folder + "/key")
                    try await expectRefused(target, &tally, as: [.encryptionKeyMismatch], keyFile: folder + "/key")
                    #expect(try String(contentsOfFile: folder + "/key", encoding: .utf8) == text)
                }
                let nowhere = try target.folder.folder("keys/none") + "/key"
                try await expectRefused(target, &tally, as: [.encryptionKeyMissing], keyFile: nowhere)
                #expect(!FileManager.default.fileExists(atPath: nowhere))
                try writeFile(target.key.text, to: nowhere)
                try setPermissions(0o644, of: nowhere)
                try await expectRefused(target, &tally, as: [.accessDenied], keyFile: nowhere)
                expectAllRefused(tally, target)
                let store = target.store()
                #expect(try await store.probes(target.expected.map(\.address)) == target.expected.map(\.probe))
                await store.close()
            }
        }
    }
#endif
