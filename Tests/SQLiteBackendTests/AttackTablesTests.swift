#if SQLite
    import BackendContract
    import Foundation
    import SQLiteBackend
    import Sealing
    import Synchronization
    import TestSupport
    import Testing

    /// Attacks that put whole tables of an older file into a later file. The tables are genuine but outdated.
    /// The key tables are those with the header and the data keys.
    /// The sealed state is an encrypted record of the number of commits and of all rows.
    extension Attacks {
        @Suite struct Tables {
            private static let keys = ["header", "keys", "wraps"]

            private func recovery(_ seed: UInt8) -> RecoveryKeyPair { RecoveryKeyPair { [UInt8](repeating: seed, count: $0) } }

            /// An earlier state of the database file, with the text that its values have.
            private struct Age {
                let name: String
                let file: Data
                let content: String
                /// The tag that authenticates the header and the keys.
                let tag: Data
            }

            /// Makes a database and returns its file after every step of every change of its keys.
            private func ages(_ place: Place) async throws -> [Age] {
                var ages: [Age] = []
                var number = 0
                func note(_ name: String, _ store: SQLiteStore) async throws {
                    await store.close()
                    for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: place.path + ending) }
                    let tag = try #require(try PlainDatabase(path: place.path).value("SELECT value FROM header WHERE name = 'tag'")?.blob)
                    ages.append(Age(name: name, file: try Data(contentsOf: URL(filePath: place.path)), content: "\(number)", tag: tag))
                }
                func write(_ store: SQLiteStore) async throws {
                    number += 1
                    for name in ["a", "b", "c"] { try await store.put("\(number)", at: name) }
                }
                let store = place.store()
                try await write(store)
                try await note("new", store)
                for seed in [1, 2] as [UInt8] {
                    try await store.change(.addingRecovery(recovery(seed)))
                    try await note("recovery key \(seed) added", store)
                }
                try await store.change(.removingRecovery(try RecoveryRecipient(publicKey: recovery(1).publicKey).id))
                try await note("recovery key 1 removed", store)
                try await write(store)
                try await note("written", store)
                // The new key is active now, and the rows are sealed again one by one.
                let made = Mutex<[Data]>([])
                _ = try await store.rotateDataKey(batch: 1) { _, _ in
                    let copy = place.path + ".part"
                    for ending in ["", "-wal"] {
                        try? FileManager.default.removeItem(atPath: copy + ending)
                        try? FileManager.default.copyItem(atPath: place.path + ending, toPath: copy + ending)
                    }
                    if let database = try? PlainDatabase(path: copy), (try? database.execute("PRAGMA wal_checkpoint(TRUNCATE)")) != nil,
                        let file = try? Data(contentsOf: URL(filePath: copy))
                    {
                        made.withLock { $0.append(file) }
                    }
                }
                let parts = made.withLock(\.self)
                try #require(parts.count >= 3)
                for (index, file) in parts.enumerated() {
                    let copy = place.path + ".part"
                    try file.write(to: URL(filePath: copy))
                    let tag = try #require(try PlainDatabase(path: copy).value("SELECT value FROM header WHERE name = 'tag'")?.blob)
                    ages.append(Age(name: "part \(index) of a rotation", file: file, content: "\(number)", tag: tag))
                }
                for name in try FileManager.default.contentsOfDirectory(atPath: (place.path as NSString).deletingLastPathComponent)
                where name.contains(".part") {
                    try FileManager.default.removeItem(atPath: (place.path as NSString).deletingLastPathComponent + "/" + name)
                }
                try await note("rotated", store)
                try await write(store)
                try await note("written again", store)
                return ages
            }

            /// Replaces the database with a file that has some tables of another file.
            private func mix(_ place: Place, _ file: Data, _ tables: [String], of other: Data) throws {
                for ending in ["-wal", "-shm"] { try? FileManager.default.removeItem(atPath: place.path + ending) }
                try file.write(to: URL(filePath: place.path))
                let path = place.folder + "/other.sqlite"
                try other.write(to: URL(filePath: path))
                let database = try PlainDatabase(path: place.path)
                try database.execute("PRAGMA synchronous = OFF")
                try database.execute("ATTACH ? AS other", [path])
                for table in tables {
                    try database.execute("DELETE FROM main.\(table); INSERT INTO main.\(table) SELECT * FROM other.\(table)")
                }
                try database.execute("DETACH other")
            }

            @Test func `a later file with the key tables of an older file is refused, whichever steps of key changes the two files show`()
                async throws
            {
                let place = try Place()
                let ages = try await ages(place)
                var (attacks, opened) = (0, 0)
                for older in ages {
                    for later in ages where later.tag != older.tag {
                        for tables in [Self.keys, Self.keys + ["records"]] {
                            attacks += 1
                            try mix(place, later.file, tables, of: older.file)
                            let store = place.store()
                            let probe = try await store.read([StorageAddress("a")], .fresh)[0]
                            if case .unavailable(let error) = probe, [.corrupted, .encryptionKeyMismatch].contains(error.code) {
                            } else {
                                opened += 1
                                Issue.record("\(tables) of \(older.name) in \(later.name): \(probe)")
                            }
                            await #expect(throws: BackendError.self) { _ = try await store.rotateDataKey(batch: 10) { _, _ in } }
                            for seed in [1, 2] as [UInt8] {
                                await #expect(throws: BackendError.self) { try await store.takeOver(from: .recovery(recovery(seed))) }
                            }
                            await store.close()
                        }
                    }
                }
                print("older tables of keys: \(attacks) attacks, \(opened) opened")
            }

            @Test func `a rotation of the data key is refused if the key tables and the sealed state are from an older file`() async throws
            {
                let place = try Place()
                let ages = try await ages(place)
                var (attacks, rotated) = (0, 0)
                for older in ages {
                    for later in ages where later.tag != older.tag && later.content != older.content {
                        attacks += 1
                        try mix(place, later.file, Self.keys + ["state"], of: older.file)
                        let store = place.store()
                        do {
                            _ = try await store.rotateDataKey(batch: 10) { _, _ in }
                            rotated += 1
                            Issue.record("keys and state of \(older.name) in \(later.name)")
                        } catch {}
                        await store.close()
                    }
                }
                print("older tables of keys with their state: \(attacks) attacks, \(rotated) rotated")
            }

            @Test func `a database with older key tables opens after its contents are accepted`() async throws {
                let place = try Place()
                let ages = try await ages(place)
                let older = try #require(ages.first { $0.name == "recovery key 2 added" })
                let later = try #require(ages.first { $0.name == "written" })
                try mix(place, later.file, Self.keys, of: older.file)
                let store = place.store()
                await #expect(throws: BackendError.self) { _ = try await store.verifyIntegrity { _ in } }
                try await store.acceptContents()
                #expect(try await store.text("a") == later.content)
                #expect(try await store.verifyIntegrity { _ in }?.isSound == true)
                #expect(try await store.recipients().count == 3)
                await store.close()
            }
        }
    }
#endif
