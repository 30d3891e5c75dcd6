#if SQLite
    import BackendContract
    import Crypto
    import Foundation
    import TestSupport
    import Testing

    @testable import SQLiteBackend
    @testable import Sealing

    /// Tests that damage in any field of a row affects only that row, and that its name can be used again.
    /// A row under a key that another process has just added is not damage.
    /// A recipient of a database is a key that opens the database.
    @Suite(.inTurn) struct RowRepairTests {
        /// A flipped bit: the column, the index of the byte in the column, and the bit.
        struct Flip: CustomStringConvertible {
            let column: String
            let place: Int
            let bit: Int
            var description: String { "\(column)[\(place)] bit \(bit)" }
        }

        private static let aim = StorageAddress("attacked")

        /// Every bit of slot, version, id, row format and key id, and one bit of each byte of the rest.
        private static func flips(_ row: RawRecord) -> [Flip] {
            let slots = row.slot.indices.flatMap { at in (0..<8).map { Flip(column: "slot", place: at, bit: $0) } }
            let versions = (0..<64).map { Flip(column: "version", place: 0, bit: $0) }
            let ids = (0..<62).map { Flip(column: "id", place: 0, bit: $0) }
            let sealed = row.sealed.indices.flatMap { at in
                (at < SealedRow.headLength || isLong ? Array(0..<8) : [at % 8]).map { Flip(column: "sealed", place: at, bit: $0) }
            }
            return slots + versions + ids + sealed
        }

        private static func flip(_ row: RawRecord, _ flip: Flip) -> RawRecord {
            var row = row
            switch flip.column {
            case "slot": row.slot[flip.place] ^= 1 << flip.bit
            case "version": row.version ^= 1 << flip.bit
            case "id": row.id ^= 1 << flip.bit
            default: row.sealed[flip.place] ^= 1 << flip.bit
            }
            return row
        }

        @Test func `a row counts as stored only if every bit equals what was written`() async throws {
            let target = try await AttackTarget()
            let store = target.store()
            _ = try await store.read(Self.aim)
            let session = try #require(store.file.session)
            func isStored(_ row: RawRecord) throws -> Bool {
                try session.isStored([WrittenRows.Row(slot: Array(row.slot), version: row.version, sealed: Array(row.sealed))])
            }
            let written = try target.row(Self.aim)
            #expect(try isStored(written))
            for flip in Self.flips(written) where flip.column != "id" { #expect(try !isStored(Self.flip(written, flip)), "\(flip)") }
            let change = try await store.applyComparing([.put(.bytes([9]), at: Self.aim)])
            #expect(change.results.allSatisfy(\.isApplied) && change.isStored)
            #expect(try !isStored(written))
            #expect(try await !store.applyComparing([.delete(Self.aim)]).isStored)
        }

        @Test func `a change of a value that its caller has read needs the revision, and removes its labels`() async throws {
            let target = try await AttackTarget()
            let store = target.store()
            let namespace = StorageNamespace("notes")
            let address = StorageAddress("labelled", in: namespace)
            let metadata = StorageMetadata(typeTag: "Note", attributes: ["colour": "red"])
            let red = StorageQuery(namespace, [.attribute("colour", "red")])
            _ = try await store.apply(.put(.bytes([1]), metadata, at: address))
            let record = try #require(try await store.read(address).record)
            #expect(try await store.count(red) == 1)
            var change = StorageMutation.put(.bytes([2]), StorageMetadata(typeTag: "Note"), at: address, if: .revision(record.revision))
            change.knownMetadata = record.metadata
            #expect(try await store.apply(change).isApplied)
            #expect(try await store.count(red) == 0)
            // The revision is no longer that of the value.
            let conflict = try await store.apply(change)
            guard case .conflict(.value(let found)) = conflict else { return #expect(Bool(false), "\(conflict)") }
            #expect(found.payload == .bytes([2]))
            var deletion = StorageMutation.delete(address, if: .revision(found.revision))
            deletion.knownMetadata = found.metadata
            #expect(try await store.apply(deletion).isApplied)
            #expect(try await store.read(address) == .absent)
        }

        @Test func `after any bit of a row was flipped, its name can be set and removed again`() async throws {
            let target = try await AttackTarget()
            let original = try target.row(Self.aim)
            let store = target.store()
            for flip in sample(Self.flips(original), 60) {
                let row = Self.flip(original, flip)
                try target.attack(
                    "UPDATE records SET id = ?, slot = ?, version = ?, sealed = ? WHERE id = ?",
                    [row.id, row.slot, row.version, row.sealed, original.id])
                // Write as `set` does: first without a read, then with the revision of the damage that was found.
                var result = try await store.apply(.put(.bytes([9]), at: Self.aim, if: .replaceable(version: nil)))
                if case .conflict(.corrupt(let damage)) = result {
                    let revision = try #require(damage.revision)
                    result = try await store.apply(.put(.bytes([9]), at: Self.aim, if: .revision(revision)))
                } else {
                    #expect(flip.column == "id", "\(flip): \(result)")
                }
                #expect(result.isApplied, "\(flip): \(result)")
                #expect(try await store.read(Self.aim).record?.payload == .bytes([9]), "\(flip)")
                #expect(try await store.apply(.delete(Self.aim)).isApplied)
                #expect(try await store.read(Self.aim) == .absent)
                try target.restore()
            }
            #expect(try await store.probes(target.expected.map(\.address)) == target.expected.map(\.probe))
            await store.close()
        }

        // MARK: Keys that change between two calls

        /// Adds a data key and makes it the active one, as another process would. Returns the id of the key.
        private func addKey(_ target: AttackTarget) throws -> [UInt8] {
            let connection = try Connection(path: target.path)
            defer { connection.close() }
            let header = try DatabaseHeader(reading: connection)
            let keyset = try header.open(.key(target.key), in: nil)
            let source = try #require(header.keys.recipients.first).source
            let wrap = try KeyEncryptionKey(target.key, database: keyset.database).wrap(SymmetricKey(size: .bits256), source: source) {
                count in
                (0..<count).map { _ in UInt8.random(in: .min ... .max) }
            }
            var keys = header.keys.keys
            for index in keys.indices { keys[index].state = .decryptOnly }
            let tables = try KeyTables(keys: keys + [KeyTables.Key(id: wrap.key, state: .active)], wraps: header.keys.wraps + [wrap])
            let opened = try Keyset.open(tables, database: header.database, formats: header.formats, kek: target.key)
            try connection.execute("BEGIN IMMEDIATE")
            let changed = header.changed(opened) { $0.keys = tables }
            try changed.write(to: connection)
            let before = try Keyset.open(header.keys, database: header.database, formats: header.formats, kek: target.key)
            var state = try #require(try connection.bytes(DatabaseFormat.stateQuery).flatMap { before.active.openState($0) })
            state.header = changed.tag
            try connection.execute("DELETE FROM state")
            let sealed = try opened.active.seal(state) { [UInt8](repeating: 7, count: $0) }
            try connection.insert("INSERT INTO state VALUES (1, ?1)", [[.bytes(sealed)]])
            try connection.execute("COMMIT")
            return wrap.key
        }

        @Test(arguments: ["read", "put", "conditional put", "delete"])
        func `a store that loaded its keys before a new key was added never reports a row under the new key as damage`(
            _ act: String
        ) async throws {
            let target = try await AttackTarget()
            let (stale, fresh) = (target.store(), target.store())
            #expect(try await stale.probes(target.expected.map(\.address)) == target.expected.map(\.probe))
            // This write opens a second connection in the store that has the older keys.
            #expect(try await stale.apply(.put(.bytes([1]), at: StorageAddress("other"))).isApplied)
            let key = try addKey(target)
            #expect(try await fresh.apply(.put(.bytes([7]), at: Self.aim)).isApplied)
            let now = try await fresh.read(Self.aim)
            #expect(try target.rowsNow().contains { Array($0.sealed[1..<9]) == key })
            switch act {
            case "read": #expect(try await stale.read(Self.aim) == now)
            case "put":
                #expect(try await stale.apply(.put(.bytes([8]), at: Self.aim)).isApplied)
                #expect(try await fresh.read(Self.aim).record?.payload == .bytes([8]))
            case "conditional put":
                let result = try await stale.apply(.put(.bytes([8]), at: Self.aim, if: .absent))
                #expect(result == .conflict(now), "\(result)")
                #expect(try await fresh.read(Self.aim) == now)
            default:
                #expect(try await stale.apply(.delete(Self.aim)).isApplied)
                #expect(try await fresh.read(Self.aim) == .absent)
            }
            let all = Set(try await stale.addresses(in: .values))
            #expect(all == Set(try await fresh.addresses(in: .values)))
            await stale.close()
            await fresh.close()
        }

        @Test func `a row is opened with the keys that its own transaction reads, not with keys that the store loaded earlier`()
            async throws
        {
            let target = try await AttackTarget()
            let stale = target.store()
            #expect(try await stale.probes(target.expected.map(\.address)) == target.expected.map(\.probe))
            // The row refers to the new key. Under the older keys it would look damaged, so they must not be used.
            var changed = try target.row(Self.aim)
            changed.sealed.replaceSubrange(1..<9, with: try addKey(target))
            try target.attack("UPDATE records SET sealed = ? WHERE id = ?", [changed.sealed, changed.id])
            let reason = try #require(try await stale.read(Self.aim).corruption?.reason)
            #expect(reason.contains("was changed"), "\(reason)")
            await stale.close()
        }

        // MARK: Recipients

        @Test func `a database opens with the key of each recipient, and with a second key source if the first has no key`() async throws {
            let folder = try TemporaryDirectory()
            let (path, key, recovery) = (folder.file("golden.sqlite"), folder.file("golden.key"), folder.file("recovery.key"))
            try Reader.copy("golden-python.sqlite", to: path)
            try Reader.copy("golden.key", to: key)
            try Reader.copy("golden-recovery.key", to: recovery)
            let expected = try Reader.golden("golden-python.json").probes
            let (first, second) = (PinnedKeyFile(key, pin: "golden"), PinnedKeyFile(recovery, pin: "recovery"))
            let missing = PinnedKeyFile(folder.file("nowhere"), pin: "golden")
            for (source, others) in [(first, []), (second, []), (missing, [second]), (first, [second])]
                as [(PinnedKeyFile, [PinnedKeyFile])]
            {
                let store = sqliteStore(at: path, source: source, otherSources: others)
                let addresses = Array(expected.keys)
                #expect(try await store.probes(addresses) == addresses.map { expected[$0] })
                await store.close()
            }
            let store = sqliteStore(at: path, source: missing)
            #expect(try await store.read(StorageAddress("city")).error?.code == .encryptionKeyMissing)
            await store.close()
            let stranger = sqliteStore(at: path, source: PinnedKeyFile(recovery, pin: "another"))
            let reason = try await stranger.read(StorageAddress("city")).error?.reason
            #expect(reason?.contains("\"golden\" or \"recovery\"") == true)
            await stranger.close()
        }
    }
#endif
